"""Tells clients who holds the items they use: when they first use one, and whenever that changes.

Owns: which client follows which item, and when the directory is asked. Must not know: what is published or wanted. No
message waits for it: what a client is told makes nothing right or wrong, only nearer. Stimuli: first uses, questions,
summaries of owners (which name their epoch), time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import AskInterest, AskPlaced, Config, ItemPlaced
from causeway.core.ports import Courier, Groups
from causeway.topics import is_item
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant, key_of

LOOK_EVERY: Final[Duration] = 500 * MILLISECOND
"""So late at most a client hears what this broker has heard."""

LOOK_SOON: Final[Duration] = 20 * MILLISECOND
"""And one that waits for an answer."""

ASK_EVERY: Final[Duration] = 1 * SECOND
"""Between two questions to the directory about an item that nobody here knows, or whose owner is thought to be dead."""

DOUBT_AFTER: Final[Duration] = 30 * SECOND
"""An item of which this broker holds no copy may have moved without its noticing: then the directory is asked again."""

_LOOK = "look"


class Followed:
    """One item that clients of this broker use."""

    __slots__ = ("asked", "asking", "conns", "epoch", "key")

    def __init__(self, item: str) -> None:
        self.key = key_of(item)
        self.conns: dict[int, None] = {}
        self.epoch = 0
        """That all of them were told; 0 when nothing is known."""
        self.asked: Instant | None = None
        """When the directory last was."""
        self.asking: dict[int, int] = {}
        """Who waits for an answer, and the number of the question."""


class Signposts:
    """For all clients of one broker. There are as many entries as items, and as many followers as connections."""

    def __init__(self, me: bytes, groups: Groups, courier: Courier, *, alarm: Alarm | None = None) -> None:
        self._me = me
        self._groups = groups
        self._courier = courier
        self._items: dict[str, Followed] = {}
        self._deadlines: Deadlines[str] = Deadlines(alarm)
        self.domain_of: Callable[[BrokerId], str] = _nowhere

    # Clients ---------------------------------------------------------------------------------------------------
    def follow(self, turn: Turn, conn: int, item: str) -> None:
        """A client uses an item; asked with every batch that is published, and mostly nothing new."""
        known = self._items.get(item)
        if (known is not None and conn in known.conns) or not is_item(item):
            return
        followed = self._join(turn, conn, item)
        if followed.epoch:
            self._tell(turn, item, followed, conn)
        else:
            self._refresh(turn, item, followed)  # the directory is not asked yet: with its first use it may begin

    def ask(self, turn: Turn, conn: int, head: AskPlaced) -> None:
        """A client wants to know who holds an item. One that nobody has begins with the question."""
        followed = self._join(turn, conn, head.item)
        followed.asking[conn] = head.token
        if followed.epoch:
            self._tell(turn, head.item, followed, conn)
        else:
            self._look(turn, head.item, followed)
            self._deadlines.set_sooner(_LOOK, turn.now + LOOK_SOON)

    def _join(self, turn: Turn, conn: int, item: str) -> Followed:
        followed = self._items.get(item)
        if followed is None:
            followed = self._items[item] = Followed(item)
        followed.conns[conn] = None
        self._deadlines.set_if_unset(_LOOK, turn.now + LOOK_EVERY)
        return followed

    def on_client_gone(self, conn: int) -> None:
        """It follows nothing any more."""
        for item, followed in list(self._items.items()):
            followed.conns.pop(conn, None)
            followed.asking.pop(conn, None)
            if not followed.conns:
                del self._items[item]

    # News ------------------------------------------------------------------------------------------------------
    def heard(self, turn: Turn, item: str, epoch: int) -> None:
        """The owner of an item names its epoch: a later one than we know is worth a question."""
        followed = self._items.get(item)
        if followed is not None and epoch > followed.epoch:
            self._look(turn, item, followed, outdated=True)

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """See whether anything has changed."""
        if self._deadlines.pop_due(turn.now):
            for item, followed in self._items.items():
                self._look(turn, item, followed)
            if self._items:
                waiting = any(followed.asking for followed in self._items.values())
                self._deadlines.set(_LOOK, turn.now + (LOOK_SOON if waiting else LOOK_EVERY))

    def _look(self, turn: Turn, item: str, followed: Followed, *, outdated: bool = False) -> None:
        before = followed.epoch
        config = self._refresh(turn, item, followed)
        if config is None or not config.members:
            self._ask(turn, item, followed, ASK_EVERY)
        elif not any(member.peer.id == self._me for member in config.members):
            soon = (outdated and followed.epoch == before) or self._groups.suspects(config.owner)
            self._ask(turn, item, followed, ASK_EVERY if soon else DOUBT_AFTER)

    def _refresh(self, turn: Turn, item: str, followed: Followed) -> Config | None:
        """Tell all who follow an item if more is known of it now; what is known."""
        config = self._groups.config(followed.key)
        if config is not None and config.members and config.epoch > followed.epoch:
            followed.epoch = config.epoch
            for conn in followed.conns:
                self._tell(turn, item, followed, conn)
        return config

    def _ask(self, turn: Turn, item: str, followed: Followed, every: Duration) -> None:
        """The directory, which begins nothing; the first time there is nothing to doubt yet."""
        if followed.asked is None and every == DOUBT_AFTER:
            followed.asked = turn.now
        if followed.asked is not None and turn.now - followed.asked < every:
            return
        followed.asked = turn.now
        self._groups.resolve(turn, followed.key, item, birth=False)
        if followed.asking:
            # It may not have begun: who is asked what is wanted of it lets it begin where it belongs.
            self._courier.post(turn, item, AskInterest(item, self._me))

    def _tell(self, turn: Turn, item: str, followed: Followed, conn: int) -> None:
        config = self._groups.config(followed.key)
        if config is None:
            return
        owner = next((m.peer for m in config.members if m.peer.id == config.owner), None)
        if owner is None:
            return
        # A copy that is still being filled cannot take over.
        whole = (m.peer for m in config.members if m.peer.id != config.owner and m.peer.id not in config.incomplete)
        domain, token = self.domain_of(owner.id), followed.asking.pop(conn, 0)
        turn.send(conn, ItemPlaced(item, config.epoch, owner, next(whole, None), domain, token))


def _nowhere(broker: BrokerId) -> str:
    """No domain is known."""
    return ""
