"""A cluster of real brokers for tests: processes on free ports, killed, paused and restarted at will.

Owns: the processes it started and their directory. Every call has a bound; nothing is left behind by `stop`.

    with LocalCluster(brokers=3) as cluster:               # or: async with
        bus = causeway.connect(cluster.url, name="test")
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec

from causeway.core.messages import PROTOCOL_VERSION, Hello, Message, StatusReply, StatusRequest, Welcome
from causeway.errors import CausewayError, ConfigError, DeadlineExceeded, TransportError
from causeway.wire.codec import decode_head, encode_frame
from causeway.wire.frame import FrameReader

HOST: Final = "127.0.0.1"
START_SECONDS_MAX: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0
ASK_SECONDS_MAX: Final = 2.0
POLL_SECONDS: Final = 0.02


class LocalBroker:
    """One broker of a LocalCluster."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.paused = False
        self._directory = directory

    @property
    def running(self) -> bool:
        """Whether its process lives (paused or not)."""
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> Path:
        """What it wrote."""
        return self._directory / f"{self.name}.log"

    def start(self, options: list[str]) -> None:
        """Start the process; `wait_bound` says when it listens."""
        command = [sys.executable, "-P", "-m", "causeway", "broker", "--json", "--name", self.name]
        command += ["--host", HOST, "--port", str(self.port), *options]
        with self._out.open("wb") as out, self.log.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal is the test's to handle.
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True
            )
        self.paused = False

    def wait_bound(self, deadline: float) -> None:
        """Until it has said on which port it listens. Raises with the end of its log."""
        while True:
            line, newline, _ = self._out.read_bytes().partition(b"\n")
            if newline:
                said = msgspec.json.decode(line, type=dict[str, Any])
                if said.get("event") == "ready":
                    self.port = int(said["port"])
                    return
            if not self.running:
                raise TransportError(f"broker {self.name} ended at once: {self._last_words()}")
            if time.monotonic() > deadline:
                raise DeadlineExceeded(f"broker {self.name} does not listen: {self._last_words()}")
            time.sleep(POLL_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to our own child."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, as a power failure would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        self.paused = False

    def ask(self, request: Message, wanted: type[Message]) -> tuple[Message, bytes]:
        """One question over a connection of its own. Raises OSError or CausewayError."""
        with socket.create_connection((HOST, self.port), timeout=ASK_SECONDS_MAX) as connection:
            connection.sendall(encode_frame(Hello(PROTOCOL_VERSION, "local-cluster", 1)) + encode_frame(request))
            reader = FrameReader()
            while data := connection.recv(65_536):
                for head, body in reader.feed(data):
                    message = decode_head(head)
                    if isinstance(message, wanted):
                        return message, body
        raise TransportError(f"broker {self.name} closed the connection")

    @property
    def _out(self) -> Path:
        return self._directory / f"{self.name}.out"

    def _last_words(self) -> str:
        lines = (*self._out.read_text().splitlines(), *self.log.read_text().splitlines())
        return " | ".join(lines[-3:]) or "it said nothing"


class LocalCluster:
    """Real broker processes on this machine, for `with` or `async with`.

    Args:
        brokers: how many.
        durability: "memory" (fast) or "disk" (acknowledged messages survive SIGKILL of every broker).
        copies: K, brokers that hold a mailbox.
        data: a directory to keep; None for a temporary one that `stop` removes.
    """

    def __init__(
        self, brokers: int = 3, *, durability: str = "memory", copies: int = 3, data: str | Path | None = None
    ) -> None:
        if type(brokers) is not int or not 1 <= brokers <= 64:
            raise ConfigError("brokers", brokers, "must lie in 1..64")
        if durability not in ("memory", "disk"):
            raise ConfigError("durability", durability, "must be 'memory' or 'disk'")
        self._durability = durability
        self._copies = copies
        self._temporary = data is None
        self._directory = Path(tempfile.mkdtemp(prefix="causeway-")) if data is None else Path(data)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._formed = False
        self.brokers = [LocalBroker(f"b{number}", self._directory) for number in range(1, brokers + 1)]

    @property
    def url(self) -> str:
        """How clients reach it; names every broker."""
        return "causeway://" + ",".join(f"{HOST}:{broker.port}" for broker in self.brokers if broker.port)

    # Life ------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start every broker and wait until all have joined. Raises with a broker's last words."""
        deadline = time.monotonic() + START_SECONDS_MAX
        try:
            for broker in self.brokers:
                broker.start(self._options(broker))
                broker.wait_bound(deadline)
            self.wait_settled(deadline - time.monotonic())
            self._formed = True
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every broker (SIGKILL after a while) and remove what is temporary; idempotent."""
        for broker in self.brokers:
            broker.signal(signal.SIGCONT)
            broker.signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS_MAX
        while any(broker.running for broker in self.brokers) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        for broker in self.brokers:
            broker.kill()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def wait_settled(self, seconds_max: float = START_SECONDS_MAX) -> None:
        """Until every running broker has joined and knows all others. Raises DeadlineExceeded."""
        deadline = time.monotonic() + seconds_max
        waiting = [broker for broker in self.brokers if broker.running]
        expected = len(waiting) - 1
        while waiting:
            broker = waiting[0]
            if not broker.running:
                raise TransportError(f"broker {broker.name} has ended; see {broker.log}")
            if self._has_joined(broker, expected):
                waiting.pop(0)
            elif time.monotonic() > deadline:
                raise DeadlineExceeded(f"broker {broker.name} did not join in time; see {broker.log}")
            else:
                time.sleep(POLL_SECONDS)

    # Trouble ---------------------------------------------------------------------------------------------------
    def kill(self, index: int) -> None:
        """SIGKILL one broker."""
        self.brokers[index].kill()

    def restart(self, index: int) -> None:
        """Start a killed broker again, on its port and with its data; returns when it has joined."""
        broker = self.brokers[index]
        if broker.running:
            raise ConfigError("index", index, "is running; kill it first")
        deadline = time.monotonic() + START_SECONDS_MAX
        broker.start(self._options(broker))
        broker.wait_bound(deadline)
        self.wait_settled(deadline - time.monotonic())

    def restart_all(self) -> None:
        """Start every killed broker again; returns when all have joined."""
        deadline = time.monotonic() + START_SECONDS_MAX
        missing = [broker for broker in self.brokers if not broker.running]
        for broker in missing:
            broker.start(self._options(broker))
        for broker in missing:
            broker.wait_bound(deadline)
        self.wait_settled(deadline - time.monotonic())

    def pause(self, index: int) -> None:
        """Freeze one broker (SIGSTOP): it keeps its connections and says nothing."""
        self.brokers[index].signal(signal.SIGSTOP)
        self.brokers[index].paused = True

    def resume(self, index: int) -> None:
        """Let a frozen broker go on."""
        self.brokers[index].signal(signal.SIGCONT)
        self.brokers[index].paused = False

    def status(self, index: int) -> dict[str, Any]:
        """What one broker says about itself."""
        _, body = self.brokers[index].ask(StatusRequest(1), StatusReply)
        return msgspec.json.decode(body, type=dict[str, Any])

    def _options(self, broker: LocalBroker) -> list[str]:
        options = ["--durability", self._durability, "--copies", str(self._copies)]
        if self._durability == "disk":
            options += ["--data", str(self._directory / broker.name)]
        for other in self.brokers:
            if other is not broker and other.port:
                options += ["--seed", f"{HOST}:{other.port}"]
        if broker is self.brokers[0] and not self._formed:
            options.append("--founder")
        return options

    def _has_joined(self, broker: LocalBroker, peers: int) -> bool:
        try:
            welcome, _ = broker.ask(StatusRequest(1), Welcome)
        except (OSError, CausewayError):
            return False
        assert isinstance(welcome, Welcome)
        return welcome.ready and len(welcome.others) >= peers

    # Context managers ------------------------------------------------------------------------------------------
    def __enter__(self) -> LocalCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> LocalCluster:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)
