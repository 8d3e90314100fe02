"""The command line: one command a file: parse, call, print. Nothing heavy is imported before it is needed."""
