"""Importers, which convert logs into traces; `base` defines their interface."""
