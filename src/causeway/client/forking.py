"""Sessions that are open in this process: a process forked from it must not use them.

Owns: hearing of forks. What a session does then is its host's.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Inherited(Protocol):
    """What a forked child gets a copy of."""

    def disown(self) -> None:
        """Called in the child: it is the parent's."""


_open: weakref.WeakSet[Inherited] = weakref.WeakSet()


def note_open(host: Inherited) -> None:
    """From now on."""
    _open.add(host)


def note_closed(host: Inherited) -> None:
    """No more."""
    _open.discard(host)


def _disown_all() -> None:
    for host in list(_open):
        host.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
