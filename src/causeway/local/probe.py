"""One short conversation with one broker: what is its status, what does it know of a message, where should a client go;
and the wish that this very broker joins a domain, or goes on from its copy of a mailbox.

Owns: the handshake of a connection that only asks. Must not know: how an answer is shown. Sending and receiving go
through `causeway.client`; this asks brokers one by one, on purpose, also those that do not serve yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Final, TypeVar

import msgspec

from causeway.client.pages import StatusPages
from causeway.core.messages import (
    PROTOCOL_VERSION,
    DomainJoined,
    Goodbye,
    Hello,
    JoinDomain,
    Locate,
    Located,
    Message,
    Ping,
    PolicyTaken,
    Pong,
    ProposePolicy,
    Salvage,
    Salvaged,
    StatusReply,
    StatusRequest,
    StoryReply,
    StoryRequest,
    Welcome,
)
from causeway.core.placing import PlannedItems
from causeway.errors import CausewayError, Code, DeadlineExceeded, Refused, RemoteProtocolError, TransportError
from causeway.trace import TraceRecord
from causeway.types import Duration, Peer
from causeway.wire.codec import decode_frame, encode_frame
from causeway.wire.frame import FrameReader

PROBE_SECONDS_MAX: Final = 3.0
LISTENS_SECONDS_MAX: Final = 1.0
ROUND_TRIPS: Final = 3
_READ_BYTES: Final = 65_536
T = TypeVar("T")

_RUNNING: Final = "; is it running there?"
_SILENT: Final = f": nobody listens there{_RUNNING}"


class Probe:
    """`async with Probe(host, port) as probe: await probe.status()`."""

    def __init__(self, host: str, port: int, seconds_max: float = PROBE_SECONDS_MAX) -> None:
        self.address = f"{host}:{port}"
        self._host, self._port, self._seconds_max = host, port, seconds_max
        self._frames = FrameReader()
        self._arrived: list[tuple[Message, bytes]] = []
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self.peer: Peer
        self.others: tuple[Peer, ...] = ()

    async def __aenter__(self) -> Probe:
        try:
            async with asyncio.timeout(self._seconds_max):
                self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        except TimeoutError as error:
            raise DeadlineExceeded(f"broker {self.address} did not answer; is the address right?") from error
        except OSError as error:
            refused = isinstance(error, ConnectionRefusedError)
            reason = _SILENT if refused else f": {error.strerror or error}{_RUNNING}"
            raise TransportError(f"broker {self.address}{reason}") from error
        try:
            hello = Hello(PROTOCOL_VERSION, "causeway-probe", secrets.randbits(62))
            welcome, _body = await self._ask(hello, Welcome)
        except BaseException:
            await self._close()
            raise
        assert isinstance(welcome, Welcome)
        self.peer, self.others = welcome.peer, welcome.others
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def status(self, *, whole: bool = True) -> dict[str, Any]:
        """The broker's own statistics; not `whole`: only what one answer holds (the directory's group is in it)."""
        pages = StatusPages()
        complete = False
        while not complete:
            _reply, body = await self._ask(StatusRequest(1, pages.after), StatusReply)
            complete = pages.add(body) or not whole
        return pages.report

    async def story(self, request: StoryRequest) -> list[TraceRecord]:
        """What the broker remembers of a message."""
        _reply, body = await self._ask(request, StoryReply)
        try:
            return msgspec.msgpack.decode(body, type=list[TraceRecord])
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(Code.BAD_FRAME, f"story of {self.address} is not a trace: {error}") from error

    async def locate(self) -> Located:
        """Where the broker would send us."""
        located, _body = await self._ask(Locate(1), Located)
        assert isinstance(located, Located)
        return located

    async def round_trip(self) -> Duration:
        """The shortest of a few round trips."""
        trips: list[Duration] = []
        for nonce in range(1, ROUND_TRIPS + 1):
            begun = time.perf_counter_ns()
            await self._ask(Ping(nonce), Pong)
            trips.append(time.perf_counter_ns() - begun)
        return min(trips)

    async def join(self, domain: str) -> tuple[str, ...]:
        """Let the broker take a seat in one more domain: all its domains. Raises Refused, naming what is in the way."""
        joined, _body = await self._ask(JoinDomain(1, domain), DomainJoined)
        assert isinstance(joined, DomainJoined)
        if joined.code:
            raise Refused(_known(joined.code), joined.detail)
        return joined.domains

    async def propose(self, domain: str, plan: PlannedItems) -> int:
        """Let the broker, which must be the landmark of a domain, take a policy for its items; the policy's version."""
        taken, _body = await self._ask(ProposePolicy(1, domain), PolicyTaken, msgspec.msgpack.encode(plan))
        assert isinstance(taken, PolicyTaken)
        if taken.code:
            raise Refused(_known(taken.code), taken.detail)
        return taken.version

    async def salvage(self, mailbox: str, epoch: int, seq: int) -> int:
        """Let a mailbox go on from this broker's copy, which stands there: its new epoch. Raises Refused."""
        done, _body = await self._ask(Salvage(1, mailbox, epoch, seq), Salvaged)
        assert isinstance(done, Salvaged)
        if done.code:
            raise Refused(_known(done.code), done.detail)
        return done.epoch

    async def _close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _ask(self, request: Message, wanted: type[Message], body: bytes = b"") -> tuple[Message, bytes]:
        try:
            async with asyncio.timeout(self._seconds_max):
                self._writer.write(encode_frame(request, body))
                while True:
                    head, body = await self._next()
                    if isinstance(head, wanted):
                        return head, body
                    if isinstance(head, Goodbye):
                        raise Refused(_known(head.code), f"{head.detail} (said by {self.address})")
                    if isinstance(head, Ping):
                        self._writer.write(encode_frame(Pong(head.nonce)))
        except TimeoutError as error:
            asked = type(request).__name__
            raise DeadlineExceeded(f"broker {self.address} gave no answer to {asked}; is it overloaded?") from error
        except OSError as error:
            raise TransportError(f"broker {self.address}: connection lost ({error}); try again") from error

    async def _next(self) -> tuple[Message, bytes]:
        while not self._arrived:
            data = await self._reader.read(_READ_BYTES)
            if not data:
                raise TransportError(f"broker {self.address} closed the connection; is it a Causeway broker?")
            for head, body in self._frames.feed(data):
                self._arrived.extend(decode_frame(head, body))
        return self._arrived.pop(0)


async def first_answer(
    addresses: Iterable[tuple[str, int]],
    ask: Callable[[Probe], Awaitable[T]],
    seconds_max: float = PROBE_SECONDS_MAX,
) -> T:
    """What the first broker says that can be reached, and no other one: also its refusal, and its silence, is final."""
    reasons: list[str] = []
    for host, port in addresses:
        async with contextlib.AsyncExitStack() as stack:
            try:
                probe = await stack.enter_async_context(Probe(host, port, seconds_max))
            except CausewayError as error:
                reasons.append(str(error))
                continue
            return await ask(probe)
    raise nobody_answered(reasons)


async def nobody_listens(addresses: Iterable[tuple[str, int]]) -> bool:
    """Whether the system itself says of each address that nobody listens there. Who is only slow may be there."""

    async def refused(host: str, port: int) -> bool:
        try:
            async with asyncio.timeout(LISTENS_SECONDS_MAX):
                _reader, writer = await asyncio.open_connection(host, port)
        except ConnectionRefusedError:
            return True
        except (OSError, ValueError):
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return False

    return all(await asyncio.gather(*(refused(*address) for address in addresses)))


def nobody_answered(reasons: Iterable[str]) -> TransportError:
    """None of the brokers that were named could be asked; addresses at which nobody listens are named together."""
    told = list(reasons)
    silent = [reason.removesuffix(_SILENT).removeprefix("broker ") for reason in told if reason.endswith(_SILENT)]
    said = [f"nobody listens at {', '.join(silent)}"] if silent else []
    said += [reason.removesuffix(_RUNNING) for reason in told if not reason.endswith(_SILENT)]
    why = "; ".join(said)
    return TransportError(f"no broker answered ({why}); is the cluster running? 'causeway up' starts a local one")


def _known(code: int) -> Code:
    try:
        return Code(code)
    except ValueError:
        return Code.UNAVAILABLE
