"""What the auditor answers: numbers, verdicts, sentences, pictures, statements."""
