"""Generates synthetic traces of an online shop."""
