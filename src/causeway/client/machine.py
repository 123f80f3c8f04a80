"""A session's turn: what happened, then everything that follows from it and from the application's calls.

Owns: the parts, the order of a turn, and which part each event and frame goes to. What links, errands, streams,
consumers, transactions and kept state decide is theirs; what an application may ask for is in `session`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from causeway.client.answers import Answers
from causeway.client.batches import Lane
from causeway.client.consumers import MailReaders
from causeway.client.errands import COMMITS, Errands
from causeway.client.fates import Fates
from causeway.client.inquiries import EndInquiry, Inquiry
from causeway.client.kept import Keeper
from causeway.client.links import Uplink, Uplinks
from causeway.client.outcomes import (
    Connected,
    Disconnected,
    Outcome,
    SessionFailed,
    WindowOpened,
)
from causeway.client.placements import Placements
from causeway.client.reader import MailReader
from causeway.client.roaming import Roamer
from causeway.client.seat_questions import SeatQuestions
from causeway.client.settings import SessionConfig
from causeway.client.streams import Streams
from causeway.client.telling import tell
from causeway.client.tracing import NoTrace
from causeway.client.transactions import Commitment, Transactions
from causeway.client.ways import TwoWays
from causeway.core.deadlines import NEVER, Alarm, Deadlines
from causeway.core.effects import Effects
from causeway.core.events import Clogged, Closed, Drained, DriverEvent, Loaded, Opened, Persisted, Received
from causeway.core.machine import Turn
from causeway.core.messages import (
    Accepted,
    Attached,
    Browsed,
    Confirmed,
    Deliver,
    ItemPlaced,
    Located,
    MailboxEnded,
    Message,
    Moved,
    Pong,
    Rejected,
    Resend,
    SeatGiven,
    Settled,
    StatusReply,
    StoryReply,
)
from causeway.core.messages import Outcome as TransactionOutcome
from causeway.errors import CausewayError, DeadlineExceeded, LocalProtocolError, RemoteProtocolError
from causeway.types import SECOND, Duration, Instant, Peer, Span

IDLE_LINK: Final[Duration] = 30 * SECOND
"""A link that nothing uses is closed after this."""

_CHORES: Final = 0
"""Among the inquiries' timers: look for silent requests and idle links."""


class SessionMachine:
    """Drives the parts of a session. Three stimuli: the application's calls, connections and the store, and time."""

    def __init__(self, config: SessionConfig, incarnation: int, rng: random.Random) -> None:
        self.config = config.check()
        self.error: CausewayError | None = None
        """Why the session is over, None while it is not."""
        self._alarm = alarm = Alarm()
        self._fates = Fates(alarm)
        self._streams = Streams(config, self._fates, alarm=alarm)
        self._streams.numbering.source = (config.name, incarnation)
        self._links = Uplinks(config, rng, alarm=alarm)
        self._errands = Errands(config, self._links, rng, alarm=alarm)
        self._consumers = MailReaders(config, self._errands, self._streams.causal.marks, alarm=alarm)
        self._questions = SeatQuestions(config.name, self._errands, self._number)
        self._transactions = Transactions(COMMITS, config, self._errands, self._consumers)
        self._placements = Placements()
        self._timers: Deadlines[int] = Deadlines(alarm)
        self._outcomes: list[Outcome] = []
        self._answers = Answers(
            config.name,
            self._errands,
            self._consumers,
            self._streams.causal,
            self._questions,
            timers=self._timers,
            say=self._say,
        )
        self._ways = TwoWays(self._links, self._placements, alarm=alarm)
        self._roamer = Roamer(config, self._links, self._errands, rng, fates=self._fates, alarm=alarm)
        alarm.watch(self._transactions.next_deadline)
        self._keeper: Keeper | None = None
        if config.keep:
            self._streams.keeping = self._consumers.seen.keeping = True
            self._keeper = Keeper(config.name, self._fates, self._streams, self._consumers, self._transactions)
            alarm.watch(self._keeper.next_deadline)
        self._begun = self._open = False
        """Whether `handle` was called; whether links may be made."""
        self._closing = False
        self._home: Uplink | None = None
        self._next_number = 2
        self._fresh_consumers: list[MailReader] = []
        self._fresh_inquiries: list[tuple[Inquiry, Duration]] = []
        self._fresh_commits: list[tuple[Commitment, Duration]] = []
        self.lanes: dict[tuple[object, ...], Lane] = self._streams.numbering.lanes
        """For the driver: lanes by the arguments of its own calls; emptied by the session when they become invalid."""

    @property
    def incarnation(self) -> int:
        """This life's, or with kept state that of the first life."""
        return self._streams.numbering.source[1]

    def trace_to(self, trace: NoTrace) -> None:
        """Let somebody know what this application does, in the order in which it does it."""
        self._fates.trace = self._consumers.trace = self._transactions.trace = trace

    def _number(self) -> int:
        """Of one more errand."""
        self._next_number += 1
        return self._next_number

    @property
    def connected(self) -> bool:
        """Whether a broker takes our sends now."""
        return self._home is not None

    @property
    def home(self) -> Peer | None:
        """The broker that takes our sends now."""
        return None if self._home is None else self._home.peer

    @property
    def trouble(self) -> str:
        """What went wrong last on the way to a broker."""
        return self._links.last_trouble

    def room(self) -> int:
        """How many more small messages the window takes now."""
        config, fates = self.config, self._fates
        return 0 if fates.bytes >= config.window_bytes else max(0, config.window_messages - fates.count)

    # The contract ----------------------------------------------------------------------------------------------
    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        """Let what happened happen, then everything that follows from it and from the application's calls."""
        turn = Turn(now)
        if self.error is not None:
            return turn.effects
        if not self._begun:
            self._begin(turn)
        # Most turns concern one part: the others are not even asked.
        keeper, consumers, streams, links = self._keeper, self._consumers, self._streams, self._links
        if consumers.dirty or keeper is not None:
            self._collect(turn)
        for event in events:
            if type(event) is Received:
                for head, body in event.messages:
                    link = links.find(event.conn)
                    if link is not None:
                        link.heard_at = now
                        self._on_received(turn, link, head, body)
                    if links.ups or links.downs:
                        self._pass_on_links(turn)
                continue
            self._on_event(turn, event)
            if links.ups or links.downs:
                self._pass_on_links(turn)
        if now >= self._alarm.at:
            self._fire(turn)
            self._alarm.renew()
        elif consumers.late.news:
            consumers.hear_late(now)
        if self._open:
            if self._fresh_consumers or self._fresh_inquiries or self._fresh_commits:
                self._start_fresh(turn)
            if consumers.dirty or keeper is not None:
                self._collect(turn)
            if links.home is not self._home:
                self._follow_home(turn)
            if streams.critical:
                streams.on_ways(turn, self._ways.tend(turn))
            if streams.gathered:
                streams.flush(turn)
            if streams.causal.needs_seat:
                self._questions.ask(turn, self.config.name)
            if streams.numbering.lagging:
                streams.catch_up(turn)
        if keeper is not None:
            keeper.flush(turn)
            self._alarm.lower(keeper.next_deadline() or NEVER)
        if consumers.dirty:
            consumers.finish_turn(turn, keeper.awaiting() if keeper is not None else {})
        if consumers.ended or self._answers.next_ends:
            self._start_ends(turn)
        fatal = self._links.fatal or (keeper.error if keeper is not None else None)
        if fatal is not None or self._closing:
            self._end(turn, fatal)
        fates = self._fates
        if fates.resolved or consumers.arrived or fates.confirmed or fates.departed or self._transactions.ended:
            self._tell()
        return turn.effects

    def next_deadline(self) -> Instant | None:
        """When to be called again if nothing happens before."""
        return self._alarm.at if self._alarm.at != NEVER and self.error is None else None

    def outcomes(self) -> list[Outcome]:
        """What the application must hear since the last call."""
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def _say(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)

    # A turn ----------------------------------------------------------------------------------------------------
    def _begin(self, turn: Turn) -> None:
        self._begun = True
        if self._keeper is not None:
            self._keeper.start(turn)
        else:
            self._become_open(turn)

    def _become_open(self, turn: Turn) -> None:
        self._open = True
        self._timers.set(_CHORES, turn.now + self.config.repeat_after)
        self._transactions.resume(turn)
        self._links.start(turn, self.incarnation)

    def _on_event(self, turn: Turn, event: DriverEvent) -> None:
        match event:
            case Opened():
                self._links.on_opened(turn, event.conn)
            case Closed():
                self._links.on_closed(turn, event.conn, event.reason)
            case Clogged() | Drained():
                link = self._links.find(event.conn)
                if link is not None:
                    link.clogged = isinstance(event, Clogged)
            case Loaded() if self._keeper is not None:
                self._keeper.on_loaded(turn, event, self.incarnation)
            case Persisted() if self._keeper is not None:
                self._keeper.on_persisted(turn)
                if not self._open and self._keeper.identity is not None:
                    self._become_open(turn)
            case _:
                raise LocalProtocolError(f"a session knows no {type(event).__name__}")

    def _on_received(self, turn: Turn, link: Uplink, head: Message, body: bytes) -> None:
        try:
            match head:
                case Deliver():
                    self._consumers.on_deliver(turn, link, head, body)
                case Accepted():
                    self._streams.on_accepted(head)
                case Settled():
                    self._consumers.on_settled(link, head)
                    self._answers.on_settled(turn, head)
                case Confirmed():
                    self._streams.on_confirmed(head)
                case Rejected():
                    self._streams.on_rejected(turn, head)
                case Resend():
                    self._streams.on_resend(turn, head)
                case Attached():
                    self._answers.on_attached(turn, link, head)
                case Moved():
                    self._answers.on_moved(turn, link, head)
                case Browsed() | StatusReply() | StoryReply() | MailboxEnded():
                    self._answers.on_answer(turn, head, body)
                case ItemPlaced():
                    self._links.learn(self._placements.learn(link, head))
                    self._answers.on_answer(turn, head, body)
                case TransactionOutcome():
                    self._on_outcome(turn, head)
                case SeatGiven():
                    self._answers.on_seat_given(turn, head, self._fresh_consumers)
                case Pong() | Located():
                    self._roamer.on_received(turn, link, head)
                case _:
                    self._links.on_received(turn, link, head)
        except RemoteProtocolError as error:
            self._links.break_off(turn, link, str(error))

    def _on_outcome(self, turn: Turn, head: TransactionOutcome) -> None:
        commitment = self._transactions.on_outcome(head, self.incarnation)
        if commitment is not None and self._keeper is not None:
            self._keeper.ended(commitment)

    def _pass_on_links(self, turn: Turn) -> None:
        links = self._links
        while links.ups or links.downs:
            ups, links.ups = links.ups, []
            downs, links.downs = links.downs, []
            for link, reason in downs:
                self._errands.on_link_down(turn, link, reason)
                self._roamer.on_link_down(turn, link)
            for link in ups:
                self._errands.on_link_up(turn, link)
                self._roamer.on_link_up(turn, link)

    def _fire(self, turn: Turn) -> None:
        self._links.on_deadlines(turn)
        self._pass_on_links(turn)
        self._roamer.on_deadlines(turn)
        self._ways.on_deadlines(turn)
        self._errands.on_deadlines(turn)
        self._streams.on_deadlines(turn)
        self._transactions.on_deadline(turn.now)
        for number in self._timers.pop_due(turn.now):
            if number == _CHORES:
                used = self._errands.links_used() | self._fates.unconfirmed_on()
                self._links.sweep(turn, used, IDLE_LINK)
                self._streams.repeat_silent(turn, self.config.repeat_after)
                self._timers.set(_CHORES, turn.now + self.config.repeat_after)
                continue
            inquiry = self._errands.find(number)
            if isinstance(inquiry, Inquiry):
                trouble = inquiry.trouble or (self.trouble if not self.connected else "no answer")
                self._answers.finish_inquiry(inquiry, DeadlineExceeded(f"nobody answered in time ({trouble})"))
        self._consumers.hear_late(turn.now)
        self._pass_on_links(turn)

    def _start_fresh(self, turn: Turn) -> None:
        if self._fresh_consumers and not self._transactions.in_doubt:
            consumers, self._fresh_consumers = self._fresh_consumers, []
            for consumer in consumers:
                if self._questions.admits(turn, consumer):
                    self._consumers.add(turn, consumer)
                else:
                    self._fresh_consumers.append(consumer)
        inquiries, self._fresh_inquiries = self._fresh_inquiries, []
        for inquiry, timeout in inquiries:
            self._start_inquiry(turn, inquiry, timeout)
        commits, self._fresh_commits = self._fresh_commits, []
        for commitment, timeout in commits:
            if self._keeper is not None:
                self._keeper.keep_commit(commitment)
            self._transactions.begin(turn, commitment, timeout)
            self._alarm.lower(commitment.deadline)

    def _start_inquiry(self, turn: Turn, inquiry: Inquiry, timeout: Duration) -> None:
        self._errands.start(turn, inquiry)
        self._timers.set(inquiry.number, turn.now + timeout)

    def _start_ends(self, turn: Turn) -> None:
        """Let mailboxes end that nobody needs any more."""
        ends = [EndInquiry(self._number(), mailbox) for mailbox in self._consumers.ended]
        ends += self._answers.next_ends
        self._consumers.ended.clear()
        self._answers.next_ends.clear()
        for inquiry in ends:
            self._start_inquiry(turn, inquiry, self.config.timeout)

    def _collect(self, turn: Turn) -> None:
        settles: list[tuple[MailReader, list[Span]]] = self._consumers.collect()
        if self._keeper is not None:
            self._keeper.keep_settles(settles)
            return
        for consumer, spans in settles:
            self._consumers.settle(turn, consumer, spans)

    def _follow_home(self, turn: Turn) -> None:
        home = self._home = self._links.home
        self._streams.on_home(turn, home)
        self._roamer.on_home(turn)
        self._pass_on_links(turn)
        if home is None:
            self._outcomes.append(Disconnected(self.trouble))
        else:
            assert home.peer is not None
            self._outcomes.append(Connected(home.peer))

    def _tell(self) -> None:
        resolved = tell(self._outcomes.append, self._fates, self._consumers, self._transactions)
        if resolved and self._streams.starved and self.room() >= self.config.window_messages // 2:
            self._streams.starved = False
            self._outcomes.append(WindowOpened())

    # The end ---------------------------------------------------------------------------------------------------
    def _end(self, turn: Turn, fatal: CausewayError | None) -> None:
        self.error = fatal or LocalProtocolError("the bus is closed; connect again")
        self.lanes.clear()
        self._consumers.leave(turn)
        self._links.close_all(turn)
        self._streams.fail_all(self.error)
        self._transactions.fail_all(self.error)
        for commitment, _ in self._fresh_commits:
            self._transactions.abandon(commitment, self.error)
        fresh = [inquiry for inquiry, _ in self._fresh_inquiries]
        for inquiry in (*self._errands.all(), *fresh, *self._answers.next_ends):
            if isinstance(inquiry, Inquiry):
                self._answers.finish_inquiry(inquiry, self.error)
        self._errands.clear()
        self._outcomes.append(SessionFailed(self.error))
