"""Models fitted by likelihood: generalised linear, multinomial and ordinal, Cox, and mixed ones."""
