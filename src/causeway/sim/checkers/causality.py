"""Causal order: in no mailbox does an effect come before its cause; nothing is lost, doubled or held for ever.

What happened before what is computed here from what applications did and saw, and from nothing else: no clock, stamp
or number of the product is looked at. A letter happened before another if the same life of an application sent both in
this order, if an application got the one and sent the other later, or by a chain of these.

Owns: that relation (`History`) and what mailboxes are owed. Must not know: seats, domains, ways.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.checkers.subscribing import wants
from causeway.sim.letters import Letter
from causeway.types import Instant

SHOWN_MAX = 5
CHAIN_SHOWN_MAX = 12
"""Steps of a chain in the evidence; what is left out lies in its middle."""


class Posting:
    """One send: whose, which one of it, and what its sender had seen and sent by then."""

    __slots__ = ("knew", "life", "number", "place")

    def __init__(self, life: int, number: int, knew: list[int], place: int) -> None:
        self.life = life
        self.number = number
        self.knew = knew
        """Sends of each life that happened before it; never changed."""
        self.place = place
        """Where it stands in the story of its life."""


class History:
    """Happened-before among messages, from sends and receives in the order they were observed.

    For each life of an application it keeps how many sends of each life happened before its present; a message takes
    that along, and whoever gets it adds it to what happened before its own.
    """

    def __init__(self) -> None:
        self._lives: dict[Reader, int] = {}
        self._names: list[Reader] = []
        self._knows: list[list[int]] = []
        self._stories: list[list[tuple[str, Hashable]]] = []
        """Per life: what it did, in its own order."""
        self._postings: dict[Hashable, Posting] = {}

    def __contains__(self, message: Hashable) -> bool:
        return message in self._postings

    def send(self, life: Reader, message: Hashable) -> None:
        """A life of an application sent something, to however many."""
        at = self._life(life)
        before = self._knows[at]
        before += [0] * (at + 1 - len(before))
        number = before[at] + 1
        self._postings[message] = Posting(at, number, before, len(self._stories[at]))
        after = before.copy()
        after[at] = number
        self._knows[at] = after
        self._stories[at].append(("sent", message))

    def receive(self, life: Reader, message: Hashable) -> None:
        """It got something that was sent."""
        at = self._life(life)
        posting = self._postings[message]
        known = raised(self._knows[at], posting.knew)
        known += [0] * (posting.life + 1 - len(known))
        known[posting.life] = max(known[posting.life], posting.number)
        self._knows[at] = known
        self._stories[at].append(("got", message))

    def posting(self, message: Hashable) -> Posting:
        """What is known of a send."""
        return self._postings[message]

    def before(self, cause: Hashable, effect: Hashable) -> bool:
        """Whether one message happened before another."""
        return self._precedes(self._postings[cause], self._postings[effect])

    def chain(self, cause: Hashable, effect: Hashable) -> list[str]:
        """Why one message happened before another: events, each of which leads to the next."""
        first = self._postings[cause]
        steps: list[str] = []
        at = effect
        while True:
            posting = self._postings[at]
            steps.append(self._step(posting.life, "sent", at))
            if posting.life == first.life:
                break  # its sender's own order
            at = next(
                message
                for what, message in self._stories[posting.life][: posting.place]
                if what == "got" and (message == cause or self._precedes(first, self._postings[message]))
            )
            steps.append(self._step(posting.life, "got", at))
            if at == cause:
                break
        steps.append(self._step(first.life, "sent", cause))
        return steps[::-1]

    # Inside ----------------------------------------------------------------------------------------------------
    def _life(self, life: Reader) -> int:
        at = self._lives.get(life)
        if at is None:
            at = self._lives[life] = len(self._names)
            self._names.append(life)
            self._knows.append([])
            self._stories.append([])
        return at

    def _step(self, life: int, did: str, message: Hashable) -> str:
        name, number = self._names[life]
        return f"{name}/{number} {did} {message}"

    @staticmethod
    def _precedes(cause: Posting, effect: Posting) -> bool:
        return cause.life < len(effect.knew) and effect.knew[cause.life] >= cause.number


def raised(one: list[int], other: list[int]) -> list[int]:
    """The larger of each two; what the shorter one lacks is 0."""
    if len(one) < len(other):
        one, other = other, one
    return [a if a > b else b for a, b in zip(one, other, strict=False)] + one[len(other) :]


class Reading:
    """One mailbox, in the order in which an application first got what is in it."""

    __slots__ = ("first", "knew")

    def __init__(self) -> None:
        self.first: dict[Hashable, None] = {}
        self.knew: list[int] = []
        """Sends of each life that happened before something that has come."""

    def overtaken_by(self, history: History, message: Hashable) -> Hashable | None:
        """A message comes for the first time: what came before it and should not have."""
        posting = history.posting(message)
        late = posting.life < len(self.knew) and self.knew[posting.life] >= posting.number
        found = next((other for other in self.first if history.before(message, other)), None) if late else None
        self.first[message] = None
        self.knew = raised(self.knew, posting.knew)
        return found


class TopicWish:
    """What a mailbox wants of topics, and since when it may count on it."""

    __slots__ = ("begun", "patterns")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self.begun: Instant | None = None

    def wants(self, topic: str) -> bool:
        """Whether something published there is meant for it."""
        return any(wants(pattern, topic) for pattern in self.patterns)


class Causality(Checker):
    """All that is sent and published in causal order in one run."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self._readings: dict[str, Reading] = {}
        self._shared: dict[str, None] = {}
        self._wishes: dict[str, TopicWish] = {}
        self._sent: dict[Letter, Instant] = {}
        self._open: dict[Letter, None] = {}
        """Sent, and its sender has not been told what became of it."""
        self._owed: dict[tuple[str, Letter], Instant] = {}
        self._seen: dict[tuple[str, Letter], None] = {}
        self._held: dict[Reader, dict[tuple[str, Letter], None]] = {}
        self._done: dict[tuple[str, Letter], Reader] = {}

    def share(self, mailbox: str) -> None:
        """A mailbox has several readers: its order is nobody's, but what they get counts as cause.

        One of them that was cut off may get late what another is done with by then.
        """
        self._shared[mailbox] = None

    # Topics ----------------------------------------------------------------------------------------------------
    def subscribed(self, mailbox: str, patterns: Iterable[str]) -> None:
        """An application asks for topics in a mailbox."""
        before = self._wishes.get(mailbox)
        wanted = TopicWish(tuple(patterns))
        if before is None or before.patterns != wanted.patterns:
            self._wishes[mailbox] = wanted

    def subscription_begun(self, mailbox: str) -> None:
        """It was told that whatever is published from now on comes."""
        wish = self._wishes[mailbox]
        if wish.begun is None:
            wish.begun = self.now

    # Letters ---------------------------------------------------------------------------------------------------
    def sent(self, letter: Letter) -> None:
        self.history.send((letter.source, letter.life), letter)
        self._sent[letter] = self.now
        self._open[letter] = None

    def acknowledged(self, letter: Letter) -> None:
        self._open.pop(letter, None)
        for mailbox in self._due(letter):
            if (mailbox, letter) not in self._seen:
                self._owed[mailbox, letter] = self.now

    def failed(self, letter: Letter, reason: str) -> None:
        self._open.pop(letter, None)

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        place = (mailbox, letter)
        if letter not in self.history:
            self.complain(f"{letter} was delivered to {mailbox} and never sent")
        if not self._is_meant(mailbox, letter):
            self.complain(f"{letter} was delivered to {mailbox}, which it is not meant for")
        held = self._held.setdefault(reader, {})
        if place in held:
            self.complain(f"{letter} was delivered twice to {reader} from {mailbox}")
        if place in self._done and mailbox not in self._shared:
            self.complain(f"{letter} was delivered to {reader} from {mailbox} after {self._done[place]} was done")
        held[place] = None
        self.history.receive(reader, letter)
        if place not in self._seen:
            self._seen[place] = None
            self._owed.pop(place, None)
            self._check_order(mailbox, letter)

    def _check_order(self, mailbox: str, letter: Letter) -> None:
        if mailbox in self._shared:
            return
        reading = self._readings.setdefault(mailbox, Reading())
        early = reading.overtaken_by(self.history, letter)
        if early is not None:
            self.complain(
                f"{mailbox} got {early} before {letter}, which happened before it: {self._told(letter, early)}"
            )

    def _told(self, cause: Hashable, effect: Hashable) -> str:
        steps = self.history.chain(cause, effect)
        left_out = len(steps) - CHAIN_SHOWN_MAX
        if left_out > 0:
            half = CHAIN_SHOWN_MAX // 2
            steps = [*steps[:half], f"({left_out} more)", *steps[-half:]]
        return ", then ".join(steps)

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._done[mailbox, letter] = reader

    def returned(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._held.get(reader, {}).pop((mailbox, letter), None)

    def reader_ended(self, reader: Reader) -> None:
        self._held.pop(reader, None)

    # The end ---------------------------------------------------------------------------------------------------
    def owed(self) -> list[tuple[str, Letter]]:
        """Acknowledged, and not come where they were due."""
        return list(self._owed)

    def finish(self) -> None:
        if self._owed:
            shown = [f"{letter} at {mailbox}{self._passed(mailbox, letter)}" for mailbox, letter in self._owed]
            self.complain(f"{len(shown)} acknowledged letters never arrived: {listed(shown)}")
        if self._open:
            shown = [f"{letter} (sent at {self._sent[letter] / 1e9:.6f}s)" for letter in self._open]
            self.complain(f"{len(shown)} letters were held for ever: {listed(shown)}")

    def _passed(self, mailbox: str, letter: Letter) -> str:
        """Of a letter that never came: what did although it happened later."""
        reading = self._readings.get(mailbox, Reading())
        later = next((other for other in reading.first if self.history.before(letter, other)), None)
        return "" if later is None else f" (although {later} came: {self._told(letter, later)})"

    def _is_meant(self, mailbox: str, letter: Letter) -> bool:
        if not letter.topic:
            return mailbox == letter.dest
        return mailbox in self._wishes and self._wishes[mailbox].wants(letter.topic)

    def _due(self, letter: Letter) -> list[str]:
        """Mailboxes that may count on a letter."""
        if not letter.topic:
            return [letter.dest]
        sent = self._sent[letter]
        return [
            mailbox
            for mailbox, wish in self._wishes.items()
            if wish.begun is not None and wish.begun <= sent and wish.wants(letter.topic)
        ]


def listed(texts: list[str]) -> str:
    """The first few, and how many more."""
    rest = len(texts) - SHOWN_MAX
    return "; ".join(texts[:SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
