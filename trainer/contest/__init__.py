"""The contest of search methods, out of the runs of a sweep (docs/search-contest.md)."""
