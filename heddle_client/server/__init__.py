"""A server that orders the transactions of several processes of one machine.

Each process has `Scheduler(server=PATH)`. The server has the queue, and decides in the order of
arrival of all processes, with the same core as a scheduler within a process.
"""
