"""What a session needs to know: names, addresses, bounds and waits, each with its unit and reason."""

from __future__ import annotations

import msgspec

from causeway.errors import ConfigError
from causeway.limits import MIB
from causeway.names import check_application
from causeway.types import MILLISECOND, SECOND, Duration

Address = tuple[str, int]
"""Host and port of a broker."""


PREFETCH = 1_024
"""Messages that a consumer which did not say how many holds unsettled."""

PREFETCH_FIRST = 16
"""The same at first, before it had to wait for more: of many who share a mailbox none takes everything before the
others are there."""

LIFE_MAX = (1 << 53) - 1
"""Greatest incarnation: it survives every JSON reader."""


class SessionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one application's session."""

    name: str
    """The application; also the name of its own mailbox."""
    addresses: tuple[Address, ...]
    """Brokers to begin with; any one that answers is enough."""
    window_messages: int = 65_536
    window_bytes: int = 16 * MIB
    """Messages sent but not yet acknowledged; above either bound sending waits. Below the brokers' own bound
    (limits.OUTBOX_BYTES_PER_CLIENT_MAX), so that a client is slowed down here, where it can be told."""
    timeout: Duration = 30 * SECOND
    """How long a send or a question may take when the call does not say."""
    heartbeat: Duration = 1 * SECOND
    """A link that was silent so long is asked for a sign of life."""
    silence: Duration = 3 * SECOND
    """A link that was silent so long is given up."""
    greeting: Duration = 1 * SECOND
    """Dialling and greeting together; a broker that needs longer is passed over."""
    retry_min: Duration = 50 * MILLISECOND
    retry_max: Duration = 1 * SECOND
    """Waits between attempts double from the first to the second, each drawn between its half and its whole."""
    repeat_after: Duration = 5 * SECOND
    """An unanswered request is repeated so often on a living link; all of them are safe to repeat."""
    roam: bool = True
    """Move to another broker when that is clearly better (see `roaming`). Not needed to survive failures."""
    locate_every: Duration = 30 * SECOND
    """How often a broker is asked where we should be, give or take a quarter: what changes slowly is seen soon enough,
    and ten thousand clients cost a broker some hundred small questions a second."""
    move_pause: Duration = 30 * SECOND
    """No two moves on offers within this: loads must be told around before they are acted on again."""
    life: int = 0
    """The incarnation, if the application repeats exactly what it sent in this very life; 0 to draw one."""
    keep: bool = False
    """Keep what exactly-once needs in the driver's store (see `kept`)."""
    lake: str = ""
    """Folder of the trace lake into which this application's events are written (docs/lake.md); empty for none."""

    def check(self) -> SessionConfig:
        """Return self, or raise a ConfigError that names the first wrong field."""
        check_application("name", self.name)
        if not self.addresses:
            raise ConfigError("addresses", self.addresses, "give at least one broker's host and port")
        if type(self.life) is not int or not 0 <= self.life <= LIFE_MAX:
            raise ConfigError("life", self.life, f"must be a whole number of at most {LIFE_MAX}; 0 or None to draw one")
        if self.life and self.keep:
            raise ConfigError("life", self.life, "is in the kept state already; leave out one of the two")
        for name in ("window_messages", "window_bytes"):
            bound = getattr(self, name)
            if type(bound) is not int or bound < 1:
                raise ConfigError(name, bound, "must be a whole number of at least 1")
        if self.timeout <= 0:
            raise ConfigError("timeout", self.timeout, "must be more than 0")
        if self.silence < 2 * self.heartbeat:
            raise ConfigError("silence", self.silence, "must be at least twice the heartbeat")
        for name in ("locate_every", "move_pause"):
            if getattr(self, name) < MILLISECOND:
                raise ConfigError(name, getattr(self, name), "is in nanoseconds and must be at least 1 ms")
        return self
