"""The studio: see it, click it, believe it, in the browser; needs the extra ``studio``."""
