"""The classifier that predicts hot keys before a transaction starts, trained from a trace.

"Towards Optimal Transaction Scheduling" (VLDB 2024), section 4.1.2. What a run does with it is in
`engine/schedule/classifier/`.
"""
