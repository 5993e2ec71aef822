"""Statistics of the hours and days of a trace, and predictions."""
