"""Settings for Hydra, by group: workload, machine, search, experiment."""
