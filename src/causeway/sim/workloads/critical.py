"""As `topics`, with critical topics among them: the same promises, over two ways."""

from __future__ import annotations

from causeway.sim.checkers.subscribing import Wish
from causeway.sim.letters import NOTICES
from causeway.sim.workloads.topics import Topics
from causeway.topics.critical import CRITICAL


class CriticalTopics(Topics):
    """Most topics are critical; some wishes want both kinds."""

    people = "critical-"
    topics = (
        f"{CRITICAL}/fire/north",
        f"{CRITICAL}/fire/south",
        f"{CRITICAL}/flood/a1",
        CRITICAL,
        f"{CRITICAL}/{NOTICES}a",
        "roads/a1/speed",
    )
    wishes = (
        Wish(f"{CRITICAL}/fire/north"),
        Wish(f"{CRITICAL}/fire/*"),
        Wish(f"{CRITICAL}/#"),
        Wish(f"{CRITICAL}/fire/*", "red"),
        Wish(f"{CRITICAL}/#", "blue"),
        Wish(f"{CRITICAL}/{NOTICES}*", retained=True),
        Wish("*/fire/*"),
        Wish("#"),
        Wish("#", "red", retained=True),
        Wish("roads/#"),
    )
