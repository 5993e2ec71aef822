"""Managing the runs of `heddle train`: list, compare, tag, remove."""
