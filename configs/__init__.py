"""Settings for Hydra, by group: workload, machine, timing, racing, search, experiment."""
