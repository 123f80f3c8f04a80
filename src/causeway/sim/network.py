"""Connections between processes: what TCP promises, as late and as rudely as it may, and between brokers less.

Fault atlas, network part. Made here, because Causeway claims to survive it:
- latency per pair with jitter, slow links, connections that are reset or refused, dials that time out;
- partitions in one or both directions: frames are held, as TCP would resend them, and arrive when it heals, or the
  connection has broken meanwhile; with `backoff` they arrive later, each connection when its own timer ends, so that a
  new connection may be there before an old one has said its last;
- a process that dies with its machine says nothing: its peers learn it from silence, or from a reset when they
  send to its next life;
- a peer that stops reading: the sender's buffer fills, it is told Clogged and later Drained;
- lines of a bandwidth on which frames wait for each other (`bandwidth`);
- between brokers frames are also lost, doubled and overtaken inside a connection, which TCP never does. Exempt are
  the frames that open and end a connection (Hello, Welcome, Goodbye): whoever loses those loses the connection.
Client connections are FIFO and lossless until they break. Not made: frames that change on the way.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from causeway.core.effects import Dial, Send
from causeway.core.events import Clogged, Closed, Drained, DriverEvent, Opened, Received
from causeway.core.messages import Bypassed, Goodbye, Hello, Message, Welcome
from causeway.limits import WRITE_BUFFER_BYTES_HIGH
from causeway.sim.bandwidth import Lines, time_on_line
from causeway.sim.describe import Describer
from causeway.types import MILLISECOND, SECOND, Duration, Instant, key_of
from causeway.wire.codec import decode_head, encode_frame
from causeway.wire.frame import FrameReader

if TYPE_CHECKING:
    from causeway.sim.world import Process, World

FRAME_BYTES_EXTRA: Final = 64
"""What a head counts for in a buffer, roughly: only the order of magnitude matters."""

HANDSHAKE: Final = (Hello, Welcome, Goodbye)

END: Final = None
"""In a connection's queue: the other side has closed."""

Item = tuple[Message, bytes] | None


class Weather(msgspec.Struct, kw_only=True):
    """How bad the network is now; the nemesis changes it while the world runs."""

    latency: Duration = MILLISECOND
    """Each pair draws its base latency from 1/4 of this to this."""
    jitter: Duration = MILLISECOND // 2
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    """Probabilities per frame between brokers."""
    dial_timeout: Duration = SECOND
    backoff: bool = False
    """After a cut a connection stays silent for up to as long again."""
    buffer_bytes: int = WRITE_BUFFER_BYTES_HIGH
    bits_per_second: int = 0
    """Of every host's line to the others, in each direction; 0: frames take no time for their size."""


class End:
    """One end of a connection: what it sends travels to `peer`."""

    __slots__ = (
        "brokers",
        "clogged",
        "conn",
        "free_at",
        "held",
        "held_bytes",
        "open",
        "peer",
        "process",
        "reading",
        "unread",
        "up",
    )

    def __init__(self, process: Process, conn: int, *, brokers: bool) -> None:
        self.process = process
        self.conn = conn
        self.brokers = brokers
        self.peer: End | None = None
        self.open = True
        """Our process still has it."""
        self.up = False
        """Opened was reported."""
        self.reading = True
        self.free_at: Instant = 0
        """No frame of ours arrives before this: connections are FIFO."""
        self.held: deque[Item] = deque()
        """What we sent and a partition holds back, or our peer does not read."""
        self.held_bytes = 0
        self.clogged = False
        self.unread: deque[Item] = deque()
        """What arrived while we did not read."""


class Network:
    """All connections, and who can reach whom."""

    def __init__(self, rng: random.Random, weather: Weather, *, wire: bool = False) -> None:
        self.rng = rng
        self.weather = weather
        self.wire = wire
        """Encode and decode every frame, to prove that nothing depends on sharing objects."""
        self.frames = 0
        self.meter: Callable[[Process, Process, Message, int], None] | None = None
        """Told of every frame that is put on a connection: sender, receiver, head, bytes on the wire."""
        self.distance: Callable[[Process, Process], Duration] | None = None
        """How long frames travel from one process to another; without it every pair draws from the weather."""
        self._lines = Lines()
        self.describer = Describer()
        self.world: World
        self._listeners: dict[tuple[str, int], Process] = {}
        self._ends: dict[int, dict[int, End]] = {}
        self._inbound: dict[int, int] = {}
        self._base: dict[tuple[int, int], Duration] = {}
        self._slow: dict[tuple[int, int], int] = {}
        self._cut: dict[tuple[int, int], int] = {}
        self._cut_at: dict[tuple[int, int], Instant] = {}

    def attach(self, world: World) -> None:
        """Called once by the world."""
        self.world = world

    # What processes do -----------------------------------------------------------------------------------------
    def listen(self, process: Process, address: tuple[str, int]) -> None:
        """From now on dials to the address reach this process."""
        self._listeners[address] = process

    def abandon(self, address: tuple[str, int]) -> None:
        """Dials to the address are refused from now on."""
        self._listeners.pop(address, None)

    def dial(self, process: Process, dial: Dial) -> None:
        """Begin to open a connection."""
        assert dial.conn % 2 == 1, f"{process.name} dials with an even number {dial.conn}"
        ends = self._ends.setdefault(process.index, {})
        assert dial.conn not in ends, f"{process.name} dials {dial.conn} twice"
        target = self._listeners.get((dial.host, dial.port))
        end = End(process, dial.conn, brokers=target is not None and target.broker and process.broker)
        ends[dial.conn] = end
        if target is None:
            self.world.after(MILLISECOND, self._fail, end, "no such host")
        elif self.is_cut(process, target) or self.is_cut(target, process):
            self.world.after(self.weather.dial_timeout, self._fail, end, "timed out")
        else:
            self.world.after(self._latency(process, target), self._accept, end, target)

    def send(self, process: Process, sends: Sequence[Send]) -> None:
        """Put frames on connections; those of a connection that is gone are dropped."""
        ends = self._ends.get(process.index)
        if ends is None:
            return
        for send in sends:
            end = ends.get(send.conn)
            if end is None or end.peer is None:
                continue
            self.frames += 1
            head = send.head
            self._watch(process, end.peer.process, head)
            if self.meter is not None:
                self.meter(process, end.peer.process, head, len(encode_frame(head, send.body)))
            if self.wire:
                frame_head, body = FrameReader().feed(encode_frame(head, send.body))[0]
                self._transmit(end, (decode_head(frame_head), body))
            else:
                self._transmit(end, (head, send.body))

    def _watch(self, sender: Process, receiver: Process, head: Message) -> None:
        """Tell whoever wants to know of a frame; of one in an envelope when it leaves, as sent to its other end."""
        if type(head) is Bypassed:
            if head.origin != key_of(sender.name):
                return
            receiver = next(process for process in self.world.processes if key_of(process.name) == head.to)
            head = decode_head(head.head)
        for watch in self.world.watches.get(type(head), ()):
            watch(sender, receiver, head)

    def read(self, process: Process, conn: int, *, reading: bool) -> None:
        """Stop or go on handing frames of a connection to its process."""
        end = self._ends.get(process.index, {}).get(conn)
        if end is None or end.reading == reading:
            return
        end.reading = reading
        while end.reading and end.unread:
            item = end.unread.popleft()
            if end.peer is not None:
                self._unclog(end.peer, item)
            self._hand_over(end, item)

    def close(self, process: Process, conn: int) -> None:
        """Close after what was sent before."""
        end = self._forget(process, conn)
        if end is not None and end.peer is not None:
            self._transmit(end, END)

    def vanish(self, process: Process, *, noticed: bool) -> None:
        """A process died. If its machine lives on, it closes the connections; otherwise nobody is told."""
        ends = self._ends.pop(process.index, {})
        for end in ends.values():
            end.open = False
            if noticed and end.peer is not None:
                self._transmit(end, END)
            elif not noticed:
                end.held.clear()

    # What the nemesis does -------------------------------------------------------------------------------------
    def cut(self, source: Process, target: Process) -> None:
        """Frames from source to target no longer arrive. Cuts add up."""
        pair = (source.index, target.index)
        self._cut[pair] = self._cut.get(pair, 0) + 1
        self._cut_at.setdefault(pair, self.world.now)

    def heal(self, source: Process, target: Process) -> None:
        """One cut less; when it was the last, what was held travels on."""
        pair = (source.index, target.index)
        count = self._cut.pop(pair, 0) - 1
        if count > 0:
            self._cut[pair] = count
            return
        lasted = self.world.now - self._cut_at.pop(pair, self.world.now)
        for end in list(self._ends.get(source.index, {}).values()) + self._orphans(source, target):
            if end.peer is None or end.peer.process is not target:
                continue
            if end.held and self.weather.backoff:
                self.world.after(int(self.rng.random() * lasted), self._retransmit, end)
            else:
                self._flush(end)

    def is_cut(self, source: Process, target: Process) -> bool:
        """Whether frames from source to target are held."""
        return (source.index, target.index) in self._cut

    def slow(self, a: Process, b: Process, factor: int) -> None:
        """Multiply the latency between two processes (1: back to normal)."""
        for pair in ((a.index, b.index), (b.index, a.index)):
            if factor == 1:
                self._slow.pop(pair, None)
            else:
                self._slow[pair] = factor

    def connections(self) -> list[End]:
        """The dialling ends of all established connections, in a fixed order."""
        return [
            end
            for index in sorted(self._ends)
            for end in self._ends[index].values()
            if end.conn % 2 == 1 and end.up and end.peer is not None
        ]

    def other_end(self, process: Process, conn: int) -> Process | None:
        """Who is at the other end of a connection."""
        end = self._ends.get(process.index, {}).get(conn)
        return end.peer.process if end is not None and end.peer is not None else None

    def reset(self, end: End) -> None:
        """Both ends learn at once that the connection broke; what was on its way is lost."""
        for one in (end, end.peer):
            if one is not None and one.open:
                self._forget(one.process, one.conn)
                one.held.clear()
                one.process.deliver(Closed(one.conn, "reset"))

    # A connection's life ---------------------------------------------------------------------------------------
    def _accept(self, end: End, target: Process) -> None:
        if not end.open:
            return
        back = self._latency(target, end.process)
        if not target.alive:
            self.world.after(back, self._fail, end, "refused")
            return
        conn = self._inbound.get(target.index, 0) + 2
        self._inbound[target.index] = conn
        other = End(target, conn, brokers=end.brokers)
        self._ends.setdefault(target.index, {})[conn] = other
        end.peer, other.peer = other, end
        other.up = True
        other.free_at = self.world.now + back
        target.deliver(Opened(conn, end.process.address[0] if end.process.address is not None else ""))
        self.world.after(back, self._established, end)

    def _established(self, end: End) -> None:
        if end.open:
            end.up = True
            end.process.deliver(Opened(end.conn))

    def _fail(self, end: End, reason: str) -> None:
        if end.open:
            self._forget(end.process, end.conn)
            end.process.deliver(Closed(end.conn, reason))

    def _forget(self, process: Process, conn: int) -> End | None:
        end = self._ends.get(process.index, {}).pop(conn, None)
        if end is not None:
            end.open = False
            end.unread.clear()
        return end

    # A frame's way ---------------------------------------------------------------------------------------------
    def _transmit(self, end: End, item: Item) -> None:
        peer = end.peer
        assert peer is not None
        if end.held or (end.process.index, peer.process.index) in self._cut:
            end.held.append(item)
            self._clog(end, item)
            return
        now, weather = self.world.now, self.weather
        at = now + self._latency(end.process, peer.process)
        if end.brokers and item is not None and type(item[0]) not in HANDSHAKE:
            draw = self.rng.random()
            if draw < weather.loss:
                return
            draw -= weather.loss
            if draw < weather.duplicate:
                self.world.at(at + int(self.rng.random() * 4 * weather.latency), self._arrive, peer, item)
            elif draw - weather.duplicate < weather.reorder:
                late = max(at, end.free_at) + int(self.rng.random() * 4 * weather.latency)
                self.world.at(late, self._arrive, peer, item)
                return
        if weather.bits_per_second:
            self._queue_up(end, item, at - now)
            return
        at = max(at, end.free_at)
        end.free_at = at
        self.world.at(at, self._arrive, peer, item)

    def _queue_up(self, end: End, item: Item, latency: Duration) -> None:
        """A frame takes the line of its host, travels, and takes the line of its receiver."""
        duration = 0 if item is None else time_on_line(len(encode_frame(*item)), self.weather.bits_per_second)
        at = self._lines.leave(end.process.index, self.world.now, duration) + latency
        end.free_at = at = max(at, end.free_at)
        self.world.at(at, self._queue_down, end.peer, item, duration)

    def _queue_down(self, end: End, item: Item, duration: Duration) -> None:
        self.world.at(self._lines.enter(end.process.index, self.world.now, duration), self._arrive, end, item)

    def _arrive(self, end: End, item: Item) -> None:
        if not end.open:
            self._bounce(end)
        elif end.reading:
            self._hand_over(end, item)
        else:
            end.unread.append(item)
            if end.peer is not None:
                self._clog(end.peer, item)

    def _hand_over(self, end: End, item: Item) -> None:
        if item is None:
            self._forget(end.process, end.conn)
            end.process.deliver(Closed(end.conn, "closed by peer"))
        else:
            end.process.deliver(Received(end.conn, [item]))

    def _bounce(self, end: End) -> None:
        """A frame for a connection that our host knows nothing of: answered by a reset, if the host is up."""
        peer = end.peer
        if peer is not None and peer.open and end.process.alive and not self.is_cut(end.process, peer.process):
            self.world.after(self._latency(end.process, peer.process), self._fail, peer, "reset")

    def _flush(self, end: End) -> None:
        held, end.held = end.held, deque()
        for item in held:
            self._transmit(end, item)
            self._unclog(end, item)

    def _retransmit(self, end: End) -> None:
        if end.peer is not None and not self.is_cut(end.process, end.peer.process):
            self._flush(end)

    def _clog(self, end: End, item: Item) -> None:
        end.held_bytes += FRAME_BYTES_EXTRA + (len(item[1]) if item is not None else 0)
        if not end.clogged and end.held_bytes > self.weather.buffer_bytes and end.open:
            end.clogged = True
            end.process.deliver(Clogged(end.conn))

    def _unclog(self, end: End, item: Item) -> None:
        end.held_bytes -= FRAME_BYTES_EXTRA + (len(item[1]) if item is not None else 0)
        if end.clogged and end.held_bytes <= self.weather.buffer_bytes // 4:
            end.clogged = False
            if end.open:
                end.process.deliver(Drained(end.conn))

    def _orphans(self, source: Process, target: Process) -> list[End]:
        """Ends of the source that are gone but whose last frames are still held, found from the other side."""
        return [
            end.peer
            for end in self._ends.get(target.index, {}).values()
            if end.peer is not None and end.peer.process is source and not end.peer.open and end.peer.held
        ]

    def _latency(self, source: Process, target: Process) -> Duration:
        pair = (source.index, target.index)
        base = self._base.get(pair) if self.distance is None else self.distance(source, target)
        if base is None:
            most = self.weather.latency
            base = most // 4 + int(self.rng.random() * (most - most // 4))
            self._base[pair] = self._base[(pair[1], pair[0])] = base
        latency = base + int(self.rng.random() * self.weather.jitter)
        factor = self._slow.get(pair)
        return latency if factor is None else latency * factor

    # For people ------------------------------------------------------------------------------------------------
    def describe(self, process: Process, event: DriverEvent) -> str:
        """One line of the log."""
        conn = getattr(event, "conn", None)
        end = self._ends.get(process.index, {}).get(conn) if isinstance(conn, int) else None
        source = end.peer.process.name if end is not None and end.peer is not None else "nobody"
        if isinstance(event, Received):
            [(head, body)] = event.messages
            return f"{source} #{event.conn} {self.describer(head)} +{len(body)}"
        return f"{source} {self.describer(event)}"
