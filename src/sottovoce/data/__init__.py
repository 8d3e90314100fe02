"""What users bring: problem files, and the rows of every party in them or in CSV files beside them."""
