"""What a notebook shows while an answer is missing."""

import sys
import traceback


def tell_stubs_in_one_line() -> None:
    """In IPython, show NotImplementedError as one line: it names the function that is still to be written.

    A blank lesson raises it in every test cell, and a page of tracebacks would look like something is broken.
    Does nothing outside IPython, and does not import it.
    """
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    if (shell := get_ipython()) is not None:
        shell.set_custom_exc((NotImplementedError,), _show)


def _show(shell, kind: type, problem: NotImplementedError, trace, tb_offset=None) -> None:
    *_, last = traceback.extract_tb(trace)
    said = str(problem) or f"{last.name} is still to be written"
    shell._showtraceback(kind, problem, [f"NotImplementedError: {said}"])
