# Generated from client/_async/bus.py by tools/unasync.py: edit that file, then run `make generate`.
"""The bus as an application sees it: its life, transactions and requests; its other parts are beside it.

Owns: opening and closing. Sending is in `sending`, receiving in `receiving`, asking in `looking`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from causeway.client._sync.base import wait_of
from causeway.client._sync.consumer import Message
from causeway.client._sync.looking import BusLooking
from causeway.client._sync.reading import BusReading
from causeway.client._sync.receipt import Receipt
from causeway.client._sync.sending import BusSending
from causeway.client._sync.transaction import Transaction
from causeway.client.arguments import duration_of
from causeway.client.hosting import LEAVE_SECONDS
from causeway.client.leaving import origin
from causeway.client.message import CORRELATION, REPLY_TO, joined
from causeway.client.settings import SessionConfig
from causeway.client.threaded import ThreadEngine
from causeway.client.url import parse_url
from causeway.errors import (
    CausewayError,
    Code,
    ConfigError,
    DeadlineExceeded,
    LocalProtocolError,
    OutcomeUnknown,
    Refused,
)
from causeway.limits import MIB, REPLIES_UNREAD_MAX, REPLY_SECONDS_MAX
from causeway.topics import Naming
from causeway.wire.headers import Headers

LAKE_VARIABLE = "CAUSEWAY_LAKE"
"""Names the lake of applications that do not: any program can be traced without a change."""

END_SECONDS_MAX = 1.0
"""How long `close` waits for the mailboxes of its life to end; their brokers end them later by themselves."""


def connect(
    url: str,
    *,
    name: str,
    state: str | Path | None = None,
    timeout: float = 30.0,
    connect_timeout: float = 10.0,
    window_messages: int = 65_536,
    window_bytes: int = 16 * MIB,
    naming: str | Iterable[str] = (),
    roam: bool = True,
    lake: str | Path | None = None,
    life: int | None = None,
) -> Bus:
    """A bus for `with`.

    Args:
        url: causeway://host:port[,host:port...]; one address is enough, more help while brokers are down.
        name: the application, and its own mailbox.
        state: a directory for what exactly-once needs to survive a restart of this application (see `client.kept`);
            one application at a time may use it.
        timeout: seconds that sends, questions and commits may take when they do not say otherwise.
        connect_timeout: seconds until a broker must have answered.
        window_messages, window_bytes: bounds of what may be sent and unacknowledged.
        roam: move to another broker when that is clearly better; what survives failures does not depend on it.
        lake: folder of a trace lake, for the data pipeline: what this application sends, receives and acknowledges is
            written there (docs/lake.md). None: what the environment variable CAUSEWAY_LAKE says, usually nothing.
        life: a number, if you can repeat exactly what you sent: buses with the same name and life must send the same
            messages in the same order to each destination, and brokers take each message once.
        naming: templates of topics such as `roads/{road}/{kind}`, to write topics as tags: `road=a1, kind=speed`.

    Raises ConfigError for a wrong argument; nothing is connected before `with` or `open`.
    """
    if not isinstance(name, str):
        raise ConfigError("name", name, "must be str")
    config = SessionConfig(
        name=name,
        addresses=parse_url(url),
        timeout=duration_of("timeout", timeout),
        window_messages=window_messages,
        window_bytes=window_bytes,
        keep=state is not None,
        roam=roam,
        lake=str(os.environ.get(LAKE_VARIABLE, "") if lake is None else lake),
        life=life or 0,
    ).check()
    duration_of("connect_timeout", connect_timeout)
    for field, folder in (("state", state), ("lake", lake)):
        if not isinstance(folder, str | os.PathLike | None):
            raise ConfigError(field, folder, "must be the path of a folder, or None")
    given: object = naming
    templates: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for template in templates:
        if not isinstance(template, str):
            raise ConfigError("naming", template, "must be templates such as 'roads/{road}/{kind}'")
    return Bus(config, None if state is None else Path(state), connect_timeout, Naming(templates))


class Bus(BusSending, BusReading, BusLooking):
    """One application's connection to the cluster; survives the loss of brokers by itself."""

    _started = False

    def __init__(self, config: SessionConfig, state: Path | None, connect_timeout: float, naming: Naming) -> None:
        super().__init__(ThreadEngine(config, state, Message, Receipt), naming)
        self._connect_timeout = connect_timeout
        self._close_timeout = LEAVE_SECONDS
        self._started = False
        self._engine.began = origin()

    # Life ------------------------------------------------------------------------------------------------------
    def open(self) -> Bus:
        """Connect. Raises TransportError when no broker answers in time, StoreError when the state is unusable."""
        engine = self._engine
        if self._started:
            raise LocalProtocolError("the bus was opened before; connect again")
        self._started = True
        engine.start()
        try:
            connected = engine.until(lambda: engine.session.connected, self._connect_timeout)
            engine.check()
            if not connected:
                raise engine.unreachable()
        except BaseException:
            engine.stop()
            raise
        return self

    def close(self) -> None:
        """Wait a little for what is under way, then leave. What is unacknowledged then has failed.

        Raises the first failure of a send that nobody was told of, neither by its receipt nor by `flush`. With kept
        state what is merely unacknowledged is no failure: the next life sends it again. Leaving `with` by an
        exception raises only that.
        """
        error = self._leave()
        if error is not None:
            raise error

    def _leave(self) -> CausewayError | None:
        """Close; what to tell of sends that failed."""
        engine = self._engine
        if not self._started:
            return None
        for feed in list(self._feeds):
            feed.abandon()
        with engine.lock:
            engine.run_deferred()
            engine.wake()
        error: CausewayError | None = None
        unresolved = 0
        if engine.over is None:
            engine.until(lambda: engine.session.idle, self._close_timeout)
            self._end_private(END_SECONDS_MAX)
            error = engine.take_failure()
            unresolved = engine.session.unresolved
            with engine.lock:
                engine.session.close()
                engine.wake()
            engine.until(lambda: engine.session.error is not None, 1.0)
        engine.stop()
        left = engine.take_failure()
        return error or (engine.unacknowledged(unresolved) if left else None)

    def __del__(self) -> None:
        if self._started and self._engine.over is None:
            self._engine.abandon(self._close_timeout)

    def __enter__(self) -> Bus:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failure = self._leave()
        if failure is not None and error is None:
            raise failure

    # Transactions and requests ---------------------------------------------------------------------------------
    def transaction(self, *, timeout: float | None = None) -> Transaction:
        """`with bus.transaction() as tx:` sends and acknowledgements that happen together or not at all."""
        return Transaction(self._engine, wait_of(timeout), self._naming)

    def request(
        self,
        dest: str,
        body: bytes | str,
        *,
        timeout: float = 30.0,
        service: str = "recoverable",
        priority: int = 4,
        ttl: float | None = None,
        headers: Headers | None = None,
        order: str | None = None,
    ) -> Message:
        """Send and wait for the receiver's `message.reply`, which comes in the order of the request.

            answer = bus.request("adder", "20 22", timeout=10)

        Without a `ttl` the question lives as long as somebody waits for its answer: `timeout` seconds.

        Raises:
            DeadlineExceeded: no answer came in time; the receiver may have done its work all the same.
            Refused: a broker did not take the question.
            ConfigError: an argument is wrong; nothing was sent.
        """
        engine = self._engine
        duration_of("timeout", timeout)
        own = joined(headers, {REPLY_TO: engine.reply_mailbox})
        until = time.monotonic() + timeout
        self._await_replies(timeout)
        with engine.lock:
            engine.check()
            correlation, request = engine.ask()
        try:
            how = (service, True, priority, timeout if ttl is None else ttl, False, False, timeout, None, order)
            receipt = self._submit((dest, *how), body, {**own, CORRELATION: correlation})
            # The answer may come before the acknowledgement, and then that is as good as one.
            engine.hear(receipt.batch, receipt.index)
            left = max(0.0, until - time.monotonic())
            engine.wait_for(
                lambda: request.answer is not None or receipt.error is not None, request, receipt.batch, seconds=left
            )
            if request.answer is None:
                error = receipt.error
                over = ttl is None and isinstance(error, Refused | OutcomeUnknown) and error.code == Code.EXPIRED
                if error is not None and not over:
                    raise error
                raise DeadlineExceeded(f"{dest!r} did not reply to {receipt.id} within {timeout:g} s")
            assert isinstance(request.answer, Message)
            return request.answer
        finally:
            with engine.lock:
                engine.requests.pop(correlation, None)

    def _await_replies(self, timeout: float) -> None:
        """Until answers can come: only its reader begins a private mailbox. Once per bus; then it stays."""
        engine = self._engine
        with engine.lock:
            engine.check()
            replies = engine.replies
            if replies is None:
                replies = engine.replies = engine.session.attach(engine.reply_mailbox, REPLIES_UNREAD_MAX)
                engine.wake()
        if not engine.until(lambda: replies.served or replies.error is not None, timeout):
            raise DeadlineExceeded(f"no broker serves {replies.mailbox!r} within {timeout:g} s; nothing was asked")
        engine.check()
        if replies.error is not None:
            raise replies.error

    def send_answer(
        self, dest: str, body: bytes | str, headers: dict[str, Any], *, service: str, order: str | None
    ) -> None:
        """The other half of `request`; applications call `message.reply`."""
        # With a time to live: who asked may be gone, and nobody else ever reads its private mailbox.
        how = (service, True, 4, REPLY_SECONDS_MAX, False, False, None, None, order)
        self._submit((dest, *how), body, headers).wait()
