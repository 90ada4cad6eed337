"""What profiling writes, and how it is read back: PROF folders, their summary and their trace.

Knows nothing of devices or engines: whoever does the work says when it began and how long it took.
"""

from .export import write_trace as write_trace
from .reading import Profile as Profile
from .reading import read_profile as read_profile
from .records import Name as Name
from .totals import Line as Line
