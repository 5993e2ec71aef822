"""The classifier that predicts the hot keys of transactions before they start, from a trace.

"Towards Optimal Transaction Scheduling" (VLDB 2024), section 4.1.2. The engine's part is in
`engine/schedule/classifier/`.
"""
