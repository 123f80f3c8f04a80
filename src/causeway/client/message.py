"""Messages as an application sees them: printable ids, headers, and the delivered message.

How headers travel is in `wire.headers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import msgspec

from causeway import kinds
from causeway.errors import ConfigError
from causeway.kinds import KIND
from causeway.limits import HEADERS_BYTES_MAX, MESSAGE_BYTES_MAX
from causeway.names import SEATS
from causeway.topics import item_of
from causeway.types import SECOND, TWIN_PREFIX, Flag, ServiceClass
from causeway.wire.headers import Headers, HeaderValue, split_headers

if TYPE_CHECKING:
    from causeway.client.lots import Lot

REPLY_TO: Final = "~reply"
"""The mailbox that waits for the answer."""
CORRELATION: Final = "~corr"
"""Which request an answer belongs to."""
SETTABLE: Final = frozenset({REPLY_TO, CORRELATION, KIND})
"""Headers of Causeway's own that an application may set: who speaks to a `message.reply` by hand, or names a kind."""

SERVICES: Final[dict[str, ServiceClass]] = {
    "express": ServiceClass.EXPRESS,
    "recoverable": ServiceClass.RECOVERABLE,
    "transactional": ServiceClass.TRANSACTIONAL,
}
_LETTERS: Final = ("e", "r", "t", "c")

# Read once: an IntFlag's operators are Python code, and these are asked for every message.
_HEADERS: Final = int(Flag.HEADERS)
_REDELIVERED: Final = int(Flag.REDELIVERED)

_encode = msgspec.msgpack.Encoder().encode


class MessageId(msgspec.Struct, frozen=True, order=True):
    """What identifies one message in the whole cluster; as text  source:incarnation:dest:class:number ."""

    source: str
    incarnation: int
    dest: str
    stream: int
    number: int

    def __str__(self) -> str:
        source, dest = quote(self.source, safe=""), quote(self.dest, safe="")
        return f"{source}:{self.incarnation:x}:{dest}:{_LETTERS[self.stream]}:{self.number}"

    @classmethod
    def parse(cls, text: str) -> MessageId:
        """The id that `str` wrote."""
        try:
            source, incarnation, dest, letter, number = text.split(":")
            stream = _LETTERS.index(letter)
            parsed = cls(unquote(source), int(incarnation, 16), unquote(dest), stream, int(number))
        except (ValueError, AttributeError):  # the latter if it is no text
            remedy = "is not a message id; copy it from a receipt, a message or the command line: a:1f:b:r:17"
            raise ConfigError("id", text, remedy) from None
        return parsed


_VALUES: Final = (str, int, float, bytes)
"""What a header holds; bool is an int."""


def check_headers(headers: Headers) -> None:
    """Refuse what is no headers, and names that are not the application's to use."""
    if not isinstance(headers, Mapping):
        raise ConfigError("headers", headers, "must be a dict of names and values, such as {'currency': 'EUR'}")
    for name in headers:
        if not isinstance(name, str):
            raise ConfigError("headers", name, "header names must be str")
        if name.startswith("~") and name not in SETTABLE:
            raise ConfigError("headers", name, "names that begin with '~' are reserved; choose another name")
        value = headers[name]
        if value is not None and not isinstance(value, _VALUES):
            raise ConfigError(f"headers[{name!r}]", value, "must be str, int, float, bool, bytes or None")


def with_headers(headers: Headers, payload: bytes) -> bytes:
    """One message with its header block. Raises ConfigError for headers that cannot be sent."""
    check_headers(headers)
    try:
        block = _encode(dict(headers))
    except (TypeError, OverflowError, UnicodeEncodeError, msgspec.MsgspecError) as error:
        remedy = f"values must be str, int, float, bool, bytes or None ({error})"
        raise ConfigError("headers", headers, remedy) from None
    if len(block) > HEADERS_BYTES_MAX:
        remedy = f"take {len(block)} bytes; at most {HEADERS_BYTES_MAX} are allowed, put the rest in the body"
        raise ConfigError("headers", headers, remedy)
    return len(block).to_bytes(2, "big") + block + payload


def joined(headers: Headers | None, own: Headers) -> dict[str, HeaderValue]:
    """An application's headers with some of ours."""
    if headers is None:
        return dict(own)
    check_headers(headers)
    return {**headers, **own}


def to_bytes(body: object) -> bytes:
    """An application's body as bytes, or an error that says what a body can be."""
    if isinstance(body, str):
        try:
            return body.encode()
        except UnicodeEncodeError as error:
            raise ConfigError("body", body, f"is not valid text ({error.reason}); send bytes") from None
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    remedy = f"must be bytes or str, not {type(body).__name__}; send json.dumps(...), or use causeway.kinds.encode"
    raise ConfigError("body", body, remedy)


def check_size(body: bytes) -> None:
    """Refuse what no broker would take."""
    if len(body) > MESSAGE_BYTES_MAX:
        remedy = f"has {len(body)} bytes with its headers; at most {MESSAGE_BYTES_MAX} are allowed"
        raise ConfigError("body", None, f"{remedy}, send a reference instead")


class Delivery(msgspec.Struct, gc=False, eq=False):
    """One message of a delivered lot; nothing is decoded before it is asked for."""

    _lot: Lot
    _index: int
    _handler: Any = None
    """Who handed it out and settles it; the driver's."""

    @property
    def body(self) -> bytes:
        """The payload."""
        lot = self._lot
        raw = lot.bodies[self._index]
        return split_headers(raw)[1] if lot.flags & _HEADERS else raw

    @property
    def text(self) -> str:
        """The payload as UTF-8 text."""
        return self.body.decode()

    @property
    def kind(self) -> str | None:
        """What the payload holds: text, bytes, map, stream or object; None if its sender did not say."""
        kind = self.all_headers().get(KIND)
        return None if kind is None else str(kind)

    def content(self, *, objects: bool = False) -> object:
        """The payload as its kind says: str, bytes, dict, list or (only with `objects`: reading one runs code of its
        sender) an object; bytes without a kind. Raises MessageFormatError."""
        kind = self.kind
        return self.body if kind is None else kinds.decode(kind, self.body, objects=objects)

    @property
    def headers(self) -> dict[str, HeaderValue]:
        """The application's headers (empty when there are none)."""
        return {name: value for name, value in self.all_headers().items() if not name.startswith("~")}

    def all_headers(self) -> dict[str, HeaderValue]:
        """Every header, Causeway's own included."""
        if not self._lot.flags & _HEADERS:
            return {}
        return split_headers(self._lot.bodies[self._index])[0]

    @property
    def source(self) -> str:
        """Who sent it."""
        published = self._lot.published
        return self._lot.source if published is None else published.source

    @property
    def topic(self) -> str | None:
        """The topic it was published on, in the form in which its subscriber wrote the pattern; None of a mailbox."""
        published = self._lot.published
        if published is None or not published.topic:
            return None
        show = getattr(self._handler, "show_topic", None)
        return published.topic if show is None else str(show(published.topic))

    @property
    def replayed(self) -> bool:
        """Whether it was handed out from a history, where nothing is settled."""
        return self._lot.seen is None and self._handler is not None

    @property
    def order(self) -> str | None:
        """`causal` if it was sent or published in causal order."""
        return "causal" if self._lot.causal else None

    @property
    def offset(self) -> int | None:
        """Its place among all messages of topics with its first level, for `subscribe(start=...)`; None if it was sent
        to a mailbox, or published as express or in causal order, which nobody keeps."""
        lot = self._lot
        if lot.published is None or lot.stream == ServiceClass.EXPRESS or lot.causal:
            return None
        return lot.published.number + lot.published.offset_of(self._index)

    @property
    def sent_at(self) -> float | None:
        """When the broker of its mailbox or topic took it, in seconds since 1970; None if that broker does not say."""
        at = self._lot.at if self._lot.published is None else self._lot.published.at
        return at / SECOND if at else None

    @property
    def expires_at(self) -> float | None:
        """When its time to live ends, in seconds since 1970; None for never."""
        return self._lot.expires / SECOND if self._lot.expires else None

    @property
    def reply_to(self) -> str | None:
        """The mailbox that waits for an answer; None if nobody does."""
        target = self.all_headers().get(REPLY_TO)
        return target if isinstance(target, str) else None

    @property
    def correlation_id(self) -> HeaderValue:
        """Which request it asks to be answered, or answers; None for neither."""
        return self.all_headers().get(CORRELATION)

    @property
    def mailbox(self) -> str:
        """Where it was read; of a subscription that has two, the first."""
        return self._lot.mailbox.removeprefix(TWIN_PREFIX)

    @property
    def id(self) -> str:
        """Identifies the message in the whole cluster; `causeway story ID` tells what happened to it."""
        return str(self.message_id)

    @property
    def message_id(self) -> MessageId:
        """The id in its parts."""
        lot = self._lot
        it = lot.published
        if it is not None:
            number = it.first + it.offset_of(self._index)
            if lot.causal:
                return MessageId(it.source, it.incarnation, SEATS, int(ServiceClass.TRANSACTIONAL), number)
            return MessageId(it.source, it.incarnation, item_of(it.topic), it.stream, number)
        return MessageId(lot.source, lot.incarnation, lot.mailbox, lot.stream, lot.first + self._index)

    @property
    def service(self) -> str:
        """The class it was sent with; `committed` inside a transaction."""
        return ServiceClass(self.stream).name.lower()

    @property
    def stream(self) -> int:
        """The class it was sent with, as a number."""
        published = self._lot.published
        return self._lot.stream if published is None else published.stream

    @property
    def priority(self) -> int:
        """0 to 9."""
        return self._lot.priority

    @property
    def deliveries(self) -> int:
        """How often it was given back before."""
        return self._lot.deliveries

    @property
    def redelivered(self) -> bool:
        """Whether an application may have seen it before."""
        return self._lot.deliveries > 0 or bool(self._lot.flags & _REDELIVERED)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} from {self.source!r}, {len(self._lot.bodies[self._index])} bytes>"
