"""What students see in place of a solution."""

import re

from nbgrader.preprocessors import ClearSolutions
from traitlets import Dict, Unicode

_BEGIN, _END = "BEGIN SOLUTION", "END SOLUTION"


class StubSolutions(ClearSolutions):
    """nbgrader's ClearSolutions, except that a region at top level leaves nothing.

    Inside a function the region becomes ``raise NotImplementedError``. At top level such a line would stop Run All,
    so an answer cell says ``answer = None`` above its region and keeps that.
    """

    code_stub = Dict({"python": "# YOUR CODE HERE\nraise NotImplementedError"}).tag(config=True)

    text_stub = Unicode("*Write your answer here: double-click this text, and replace it.*").tag(config=True)

    def _replace_solution_region(self, cell, language: str) -> bool:
        if cell.cell_type != "code":
            return super()._replace_solution_region(cell, language)
        whole = cell.source
        cell.source, removed = remove_top_level_regions(whole)
        return super()._replace_solution_region(cell, language) or removed


def remove_top_level_regions(source: str) -> tuple[str, bool]:
    """`source` without the solution regions that are not indented, and whether there was one.

    An unfinished or nested region is left as it is: nbgrader then raises.
    """
    kept, region, removed = [], None, False
    for line in source.split("\n"):
        if region is None and re.match(rf"#+\s*{_BEGIN}\b", line):
            region = [line]
        elif region is not None:
            region.append(line)
            if _BEGIN in line:
                break
            if _END in line:
                region, removed = None, True
        else:
            kept.append(line)
    if region is not None:
        return source, False
    return "\n".join(kept).rstrip("\n") if removed else source, removed
