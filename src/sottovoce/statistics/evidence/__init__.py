"""What parties know apart, brought together: stratified tables, meta-analysis, and how good a score is."""
