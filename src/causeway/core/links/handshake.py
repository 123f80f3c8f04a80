"""What may be wrong with a first frame, in words for the person who reads the Goodbye. Pure checks, no state."""

from __future__ import annotations

from causeway.core.links.standing import Standing
from causeway.core.messages import PROTOCOL_VERSION, Hello, Welcome
from causeway.errors import Code, ConfigError
from causeway.limits import NAME_BYTES_MAX
from causeway.names import check_application, check_name
from causeway.types import KEY_BYTES, Peer

Complaint = tuple[Code, str]
"""Code of the Goodbye, and its text: the field, its value, and what would be right."""


def complaint_about_hello(hello: Hello, us: Standing) -> Complaint | None:
    """Why this Hello is refused, or None."""
    wrong = (
        _version(hello.version) or _name(hello.name, is_client=hello.peer is None) or _incarnation(hello.incarnation)
    )
    if wrong is not None or hello.peer is None:
        return wrong
    return _peer(hello.peer, us.me) or _cluster(hello.cluster, us.cluster) or _shards(hello.shards, us.shards)


def complaint_about_welcome(welcome: Welcome, us: Standing) -> Complaint | None:
    """Why the broker we dialled cannot be used, or None."""
    return (
        _version(welcome.version)
        or _incarnation(welcome.incarnation)
        or _peer(welcome.peer, us.me)
        or _cluster(welcome.cluster, us.cluster)
        or _shards(welcome.shards, us.shards)
    )


def _version(version: int) -> Complaint | None:
    if version == PROTOCOL_VERSION:
        return None
    return Code.BAD_VERSION, f"version={version}: this broker speaks {PROTOCOL_VERSION}; use the same release on both"


def _name(name: str, *, is_client: bool) -> Complaint | None:
    try:
        (check_application if is_client else check_name)("name", name)
    except ConfigError as error:
        return Code.BAD_FIELD, str(error)
    return None


def _incarnation(incarnation: int) -> Complaint | None:
    if 0 <= incarnation < 1 << 63:
        return None
    return Code.BAD_FIELD, f"incarnation={incarnation}: must lie in 0..2**63-1"


def _peer(peer: Peer, me: Peer) -> Complaint | None:
    wrong = _name(peer.name, is_client=False)
    if wrong is not None:
        return wrong
    if len(peer.id) != KEY_BYTES:
        return Code.BAD_FIELD, f"peer.id has {len(peer.id)} bytes; must be the {KEY_BYTES} bytes of the name's key"
    if not 0 < len(peer.host.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX:
        return Code.BAD_FIELD, f"peer.host has {len(peer.host)} characters; give 1 to {NAME_BYTES_MAX} bytes"
    if not 0 <= peer.port <= 65535:
        return Code.BAD_FIELD, f"peer.port={peer.port}: must lie in 0..65535"
    if peer.id == me.id:
        return Code.BAD_FIELD, f"name={peer.name!r}: the broker asked has this name; give every broker its own"
    return None


def _cluster(theirs: str, ours: str) -> Complaint | None:
    if len(theirs) > NAME_BYTES_MAX:
        return Code.BAD_FIELD, f"cluster has {len(theirs)} characters; at most {NAME_BYTES_MAX} are allowed"
    if not theirs or not ours or theirs == ours:
        return None
    return Code.BAD_FIELD, f"cluster={theirs!r}: this broker belongs to {ours!r}; use seeds of one cluster only"


def _shards(theirs: int, ours: int) -> Complaint | None:
    if theirs == ours:
        return None
    return Code.BAD_FIELD, f"shards={theirs}: this broker has {ours}; give all brokers of a cluster the same number"
