"""What the overlay says to itself (Pastry). Tags 11 to 29; 10 is Routed, see `mail`.

A broker enters with JoinRequest/JoinReply, becomes known with Leaves, is found again with Hail, repairs its routing
table with RowRequest/RowReply and goes with Leave. Everything here may be lost, doubled or late.
"""

from __future__ import annotations

import msgspec

from causeway.types import Peer


class JoinRequest(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """Travels towards the joiner's own id and gathers on the way what the joiner needs for its tables.

    An active broker uses it too: to find its neighbours in a ring it was cut off from, and those of a seat it holds.
    """

    joiner: Peer
    attempt: int
    hops: int = 0
    rows: tuple[Peer, ...] = ()
    """Entries for the joiner's routing table, from every broker on the way."""
    neighbours: tuple[Peer, ...] = ()
    """The neighbourhood of the first broker asked: near to it, so (by the triangle) near to the joiner."""
    place: bytes = b""
    """Of the seat whose neighbours are wanted, instead of the joiner's own; then nothing is gathered."""


class JoinReply(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """From the broker numerically closest to the joiner, straight back to it."""

    attempt: int
    cluster: str
    leaves: tuple[Peer, ...]
    """The replying broker and its leaf set."""
    joining: tuple[Peer, ...]
    """Other brokers that are joining at this moment, nearby."""
    rows: tuple[Peer, ...]
    neighbours: tuple[Peer, ...]
    """Of a place: those who hold seats around it."""
    place: bytes = b""
    """That was asked for, if not the joiner's own."""


class JoinDenied(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """The broker asked has not joined itself: ask another one."""

    attempt: int


class Leaves(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """The sender's leaf set: a hint whom to ask, never a proof that those brokers live."""

    active: bool
    """Whether the sender's join is complete; before that nobody may hand it keys."""
    wants_reply: bool
    members: tuple[Peer, ...]
    joining: tuple[Peer, ...]
    token: int = 0
    """Repeated by the reply: only the answer to our latest word proves that it was heard."""


class Hail(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """I am here; are you? Fills routing tables and neighbourhoods, and finds brokers that were missing."""

    active: bool
    wants_reply: bool


class Leave(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """The sender goes for good; its leaf set lets the others close the gap at once."""

    leaves: tuple[Peer, ...] = ()


class RowRequest(msgspec.Struct, frozen=True, array_like=True, tag=17):
    """Asks for one row of the receiver's routing table."""

    row: int


class RowReply(msgspec.Struct, frozen=True, array_like=True, tag=18):
    """That row, the sender not included."""

    row: int
    peers: tuple[Peer, ...]


OverlayMessage = JoinRequest | JoinReply | JoinDenied | Leaves | Hail | Leave | RowRequest | RowReply
"""About who is on the ring."""
