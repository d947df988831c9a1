"""The hostile bank: hand-ins that cheat, steal, do harm or are merely odd, each with the points that it deserves."""

from . import border, files, harm, honest, patching, theft, trusted
from .case import Case

CASES: list[Case] = [*files.CASES, *patching.CASES, *border.CASES, *theft.CASES, *harm.CASES,
                      *trusted.CASES, *honest.CASES]
