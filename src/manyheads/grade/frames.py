from .wire import receive, send  # noqa: F401

MOST_FROM_EXAMINER = 2**30
