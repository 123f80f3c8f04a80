"""One TCP connection: bytes to frames to events, and all frames of a turn to one write.

Owns: framing, the write buffer's marks, orderly closing. Must not know: what any message means, which machine reads it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final, cast

from causeway.core.messages import Goodbye, Message
from causeway.errors import RemoteProtocolError
from causeway.limits import (
    CLOSE_SECONDS_MAX,
    KIB,
    WRITE_BUFFER_BYTES_HIGH,
    WRITE_BUFFER_BYTES_LOW,
    WRITE_BUFFER_BYTES_MAX,
)
from causeway.wire.codec import SHARED_BODY_BYTES_MAX, SHARED_COUNT_MAX, decode_frame, encode_head, in_frames
from causeway.wire.frame import FrameReader

if TYPE_CHECKING:
    from causeway.drivers.aio.machine import MachineDriver

JOIN_BYTES_MAX: Final = 64 * KIB
"""Up to here the parts are copied into one buffer; above, the loop gets the list. Joining everything cost a quarter of
the throughput with 8 KiB frames; where exactly the border lies made no measurable difference."""

WRITELINES_NEVER_PAUSES: Final = (3, 12) <= sys.version_info < (3, 12, 9) or (3, 13) <= sys.version_info < (3, 13, 2)
"""After `writelines` the asyncio of these releases does not look at the marks of the write buffer (CVE-2024-12254), so
that a peer which does not read would never be noticed. Later releases and uvloop do."""


class Connection(asyncio.Protocol):
    """Lives from the moment the system connects until `closed`; after that it only drains."""

    __slots__ = (
        "_bodies",
        "_cut",
        "_driver",
        "_heads",
        "_held",
        "_joins",
        "_parts",
        "_reader",
        "_size",
        "_transport",
        "clogged",
        "closed",
        "number",
        "touched",
    )

    def __init__(self, driver: MachineDriver, number: int) -> None:
        self.number = number
        self.touched = False
        """This turn has said something here; `flush` writes it."""
        self._heads: list[Message] = []
        self._bodies: list[bytes] = []
        self._held = 0
        """What it said, to share a frame, and the bytes of the bodies."""
        self._parts: list[bytes] = []
        self._size = 0
        """Frames behind each other, and their bytes."""
        self.clogged = False
        self.closed = False
        """Nothing of this connection reaches the machine any more."""
        self._driver = driver
        self._reader = FrameReader()
        self._joins = False
        """All parts go to one buffer, of whatever size."""
        self._transport: asyncio.Transport | None = None
        self._cut: asyncio.TimerHandle | None = None

    @property
    def remote(self) -> str:
        """The other end's address, for people."""
        address = self._transport.get_extra_info("peername") if self._transport else None
        return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "unknown"

    @property
    def remote_host(self) -> str:
        """The other end's address without its port, empty when it is not known."""
        address = self._transport.get_extra_info("peername") if self._transport else None
        return str(address[0]) if isinstance(address, tuple) else ""

    # From the event loop -----------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the marks of the write buffer and tell the driver. (Event loops switch off Nagle themselves.)"""
        transport = cast("asyncio.Transport", transport)
        self._transport = transport
        self._joins = WRITELINES_NEVER_PAUSES and type(transport).__module__.startswith("asyncio.")
        transport.set_write_buffer_limits(WRITE_BUFFER_BYTES_HIGH, WRITE_BUFFER_BYTES_LOW)
        if transport.get_extra_info("sockname") == transport.get_extra_info("peername"):
            # The system can connect a dialled port to itself when nobody listens there.
            self.closed = True
            transport.abort()
            self._driver.dial_failed(self.number, "nobody listens there")
            return
        self._driver.opened(self)

    def data_received(self, data: bytes) -> None:
        """Hand over every frame that is complete now."""
        if self.closed:
            return
        messages: list[tuple[Message, bytes]] = []
        try:
            for head, body in self._reader.feed(data):
                messages += decode_frame(head, body)
        except RemoteProtocolError as error:
            self._driver.broken(self, messages, error)
            return
        if messages:
            self._driver.arrived(self, messages)

    def pause_writing(self) -> None:
        """The write buffer passed its high mark."""
        if not self.clogged and not self.closed:
            self.clogged = True
            self._driver.clogged(self)

    def resume_writing(self) -> None:
        """The write buffer fell below its low mark."""
        if self.clogged and not self.closed:
            self.clogged = False
            self._driver.drained(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, by whoever's will."""
        if self._cut is not None:
            self._cut.cancel()
        reason = "closed by the other side" if exc is None else f"{type(exc).__name__}: {exc}"
        self._driver.lost(self, reason)

    # From the driver ---------------------------------------------------------------------------------------------
    def say(self, head: Message, body: bytes) -> None:
        """One more message of this turn."""
        held = self._held + len(body)
        if self._heads and (held > SHARED_BODY_BYTES_MAX or len(self._heads) >= SHARED_COUNT_MAX):
            self._seal()
            held = len(body)
        self._heads.append(head)
        self._bodies.append(body)
        self._held = held

    def _seal(self) -> None:
        """Put what was said so far in a frame, or in several when it is much."""
        heads, self._heads = self._heads, []
        bodies, self._bodies = self._bodies, []
        self._held = 0
        for first, rest, size in in_frames(heads, bodies):
            if not size:
                head, body = max(zip(heads, bodies, strict=True), key=_bytes_of)
                self._driver.oversized(self, head, body)
                return
            self._parts.append(first)
            if rest:
                self._parts.append(rest)
            self._size += size

    def flush(self) -> None:
        """Write what the turn said here, at once."""
        self.touched = False
        if self._heads:
            self._seal()
        parts, transport = self._parts, self._transport
        if not parts or transport is None:
            return
        self._parts = []
        if len(parts) == 1:
            transport.write(parts[0])
        elif self._joins or self._size <= JOIN_BYTES_MAX:
            transport.write(b"".join(parts))
        else:
            transport.writelines(parts)
        self._size = 0
        if self.clogged and transport.get_write_buffer_size() > WRITE_BUFFER_BYTES_MAX:
            self._driver.overgrown(self)

    def pause(self, *, paused: bool) -> None:
        """Stop or resume reading: the peer feels it through TCP."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.is_reading() != paused:
            return
        if paused:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def say_goodbye(self, error: RemoteProtocolError) -> None:
        """Tell the peer what it did wrong; the close follows."""
        self.say(Goodbye(int(error.code), error.detail), b"")

    def disown(self) -> None:
        """In a forked child: put nothing in place of our copy of the socket, so that whatever the event loop does to
        it never reaches the peer, and the peer sees it when the parent goes."""
        self.closed = True
        if self._transport is not None:
            descriptor = self._transport.get_extra_info("socket").fileno()
            with open(os.devnull, "rb") as nothing:
                if descriptor >= 0:
                    os.dup2(nothing.fileno(), descriptor, inheritable=False)

    def close(self) -> None:
        """Send what is buffered, then end. Cut if the peer does not take it in time.

        We end our direction first and throw away what still comes, because closing a socket with unread input makes
        the system reset the connection, and the peer might never read why it was closed.
        """
        transport = self._transport
        self.closed = True
        if transport is None or transport.is_closing():
            return
        self.flush()
        try:
            self.pause(paused=False)
            transport.write_eof()
        except (OSError, RuntimeError):
            # The peer is gone already; uvloop says so with a RuntimeError.
            transport.abort()
            return
        self._cut = asyncio.get_running_loop().call_later(CLOSE_SECONDS_MAX, transport.abort)

    def abort(self) -> None:
        """End now; what is buffered is lost."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()


def _bytes_of(message: tuple[Message, bytes]) -> int:
    return len(encode_head(message[0])) + len(message[1])
