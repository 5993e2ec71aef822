"""Importers: from logs of the outside world to traces. See `base` for what one is."""
