"""Where the variance of latency comes from: the variance tree of VProfiler.

Source: Huang, "Predictable performance for transactional databases" (2019), chapter 2.
"""
