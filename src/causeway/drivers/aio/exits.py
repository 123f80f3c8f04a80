"""How a broker process ends: distinct exit codes, so that whoever started it knows whether to start it again."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    """Exit codes, after sysexits.h."""

    OK = 0
    """Asked to stop, and stopped."""
    REFUSED = 1
    """New to the cluster, and its domains would close a cycle, or the map has no room: it has left. The log names what
    is in the way; start it with other domains."""
    CORRUPT = 65
    """The database was found malformed. Start again: it is set aside and rebuilt from the copies."""
    CRASH = 70
    """A bug in Causeway. The log has the traceback; start again: what was acknowledged is on the disk."""
    STORE = 74
    """The disk refused. The log names the path and the remedy; start again after that."""
    NOT_HANDED_OVER = 75
    """Told to leave, and stopped before the others held everything. Keep its data; start again, then tell it to leave
    again when all brokers run."""
