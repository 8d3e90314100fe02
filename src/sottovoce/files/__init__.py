"""Files of any kind: reading what a user wrote, saying where it is wrong; and writing whole or not at all."""
