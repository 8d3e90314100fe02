"""A run as its parties recorded it: played again to the bit, and audited."""
