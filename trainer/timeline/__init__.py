"""Timelines for people: a trace for Perfetto, and a picture of a window."""
