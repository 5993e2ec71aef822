"""Pictures of a trace's statistics."""
