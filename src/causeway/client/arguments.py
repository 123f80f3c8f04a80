"""What comes from outside: numbers and names given by applications (errors name the remedy), codes of brokers."""

from __future__ import annotations

from typing import Final

from causeway.client.message import SERVICES
from causeway.errors import Code, ConfigError
from causeway.limits import TTL_NS_MAX
from causeway.selectors import parse
from causeway.types import SECOND, Duration, ServiceClass

SECONDS_MAX: Final = 1_000_000_000
"""Some 31 years: longer than anything here, and far below what an instant can hold."""

CAUSAL: Final = "causal"
"""The one order an application can ask for."""

_NOT_CAUSAL: Final = {
    "priority": "nothing overtakes in causal order, so all priorities are 4",
    "delay": "what is held back would be overtaken, and causal order does not allow that",
    "confirm": "seats pass on what arrived, not what was read, so there are no delivery confirmations in causal order",
    "retain": "what is retained comes late by its nature, which causal order does not allow",
}
"""Why each of these is refused."""

_CODES: Final = frozenset(int(code) for code in Code)


def duration_of(field: str, seconds: object) -> Duration:
    """Seconds as a duration."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ConfigError(field, seconds, "must be a number of seconds")
    if not 0 < seconds <= SECONDS_MAX:
        raise ConfigError(field, seconds, f"must be more than 0 and at most {SECONDS_MAX} seconds")
    return max(1, round(seconds * SECOND))


def check_wait(timeout: object) -> None:
    """Raise a ConfigError unless an application can wait so long: 0 for what is there now, None for no limit here."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise ConfigError("timeout", timeout, "must be a number of seconds, or None")
    if not 0 <= timeout <= SECONDS_MAX:
        raise ConfigError("timeout", timeout, f"must lie in 0..{SECONDS_MAX} seconds, or be None")


def check_limit(limit: object) -> None:
    """Raise a ConfigError unless an application can ask for so many messages."""
    if type(limit) is not int or limit < 1:
        raise ConfigError("limit", limit, "must be a whole number of at least 1")


def check_priority(priority: object) -> None:
    """Raise a ConfigError unless it is one of the ten priorities."""
    if type(priority) is not int or not 0 <= priority <= 9:
        raise ConfigError("priority", priority, "must be a whole number from 0 (lowest) to 9 (highest)")


def check_times(ttl: Duration, timeout: Duration | None, delay: Duration = 0) -> None:
    """Raise a ConfigError unless a message can live and be waited for so long (0: for ever; None: as usual), and be
    held back so long (0: not at all)."""
    if not 0 <= ttl <= TTL_NS_MAX:
        raise ConfigError("ttl", ttl / SECOND, f"must be at most {TTL_NS_MAX // SECOND} seconds, or None for ever")
    if timeout is not None and timeout <= 0:
        raise ConfigError("timeout", timeout, "must be more than 0")
    if not 0 <= delay <= TTL_NS_MAX:
        raise ConfigError("delay", delay / SECOND, f"must be at most {TTL_NS_MAX // SECOND} seconds, or None for none")
    if ttl and delay >= ttl:
        remedy = f"nobody would ever get it: must be less than its time to live, {ttl / SECOND:g} seconds"
        raise ConfigError("delay", delay / SECOND, remedy)


def check_order(order: object) -> bool:
    """Whether it is causal order that is asked for. Raises ConfigError."""
    if order not in (None, CAUSAL):
        raise ConfigError("order", order, f"must be {CAUSAL!r}, or None for the order of each class")
    return order == CAUSAL


def check_no_order(order: object) -> None:
    """Inside a transaction. Raises ConfigError."""
    if order is not None:
        remedy = "a transaction's messages arrive when it is decided, in no causal order; leave it out, or send outside"
        raise ConfigError("order", order, remedy)


def check_causal(priority: object, delay: Duration, *, confirm: bool = False, retain: bool = False) -> None:
    """Raise a ConfigError for what would break causal order, or has no meaning in it."""
    for field, value, usual in (
        ("priority", priority, 4),
        ("delay", delay, 0),
        ("confirm", confirm, False),
        ("retain", retain, False),
    ):
        if value != usual:
            raise ConfigError(field, value, f"{_NOT_CAUSAL[field]}; leave it out, or send without order={CAUSAL!r}")


def check_selector(selector: object) -> str:
    """A selector's text (None: empty), or what is wrong with it, and where: better here and now than at a broker."""
    if selector is None:
        return ""
    if not isinstance(selector, str):
        raise ConfigError("selector", selector, "must be str")
    parse(selector)
    return selector


def service_of(name: object) -> ServiceClass:
    """A service class by its name."""
    service = SERVICES.get(name) if isinstance(name, str) else None
    if service is None:
        raise ConfigError("service", name, f"must be one of {', '.join(SERVICES)}")
    return service


def code_of(number: int, otherwise: Code) -> Code:
    """A broker's code; a broker of a later release may know more of them."""
    return Code(number) if number in _CODES else otherwise
