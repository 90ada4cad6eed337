"""What profiling writes, and how it is read back: PROF folders, their summary and their trace.

Knows nothing of devices or engines: whoever does the work says when it began and how long it took.
"""
