"""A run of `heddle train` as one page for people.

`kept` is what a run left behind, `table` its policy beside the nearest seed, `figures` the measured
numbers, `window` a short recording on virtual cores, `drawn` pictures inside the page, `page` all
of it as HTML.
"""
