"""The HTML page about runs of `heddle train`.

`saved_run` reads the folder of a run and `saved_sweep` that of a sweep. `table` compares the policy
with the nearest seed, `figures` prepares the measurements, `window` records a short run on virtual
cores, `drawn` embeds pictures, and `page` renders the HTML.
"""
