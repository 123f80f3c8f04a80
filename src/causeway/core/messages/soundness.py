"""What is wrong with a message between the members of a group that could be decoded. Owns: the rules, one per field.

Brokers of one cluster trust each other, but not each other's bugs: whatever passes here can be kept, encoded again and
written to rows without overflowing anything, and names every broker and every group in one way only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from causeway.core.messages.groups import (
    Accept,
    Adopted,
    Ballot,
    Chosen,
    Chunk,
    Chunked,
    Config,
    Copied,
    Enter,
    Entered,
    Fetch,
    Fetched,
    Inquire,
    Installed,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
    Replicate,
    Resolve,
    Resolved,
    Salvage,
    Salvaged,
)
from causeway.errors import ConfigError
from causeway.limits import (
    EPOCH_MAX,
    FETCHED_ROWS_MAX,
    GROUP_MEMBERS_MAX,
    ID_MAX,
    NAME_BYTES_MAX,
    ROW_KEY_BYTES_MAX,
)
from causeway.names import check_name
from causeway.store.base import Put, Row, Write
from causeway.types import KEY_BYTES, Key, Peer, key_of

Rules = Mapping[type, Callable[[Any], str | None]]
"""What may be wrong with each kind of message; a rule may also raise ConfigError."""


def fault_by(rules: Rules, head: Any) -> str | None:
    """What is wrong with a message by the rule for its kind; None also for kinds without one."""
    rule = rules.get(type(head))
    if rule is None:
        return None
    try:
        return rule(head)
    except ConfigError as error:
        return str(error)


def group_fault(head: Any) -> str | None:
    """Of any message between members of groups."""
    if type(head) is Replicate or type(head) is Copied:
        return _RULES[type(head)](head)
    if isinstance(head, Salvage | Salvaged):
        return "is said between a client and a broker, not between brokers"
    if len(head.group) != KEY_BYTES:
        return _group_fault(head.group)
    rule = _RULES.get(type(head))
    return rule(head) if rule is not None else None


def config_fault(config: Config, group: Key | None = None) -> str | None:
    """Of a configuration, and of its name if the group it is said to be of is known."""
    fault = _name_fault(config.name, group) or _number_fault("epoch", config.epoch)
    if fault is not None:
        return fault
    if not 0 <= config.born <= config.epoch:
        return f"born={config.born}: must lie in 0..{config.epoch}, the epoch"
    fault = _peers_fault([member.peer for member in (*config.members, *config.witnesses)])
    if fault is not None:
        return fault
    ids = dict.fromkeys(member.peer.id for member in config.members)
    if ids and config.owner not in ids:
        return "owner: must be one of the members"
    if len(config.owner) != KEY_BYTES:
        return f"owner has {len(config.owner)} bytes; must be {KEY_BYTES}"
    lacking = dict.fromkeys(config.incomplete)
    if len(lacking) < len(config.incomplete) or any(broker not in ids for broker in lacking):
        return "incomplete: must be some of the members, each once"
    return None


def writes_fault(writes: Sequence[Write], group: Key) -> str | None:
    """Of what an owner has its members write: to its own group only, and what every store can keep."""
    for write in writes:
        if write.group != group:
            return "group: an owner writes to its own group only"
        if type(write) is Put and not (len(write.key) <= ROW_KEY_BYTES_MAX and 0 <= write.seq <= ID_MAX):
            return _row_fault(write)
    return None


def rows_fault(rows: Iterable[Row | Put]) -> str | None:
    """Of rows that another member sent, or has us write."""
    for row in rows:
        if not (len(row.key) <= ROW_KEY_BYTES_MAX and 0 <= row.seq <= ID_MAX):
            return _row_fault(row)
    return None


def _row_fault(row: Row | Put) -> str:
    return f"key of {len(row.key)} bytes, seq={row.seq}: at most {ROW_KEY_BYTES_MAX}, and 0..2**63-1"


# Fields ----------------------------------------------------------------------------------------------------------
def _group_fault(group: bytes) -> str:
    return f"group has {len(group)} bytes; must be {KEY_BYTES}"


def _name_fault(name: str, group: Key | None) -> str | None:
    try:
        check_name("name", name)
    except ConfigError as error:
        return str(error)
    if group is not None and key_of(name) != group:
        return f"name={name!r}: is not the name of this group"
    return None


def _number_fault(field: str, *numbers: int) -> str | None:
    if all(0 <= number <= EPOCH_MAX for number in numbers):
        return None
    return f"{field}={numbers}: must lie in 0..{EPOCH_MAX}"


def _ballot_fault(ballot: Ballot | None) -> str | None:
    if ballot is None or (0 <= ballot[0] <= EPOCH_MAX and len(ballot[1]) in (0, KEY_BYTES)):
        return None
    return f"ballot={ballot}: must be a number in 0..{EPOCH_MAX} and a broker's id"


def peer_fault(peer: Peer) -> str | None:
    """What is wrong with how a broker is described; None if nothing is."""
    return _peers_fault([peer])


def _peers_fault(peers: Sequence[Peer]) -> str | None:
    if len(peers) > GROUP_MEMBERS_MAX:
        return f"{len(peers)} brokers; a group has at most {GROUP_MEMBERS_MAX}"
    if len(dict.fromkeys(peer.id for peer in peers)) < len(peers):
        return "a broker is named twice"
    for peer in peers:
        fault = _name_fault(peer.name, None)
        if fault is not None:
            return fault
        if len(peer.id) != KEY_BYTES or not 0 <= peer.port <= 65535:
            return f"peer {peer.name!r}: its id has {KEY_BYTES} bytes, its port lies in 0..65535"
        if not 0 < len(peer.host.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX:
            return f"peer {peer.name!r}: its host has {len(peer.host)} characters; give 1 to {NAME_BYTES_MAX} bytes"
    return None


def _keys_fault(*keys: bytes) -> str | None:
    if len(keys) <= FETCHED_ROWS_MAX and all(len(key) <= ROW_KEY_BYTES_MAX for key in keys):
        return None
    return f"keys: at most {FETCHED_ROWS_MAX} of at most {ROW_KEY_BYTES_MAX} bytes"


# Messages --------------------------------------------------------------------------------------------------------
def _promised(head: Promised) -> str | None:
    fault = (
        _number_fault("epoch", head.epoch, head.last_epoch, head.last_seq)
        or _ballot_fault(head.ballot)
        or _ballot_fault(head.accepted_ballot)
    )
    if fault is not None:
        return fault
    if (head.accepted is None) != (head.accepted_ballot is None):
        return "accepted: comes with its ballot, or not at all"
    if head.accepted is not None and head.accepted.epoch != head.epoch:
        return f"accepted: epoch {head.accepted.epoch} was not asked for"
    return None if head.accepted is None else config_fault(head.accepted, head.group)


def _chosen(head: Chosen) -> str | None:
    return config_fault(head.config, head.group) or (_number_fault("base", head.base) if head.base != -1 else None)


def _replicate(head: Replicate) -> str | None:
    for group, epoch, _, seq, span in head.operations:
        if len(group) != KEY_BYTES:
            return _group_fault(group)
        if not (0 <= epoch <= EPOCH_MAX and 0 <= seq <= EPOCH_MAX and 0 < span <= EPOCH_MAX - seq):
            return f"epoch={epoch}, seq={seq}, span={span}: must lie in 0..{EPOCH_MAX}, span above 0"
    return None


def _copied(head: Copied) -> str | None:
    for group, epoch, seq in head.positions:
        if len(group) != KEY_BYTES:
            return _group_fault(group)
        if not (0 <= epoch <= EPOCH_MAX and 0 <= seq <= EPOCH_MAX):
            return _number_fault("epoch, seq", epoch, seq)
    return None


def _resolve(head: Resolve) -> str | None:
    return _name_fault(head.name, head.group) or _peers_fault((*head.candidates, *head.witnesses))


_RULES: dict[type, Callable[[Any], str | None]] = {
    Prepare: lambda head: config_fault(head.config, head.group) or _ballot_fault(head.ballot),
    Promised: _promised,
    Outbid: lambda head: _number_fault("epoch", head.epoch) or _ballot_fault(head.ballot),
    Outdated: lambda head: config_fault(head.config, head.group),
    Accept: lambda head: config_fault(head.next, head.group) or _ballot_fault(head.ballot),
    Adopted: lambda head: _number_fault("epoch", head.epoch) or _ballot_fault(head.ballot),
    Chosen: _chosen,
    Installed: lambda head: _number_fault("epoch", head.epoch, head.seq),
    Replicate: _replicate,
    Copied: _copied,
    NotMember: lambda head: _number_fault("epoch", head.epoch),
    Chunk: lambda head: _number_fault("epoch", head.epoch, head.at) or _keys_fault(head.start, head.stop),
    Chunked: lambda head: _number_fault("epoch", head.epoch) or _keys_fault(head.start),
    Fetch: lambda head: _number_fault("epoch", head.epoch) or _keys_fault(*head.keys),
    Fetched: lambda head: _number_fault("epoch", head.epoch) or _keys_fault(*head.keys),
    Inquire: lambda head: _number_fault("epoch", head.epoch),
    Resolve: _resolve,
    Resolved: lambda head: None if head.config is None else config_fault(head.config, head.group),
    Enter: lambda head: config_fault(head.config, head.group),
    Entered: lambda head: _number_fault("epoch", head.epoch),
}
