"""Pictures of the statistics of a trace."""
