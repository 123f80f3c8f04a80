"""What two ends of a connection say before and beside everything else. Tags 1 to 9."""

from __future__ import annotations

import msgspec

from causeway.core.messages.groups import Config
from causeway.core.messages.locate import Burden
from causeway.types import BrokerId, Peer

PROTOCOL_VERSION = 3


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """First frame of whoever dialled. A broker names itself by `peer`, a client by `name` and `incarnation`."""

    version: int
    name: str
    incarnation: int
    """Drawn when the process started (a client with kept state repeats its own)."""
    peer: Peer | None = None
    cluster: str = ""
    """Which cluster the broker belongs to; empty while it has none."""
    root: Config | None = None
    """The latest membership of the directory's group that the sender knows."""
    burden: Burden | None = None
    """A broker's own."""
    shards: int = 0
    """Of a broker: how many its cluster has."""


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """First frame of whoever was dialled: now both know each other."""

    version: int
    peer: Peer
    incarnation: int
    cluster: str = ""
    root: Config | None = None
    ready: bool = True
    """False while this broker is still joining: a client does better elsewhere."""
    others: tuple[Peer, ...] = ()
    """Brokers a client may turn to when this one is gone."""
    burden: Burden | None = None
    """Told to brokers."""
    shards: int = 0
    """How many its cluster has."""


class Goodbye(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Last frame before a close on purpose."""

    code: int
    detail: str
    others: tuple[Peer, ...] = ()
    """Where a client that was refused may go instead, the best broker first."""


class Ping(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Sent when a connection was idle; `root_epoch` spreads news of the directory without a message of its own."""

    nonce: int
    root_epoch: int = 0
    keep: bool = False
    """The sender wants this link kept though nothing else travels on it."""
    burden: Burden | None = None
    """Between brokers, the sender's."""


class Pong(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """Answer to Ping; carries the root when the asker's was older."""

    nonce: int
    root: Config | None = None
    burden: Burden | None = None
    """Between brokers, the sender's."""


class Beat(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """A Ping between brokers with nothing to say but that the link is to be kept: most of what idle brokers send."""

    nonce: int


class Echo(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """A Pong with nothing to say."""

    nonce: int


class Bypassed(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """An envelope between two brokers whose link is broken or slow, for a third one to pass on (ADR 0031)."""

    to: BrokerId
    origin: BrokerId
    number: int
    """Of the connection that leads over the third broker, given by whoever began it."""
    dialled: bool
    """Whether the origin began it."""
    head: bytes
    """As it would travel on a connection of their own; the body is the envelope's."""


LinkMessage = Hello | Welcome | Goodbye | Ping | Pong | Beat | Echo | Bypassed
"""Between the two ends of a connection."""
