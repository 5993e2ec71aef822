"""The file that marks a folder as that of a backtest."""

MARK = "backtest.json"
"""The file with the days and their results. A store of real nights does not have it."""
