"""Traces made up: months of an online shop."""
