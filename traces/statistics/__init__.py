"""What the hours and days of a trace are like, and what tomorrow will be like."""
