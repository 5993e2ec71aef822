"""Learning policies: searches, their evaluation, the run and its record, the command."""
