"""A run of `heddle train` as one page for people.

`saved_run` reads a run's folder, `table` shows its policy beside the nearest seed, `figures` the
measured numbers, `window` is a short recording on virtual cores, `drawn` has the pictures inside
the page, and `page` puts all of it into HTML.
"""
