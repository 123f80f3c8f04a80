"""Names of applications and mailboxes: what is allowed, and which names say more than who is meant."""

from __future__ import annotations

import re
from typing import Final

from causeway.errors import ConfigError
from causeway.limits import NAME_BYTES_MAX
from causeway.types import SEAT_PREFIX, SHARD_PREFIX, TWIN_PREFIX

PRIVATE: Final = "~"
"""Reserved in names. Followed by 16 hex digits it ends the name of a mailbox of one life of one application, which ends
some time after it; people do not write so many digits by accident."""

RESERVED_PREFIX: Final = "causeway/"
"""Names that begin with it are the brokers' own groups, never mailboxes."""

MAP_NAME: Final = "causeway/domains"
"""The group that knows all seats, their domains, and who takes part where."""

AGENTS_PREFIX: Final = "causeway/agents/"
"""Groups named so are those of the agents of a domain; who owns one is the domain's landmark."""

SEATS: Final = SEAT_PREFIX.removesuffix("/")
"""In the id of a message in causal order, where others name their destination: its sender has one stream for all it
sends so, whatever its seat."""

DURABLE_PREFIX: Final = "sub/"
SHARED_PREFIX: Final = "shared/"
HISTORY_PREFIX: Final = "history/"
"""Names that begin so are those of subscriptions: of one application (`sub/APPLICATION/NAME`), of whoever shares them,
of nobody. Only what is published gets there."""


def check_name(field: str, value: str) -> str:
    """Return a mailbox or application name, or say what is wrong with it."""
    if not isinstance(value, str):
        raise ConfigError(field, value, "must be str")
    size = len(value.encode("utf-8", "surrogatepass"))
    if not value:
        raise ConfigError(field, value, "must not be empty; give 1 to 255 bytes of UTF-8")
    if size > NAME_BYTES_MAX:
        raise ConfigError(field, value, f"has {size} bytes; at most {NAME_BYTES_MAX} are allowed")
    if not value.isprintable():
        raise ConfigError(field, value, "has unprintable characters; use printable UTF-8")
    if value[0] == " " or value[-1] == " ":
        raise ConfigError(field, value, "begins or ends with a space; leave it out")
    return value


_WILD_LEVEL: Final = re.compile(r"(?:^|/)([*#+>])(?:/|$)")


def _check_exact(field: str, value: str) -> None:
    """Who writes a wildcard, ours or one of MQTT or NATS, means topics; as the name of a mailbox it would be text."""
    if found := _WILD_LEVEL.search(value):
        remedy = f"a mailbox has an exact name, without the wildcard {found[1]!r}; did you mean subscribe or publish?"
        raise ConfigError(field, value, remedy)


def check_application(field: str, value: str) -> str:
    """As `check_name`, and no mailbox of this name ends with one life of an application."""
    check_name(field, value)
    _check_exact(field, value)
    if PRIVATE in value:
        raise ConfigError(field, value, f"{PRIVATE!r} is reserved for private mailboxes; choose a name without it")
    for prefix in (RESERVED_PREFIX, DURABLE_PREFIX, SHARED_PREFIX, HISTORY_PREFIX, TWIN_PREFIX):
        if value.startswith(prefix):
            raise ConfigError(field, value, f"names that begin with {prefix!r} are reserved; choose another one")
    return value


def check_mailbox(field: str, value: str) -> str:
    """As `check_name`, and the name is not one of the brokers' own, not private by mistake, and no pattern."""
    check_name(field, value)
    if not value.startswith(HISTORY_PREFIX):  # named by its pattern
        _check_exact(field, value)
    if PRIVATE in value and not is_private(value):
        raise ConfigError(field, value, f"{PRIVATE!r} is reserved for private mailboxes; choose a name without it")
    if value.startswith(RESERVED_PREFIX):
        raise ConfigError(field, value, f"names that begin with {RESERVED_PREFIX!r} are reserved; choose another one")
    return value


def check_destination(field: str, value: str) -> str:
    """As `check_mailbox`, and messages can be sent to it."""
    check_mailbox(field, value)
    if is_named_subscription(value):
        raise ConfigError(field, value, "is a subscription, which gets what is published; publish to its topics")
    return value


_PRIVATE_NAME: Final = re.compile(f"[^{PRIVATE}]+{PRIVATE}[0-9a-f]{{16}}")
"""What such a name looks like."""


def private_name(application: str, incarnation: int) -> str:
    """The mailbox of one life of an application."""
    return f"{application}{PRIVATE}{incarnation:016x}"


def seat_name(broker: str) -> str:
    """The group of a broker's seat."""
    return SEAT_PREFIX + broker


def check_seat(field: str, broker: str) -> str:
    """As `check_mailbox`, and a broker of this name can have a seat: it stands where others name who sent something."""
    check_mailbox(field, broker)
    size, most = len(broker.encode("utf-8", "surrogatepass")), NAME_BYTES_MAX - len(SEAT_PREFIX)
    if size > most:
        raise ConfigError(field, broker, f"has {size} bytes; a broker with a seat in a domain has at most {most}")
    return broker


def agents_name(domain: str) -> str:
    """The group of a domain's agents."""
    return AGENTS_PREFIX + domain


def is_agents(group: str) -> bool:
    """Whether a group is that of a domain's agents."""
    return group.startswith(AGENTS_PREFIX)


def is_seat(group: str) -> bool:
    """Whether a group is a seat."""
    return group.startswith(SEAT_PREFIX)


def is_shard(group: str) -> bool:
    """Whether a group is a shard, which holds mailboxes."""
    return group.startswith(SHARD_PREFIX)


def twin_name(mailbox: str) -> str:
    """The second mailbox of a subscription, for the other way of critical topics."""
    return TWIN_PREFIX + mailbox


def is_twin(mailbox: str) -> bool:
    """Whether a mailbox is the second one of a subscription."""
    return mailbox.startswith(TWIN_PREFIX)


def bound_names(mailbox: str) -> tuple[str, ...]:
    """Whose seat a mailbox goes with, the first of these that has one: an application's own mailboxes go with it."""
    if mailbox.startswith(DURABLE_PREFIX):
        return (mailbox[len(DURABLE_PREFIX) :].rpartition("/")[0],)
    if is_private(mailbox) and not mailbox.startswith(SHARED_PREFIX):
        owner = mailbox.partition(PRIVATE)[0]
        return (owner, owner.rpartition("/")[0]) if "/" in owner else (owner,)
    return (mailbox,)


def is_private(mailbox: str) -> bool:
    """Whether a mailbox belongs to one life of one application, and ends some time after it."""
    return PRIVATE in mailbox and _PRIVATE_NAME.fullmatch(mailbox) is not None


def is_named_subscription(mailbox: str) -> bool:
    """Whether a mailbox is a subscription by its name; others are private."""
    return mailbox.startswith((DURABLE_PREFIX, SHARED_PREFIX, HISTORY_PREFIX, TWIN_PREFIX))


def may_end(mailbox: str) -> bool:
    """Whether a mailbox ends some day; all others are for ever."""
    return is_private(mailbox) or is_named_subscription(mailbox)


def may_use(mailbox: str, application: str, incarnation: int) -> bool:
    """Whether one life of an application may read, change or end a mailbox: some belong to somebody by their names."""
    mailbox = mailbox.removeprefix(TWIN_PREFIX)
    if mailbox.startswith(DURABLE_PREFIX):
        return mailbox[len(DURABLE_PREFIX) :].rpartition("/")[0] == application
    if not is_private(mailbox) or mailbox.startswith(SHARED_PREFIX):
        return True
    owner, _, life = mailbox.partition(PRIVATE)
    return int(life, 16) == incarnation and (owner == application or owner.startswith(f"{application}/"))
