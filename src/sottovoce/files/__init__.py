"""Problem files: reading what a user wrote, and saying where it is wrong."""
