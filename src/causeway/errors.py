"""Every error of Causeway, and the code each has on the wire.

CausewayError
├── ConfigError            a setting, argument or URL is wrong: names the field, the value and the remedy
│   ├── SelectorError      a message selector is wrong: names the column, what was found and what was expected
│   └── TopicError         a topic, pattern or template is wrong: names the same
├── LocalProtocolError     the bus or a message was used wrongly: not open, closed, or settled before
├── RemoteProtocolError    the peer broke the protocol; its connection is closed with the code
├── TransportError         a connection could not be made or broke
├── StoreError             the disk refused: full, unwritable
│   ├── StoreBusy          another program uses the directory now
│   └── StoreCorrupt       the database is malformed; opening it again sets it aside and begins a new one
├── PipelineError          a job of the pipeline could not do its work: says what stopped it and the remedy
│   ├── LakeError          a lake has nothing to read, or something that cannot be read: names the place
│   └── DataLost           messages that a query was to read have ended before it did: names the mailbox
├── MessageFormatError     a body is not what its kind says, its kind is unknown, or reading it needs an opt-in
├── DeadlineExceeded       nobody answered in time
│   └── OutcomeUnknown     a send or a commit was on its way: it may have happened, or may happen still
└── Refused                it was not done and will not be: the code says why, `retriable` whether to try again
"""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """Why a broker says no; `REMEDIES` says what to do about each."""

    BAD_FRAME = 1
    BAD_VERSION = 2
    BAD_FIELD = 3
    NO_QUORUM = 4
    NO_DIRECTORY = 5
    MAILBOX_FULL = 6
    NOT_OWNER = 7
    NOT_READY = 8
    ABORTED = 9
    EXPIRED = 10
    UNAVAILABLE = 11
    OVERLOADED = 12
    CLUSTER_FULL = 13
    NO_MAILBOX = 14
    IN_USE = 15
    OVERFLOWED = 16
    CYCLE = 17
    NO_SEAT = 18
    NO_ROUTE = 19
    ORDER_LOST = 20

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, value: int) -> Code:
        """A code read from a message; one of a later release, or nonsense, counts as UNAVAILABLE."""
        return _CODES.get(value, cls.UNAVAILABLE)


_CODES: dict[int, Code] = {int(code): code for code in Code}

REMEDIES: dict[Code, str] = {
    Code.BAD_FRAME: "speak the Causeway protocol on this port",
    Code.BAD_VERSION: "use a client and broker of the same protocol version",
    Code.BAD_FIELD: "correct the named field",
    Code.NO_QUORUM: "restore the unreachable brokers; what is stored stays stored",
    Code.NO_DIRECTORY: "restore a majority of the brokers that hold the directory",
    Code.MAILBOX_FULL: "consume from it, or restart brokers with --set stored_bytes_max (express: volatile_bytes_max)",
    Code.NOT_OWNER: "ask again: the mailbox has moved",
    Code.NOT_READY: "wait: the broker is joining or taking over",
    Code.ABORTED: "repeat the transaction",
    Code.EXPIRED: "give the message a longer time to live",
    Code.UNAVAILABLE: "wait for the broker or connect to another one",
    Code.OVERLOADED: "send less at once, or connect to a broker that has room",
    Code.CLUSTER_FULL: "use fewer mailboxes, or restart brokers with --set mailboxes_max; those that exist go on",
    Code.NO_MAILBOX: "look at its name; what was private or a subscription has ended, and is begun by its reader alone",
    Code.IN_USE: "close its other consumers first; a subscription can be shared, a mailbox purged",
    Code.OVERFLOWED: "read faster, subscribe again, or choose another overflow policy",
    Code.CYCLE: "leave out one of the named domains: they must form a tree",
    Code.NO_SEAT: "start a broker with --domain NAME, or seat one with 'causeway join': causal order needs a domain",
    Code.NO_ROUTE: "seat a broker in a domain of each side, so that the named seats are connected",
    Code.ORDER_LOST: "send it anew: its place in the order was given up after its sender and its seat failed together",
}
"""What people are told to do."""

RETRIABLE_CODES = frozenset(
    {
        Code.NO_QUORUM,
        Code.NO_DIRECTORY,
        Code.MAILBOX_FULL,
        Code.NOT_OWNER,
        Code.NOT_READY,
        Code.UNAVAILABLE,
        Code.OVERLOADED,
    }
)


class CausewayError(Exception):
    """Root of everything Causeway raises on purpose."""

    retriable: bool = False


class ConfigError(CausewayError):
    """A setting is wrong."""

    def __init__(self, field: str, value: object, remedy: str) -> None:
        self.field, self.value, self.remedy = field, value, remedy
        shown = "" if value is None else f"={value!r}"  # what was not given has no value to show
        if len(shown) > 81:
            shown = f"{shown[:37]}...{shown[-40:]}"  # the end of a path tells most
        super().__init__(f"{field}{shown}: {remedy}")


class SelectorError(ConfigError):
    """A message selector is wrong; `column` says where, counted from 1."""

    def __init__(self, text: str, column: int, found: str, expected: str) -> None:
        remedy = f"column {column}: found {found}, expected {expected}"
        super().__init__("selector", text, remedy)
        self.column = column
        # A selector is one line of text that its author has at hand: the column tells more than its two ends.
        self.args = (f"selector: {remedy}",)


class TopicError(ConfigError):
    """A topic's name, a pattern or a template is wrong; `column` says where, counted from 1."""

    def __init__(self, field: str, text: str, column: int, found: str, expected: str) -> None:
        remedy = f"column {column}: found {found}, expected {expected}"
        super().__init__(field, text, remedy)
        self.column = column
        # As with a selector: its author has the text at hand.
        self.args = (f"{field}: {remedy}",)


class LocalProtocolError(CausewayError):
    """The bus or a message was used wrongly: not open, closed, or settled before."""


class RemoteProtocolError(CausewayError):
    """The other side broke the protocol."""

    def __init__(self, code: Code, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code.name.lower()}: {detail}")


class TransportError(CausewayError):
    """A connection failed."""

    retriable = True


class StoreError(CausewayError):
    """Stable storage failed."""


class StoreBusy(StoreError):
    """Another program uses the directory; it is free when that one ends."""

    retriable = True


class StoreCorrupt(StoreError):
    """The database is malformed as a whole (a single damaged row is reported by a scan instead)."""


class PipelineError(CausewayError):
    """A job of the pipeline was stopped."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}: {remedy}")


class LakeError(PipelineError):
    """What a lake holds cannot be used; `place` is the folder, segment or row."""

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        self.place = place
        super().__init__(f"{place} {problem}", remedy)


class DataLost(PipelineError):
    """Messages were gone before a query could read them; `mailbox` is where they were."""

    def __init__(self, mailbox: str, problem: str, remedy: str) -> None:
        self.mailbox = mailbox
        super().__init__(f"{mailbox!r} {problem}", remedy)


class MessageFormatError(CausewayError):
    """A message's content does not fit its kind, or its kind may not be read here."""


class DeadlineExceeded(CausewayError, TimeoutError):
    """The answer did not come in time."""

    retriable = True


class OutcomeUnknown(DeadlineExceeded):
    """A send or a commit may have happened, or may happen still: done again, it may happen twice."""

    retriable = False

    def __init__(self, detail: str, code: Code | None = None) -> None:
        self.code = code
        """What brokers said last, None if they said nothing."""
        super().__init__(f"{detail}; its outcome is unknown")


class Refused(CausewayError):
    """A request was refused: it was not done and will not be."""

    def __init__(self, code: Code, detail: str) -> None:
        self.code, self.detail = code, detail
        self.retriable = code in RETRIABLE_CODES
        super().__init__(f"{code.name.lower()}: {detail}")
