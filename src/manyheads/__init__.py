"""Many Heads: an nbgrader course on multi-head attention, and the tools to build, check and grade it."""

__version__ = "0.1.0"
