"""Backtests of nightly retraining on past days."""
