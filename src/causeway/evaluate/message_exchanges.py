"""What is sent for one message, frame by frame: by PBM as the paper has it, by our brokers, and by MSMQ.

PBM: application, source broker, along the ring, destination broker, application; the acknowledgement along the ring
again. Ours is the same on the way out; the answer goes straight to the source broker, and an express message is
acknowledged by the destination's broker (`broker_mail` runs the brokers themselves). MSMQ: from site to site along the
cheapest links, stored, acknowledged to the site before; acknowledgements of arrival and of consumption go back the same
way.

Owns: who sends what to whom, and when. Must not know: how long a frame takes, how a way is found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from causeway.evaluate.closed_forms import ACK_BYTES, CAUSEWAY, COPIES, DISK, MESSAGE_BYTES, PBM, MailKind
from causeway.evaluate.site_lines import SiteLines, Then, Trip
from causeway.types import Instant, Key


class Client(NamedTuple):
    """An application: where it is, its key, and the broker responsible for that."""

    site: int
    key: Key
    home: int


class Ring(Protocol):
    """Brokers on a Pastry ring, by their numbers, which are those of their sites."""

    def route(self, source: int, key: Key) -> list[int]:
        """The brokers on the way to the one responsible, from the source on."""

    def copies(self, key: Key, count: int) -> list[int]:
        """The brokers closest to a key, closest first."""


class RingExchange:
    """Messages over a ring of brokers."""

    def __init__(self, lines: SiteLines, ring: Ring, system: str, *, learned: bool = False) -> None:
        assert system in (PBM, CAUSEWAY)
        self._lines = lines
        self._ring = ring
        self._straight = system == CAUSEWAY
        """Answers know where to go, and need not be routed."""
        self._learned = learned
        """The source broker has been told who owns the mailbox."""

    def send(self, kind: MailKind, sender: Client, receiver: Client) -> Trip:
        """One message, until nothing more is sent for it."""
        path = self._ring.route(sender.home, receiver.key)
        assert path[-1] == receiver.home
        if self._learned:
            path = [path[0], path[-1]][: len(path)]
        trip = Trip(self._lines.now, len(path) - 1)
        arrived = self._at_broker if not self._straight else self._at_owner
        self._lines.along(trip, [sender.site, *path], MESSAGE_BYTES, lambda: arrived(trip, kind, sender, receiver))
        self._lines.run_until_quiet()
        return trip

    # As the paper has it -----------------------------------------------------------------------------------------
    def _at_broker(self, trip: Trip, kind: MailKind, sender: Client, receiver: Client) -> None:
        lines, home, site = self._lines, receiver.home, receiver.site

        def acknowledge(then: Then) -> None:
            """Along the ring to the sender."""
            if kind.reliable:
                path = self._ring.route(home, sender.key)
                lines.along(trip, [*path, sender.site], ACK_BYTES, then)

        def answered() -> None:
            trip.answered(lines.now)

        def received() -> None:
            trip.arrived(lines.now)
            if kind.reliable:
                lines.carry(trip, site, home, ACK_BYTES, lambda: acknowledge(answered))

        def stored() -> None:
            """On all copies: say so; then, as soon as the receiver is back, deliver, confirm and delete the copies."""

            def back() -> None:
                trip.answered(lines.now)
                delivers()

            if kind.reliable:
                acknowledge(back)
            else:
                delivers()

        def delivers() -> None:
            def consumed() -> None:
                acknowledge(lambda: None)
                for copy in copies:
                    lines.carry(trip, home, copy, ACK_BYTES, lambda: None)

            def has_it() -> None:
                if kind.reliable:
                    lines.carry(trip, site, home, ACK_BYTES, consumed)
                else:
                    consumed()

            lines.carry(trip, home, site, MESSAGE_BYTES, has_it)

        copies = self._ring.copies(receiver.key, COPIES)[1:] if kind.stored and not kind.online else []
        if kind.online:
            lines.carry(trip, home, site, MESSAGE_BYTES, received)
            return
        trip.arrived(lines.now)
        self._copy(trip, home, copies, stored)

    def _copy(self, trip: Trip, home: int, copies: Sequence[int], then: Then) -> None:
        """To all copies at once; `then` when all of them have said that they have it."""
        lines, missing = self._lines, len(copies)
        if not copies:
            then()
            return

        def confirmed() -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                then()

        def told(copy: int) -> Then:
            return lambda: lines.carry(trip, copy, home, ACK_BYTES, confirmed)

        for copy in copies:
            lines.carry(trip, home, copy, MESSAGE_BYTES, told(copy))

    # As our brokers do it ----------------------------------------------------------------------------------------
    def _at_owner(self, trip: Trip, kind: MailKind, sender: Client, receiver: Client) -> None:
        lines, home, site = self._lines, receiver.home, receiver.site
        back = [home, sender.home] if sender.home != home else [home]

        def answer(then: Then) -> None:
            if kind.reliable:
                lines.along(trip, [*back, sender.site], ACK_BYTES, then)

        def answered() -> None:
            trip.answered(lines.now)

        def received() -> None:
            trip.arrived(lines.now)
            lines.carry(trip, site, home, ACK_BYTES, settled)

        def settled() -> None:
            if kind.stored:
                answer(answered)

        def stored() -> None:
            answer(answered)
            lines.carry(trip, home, site, MESSAGE_BYTES, lambda: lines.carry(trip, site, home, ACK_BYTES, consumed))

        def consumed() -> None:
            answer(lambda: None)
            self._delete(trip, home, copies, site)

        copies = self._ring.copies(receiver.key, COPIES)[1:] if kind.stored and not kind.online else []
        if kind.online:
            if not kind.stored:
                answer(answered)
            lines.carry(trip, home, site, MESSAGE_BYTES, received)
            return
        trip.arrived(lines.now)
        self._copy(trip, home, copies, stored)

    def _delete(self, trip: Trip, home: int, copies: Sequence[int], reader: int) -> None:
        """Copies confirm that a message is deleted; then its reader is told that it will not come again."""
        lines, missing = self._lines, len(copies)

        def confirmed() -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                lines.carry(trip, home, reader, ACK_BYTES, lambda: None)

        for copy in copies:
            lines.along(trip, [home, copy, home], ACK_BYTES, confirmed)


class SiteLinks(Protocol):
    """Sites joined by links, some of them over others."""

    def route(self, source: int, target: int) -> list[int]:
        """The cheapest way."""


class StoreAndForward:
    """MSMQ: messages over links, stored at every site if they are not express."""

    def __init__(
        self,
        lines: SiteLines,
        links: SiteLinks,
        rng: random.Random,
        up_at: Callable[[int], Instant] = lambda site: 0,
    ) -> None:
        self._lines = lines
        self._links = links
        self._rng = rng
        self._up_at = up_at
        """When a site's broker works again; in the past when it works."""

    def send(self, kind: MailKind, source: int, target: int) -> Trip:
        """One message between applications of two sites; whether the receiver is there makes no difference."""
        trip = self.begin(kind, source, target)
        self._lines.run_until_quiet()
        return trip

    def begin(self, kind: MailKind, source: int, target: int) -> Trip:
        """As `send`, but time does not pass."""
        path = self._links.route(source, target)
        assert path, f"no way leads from {source} to {target}"
        trip = Trip(self._lines.now, len(path) - 1)
        self._store(trip, kind, source, lambda: self._forward(trip, kind, path, 0))
        return trip

    def _when_up(self, trip: Trip, sites: Sequence[int], then: Then) -> None:
        """Links are laid by hand: who is down is waited for."""
        at = max(self._up_at(site) for site in sites)
        if at <= self._lines.now:
            then()
        else:
            self._lines.after(trip, at - self._lines.now, lambda: self._when_up(trip, sites, then))

    def _store(self, trip: Trip, kind: MailKind, site: int, then: Then) -> None:
        delay = self._rng.randrange(DISK[0], DISK[1]) if kind.stored else 0
        self._when_up(trip, [site], lambda: self._lines.after(trip, delay, then) if delay else then())

    def _carry(self, trip: Trip, kind: MailKind, path: Sequence[int], size: int, then: Then) -> None:
        """To the next site, which stores it."""
        source, target = path

        def carry() -> None:
            self._lines.carry(trip, source, target, size, lambda: self._store(trip, kind, target, then))

        self._when_up(trip, path, carry)

    def _forward(self, trip: Trip, kind: MailKind, path: list[int], at: int) -> None:
        """Stored at the site `at` on the way."""
        lines = self._lines
        if at > 0:
            lines.carry(trip, path[at], path[at - 1], ACK_BYTES, lambda: None)
        if at < len(path) - 1:
            self._carry(trip, kind, path[at : at + 2], MESSAGE_BYTES, lambda: self._forward(trip, kind, path, at + 1))
            return
        trip.arrived(lines.now)
        if kind.reliable:
            # One when it is in the queue, one when the application has taken it; here that is at once.
            for then in (lambda: trip.answered(lines.now), lambda: None):
                self._store(trip, kind, path[at], lambda then=then: self._back(trip, kind, path, at, then))  # type: ignore[misc]

    def _back(self, trip: Trip, kind: MailKind, path: list[int], at: int, then: Then) -> None:
        if at == 0:
            then()
            return
        self._carry(trip, kind, [path[at], path[at - 1]], ACK_BYTES, lambda: self._back(trip, kind, path, at - 1, then))
