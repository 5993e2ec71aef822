"""A night: whether the peak hour moved, a policy for it if it did, and which one is served then.

Wang et al., OSDI 2021, sections 5.3 and 7.6: tomorrow's peak is predicted to be today's, and
retraining is put off until it differs from what the policy that is served was trained for.

`conditions` measures the peak hour, `decision` says whether to train, `rejected` whether that was
done already, `held_out` what is judged on, `training` trains, `judge` measures and decides,
`publish` is the policy that is served, `registry` the same in MLflow, `nights` what was decided,
`page` a night for people, `night` all of it in order.
"""
