"""Views of a timeline: a trace for Perfetto, and a picture of a window."""
