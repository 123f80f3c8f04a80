"""What all parts of a bus share: who it is, how it names topics, and waiting for the answer to a question."""

from __future__ import annotations

from typing import Any

from causeway.client.aio import LoopEngine
from causeway.client.arguments import duration_of
from causeway.topics import Naming
from causeway.types import Duration


class BusBase:
    """One application's place on the bus."""

    def __init__(self, engine: LoopEngine, naming: Naming) -> None:
        self._engine = engine
        self._naming = naming

    @property
    def name(self) -> str:
        """The application."""
        return self._engine.session.name

    @property
    def id(self) -> str:
        """The application and this incarnation of it: the beginning of every message id it sends."""
        return f"{self.name}:{self._engine.session.incarnation:x}"

    def __repr__(self) -> str:
        home = self._engine.session.home
        where = "not open" if self._engine.over else f"at broker {home.name!r}" if home else "at no broker now"
        return f"<Bus of {self.name!r}, {where}>"

    @property
    def connected(self) -> bool:
        """Whether a broker takes sends at this moment."""
        return self._engine.over is None and self._engine.session.connected

    async def _answer(self, inquiry: Any) -> Any:
        engine = self._engine
        with engine.lock:
            engine.wake()
        await engine.wait_for(lambda: inquiry.done, inquiry)
        if inquiry.error is not None:
            raise inquiry.error
        return inquiry.result


def wait_of(timeout: float | None) -> Duration | None:
    """How long an application wants to wait; None as usual."""
    return None if timeout is None else duration_of("timeout", timeout)
