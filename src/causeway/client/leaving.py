"""How a loop was left, and where in the application's code something began.

Python does not tell an iterator that its loop has ended early: it lets go of it. `break` and `return` do so by an
instruction of the loop's own function; an exception unwinds the stack while that function stands at the instruction
that raised. Whatever else lets go of an iterator (a collection, a generator that is closed) is neither.
"""

from __future__ import annotations

import sys
from opcode import opmap
from types import FrameType
from typing import Final

_POPS: Final = frozenset(opmap[name] for name in ("POP_TOP", "POP_ITER") if name in opmap)
"""What `break` and `return` do to the iterator of the loop they leave."""

_OURS: Final = __name__.partition(".")[0]


def looping_frame() -> int:
    """Identifies the function whose loop called our caller's caller, `__iter__` or `__aiter__`, as long as it runs."""
    return id(sys._getframe(3))


def left_willingly(looping: int) -> bool:
    """Whether that function now leaves its loop by `break` or `return`; asked by `__del__` of the loop's iterator."""
    frame = sys._getframe(1).f_back  # none at the interpreter's exit, where nobody calls `__del__`
    return frame is not None and id(frame) == looping and frame.f_code.co_code[frame.f_lasti] in _POPS


def origin() -> tuple[str, int]:
    """File and line of the application's code that called us."""
    frame: FrameType = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
