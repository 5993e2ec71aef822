"""Nightly retraining: train if the peak has shifted, and publish a significantly better policy.

Wang et al., OSDI 2021, sections 5.3 and 7.6: today's peak predicts tomorrow's, and retraining is
deferred until it differs from the one that the published policy was trained for.

- `night` runs the steps of a night in order.
- `conditions` measures the peak hour; `decision` and `rejected` decide whether to train.
- `held_out` divides the hour, `training` trains, and `judge` compares and decides.
- `publish` and `rollback` replace the published policy; `registry` mirrors it in MLflow.
- `nights` stores the decisions, and `page` renders a night.
"""
