"""The contest of search methods, from the runs of a sweep (docs/search-contest.md)."""
