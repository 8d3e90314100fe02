"""How the auditor finds its answers: the methods, and what they stand on."""
