"""Taking up groups from a broker's own rows after a restart. Owns: reading those rows back; nothing after that.

Rows of LOCAL: "g" + key a group's Meta, "p" + key its position, "v" + key the token after a lost membership,
"x" + key a group that went on without us, "y" + key a private mailbox that did, "w" + key a vote of ours (Witnesses).
"""

from __future__ import annotations

from causeway.core.groups.membership import void_row
from causeway.core.groups.registry import Registry
from causeway.core.groups.state import Group, decode_left, decode_meta, decode_position
from causeway.core.machine import Turn
from causeway.store.base import LOCAL, Delete, Page, Write
from causeway.types import Key


def recover(turn: Turn, r: Registry, page: Page) -> None:
    """Every group our store remembers; a damaged Meta or position makes us a stranger to its group."""
    rows = {row.key: row.value for row in page.rows}
    for key, value in rows.items():
        if key[:1] == b"v":
            r.void[Key(key[1:])] = int.from_bytes(value, "big")
        elif key[:1] in (b"x", b"y"):
            left = Key(key[1:])
            r.left[left], last = decode_left(value, r.me.id)
            if last is not None:
                r.ended[left] = last
    private = sorted(Key(key[1:]) for key in rows if key[:1] == b"y")
    r.left_private = dict.fromkeys(sorted(private, key=lambda key: r.left[key]))
    for key in page.corrupt:
        if key[:1] in (b"g", b"p", b"v", b"w", b"x", b"y") and len(key) == 17:
            token = r.rng.getrandbits(62) + 1
            r.void[Key(key[1:])] = token
            writes: list[Write] = [void_row(Key(key[1:]), token)]
            if key[:1] in (b"g", b"p"):
                writes.append(Delete(LOCAL, b"g" + key[1:]))
            r.persist_silently(turn, writes)
    for key, value in rows.items():
        group_key = Key(key[1:])
        if key[:1] != b"g" or b"p" + group_key not in rows or b"g" + group_key in page.corrupt:
            continue
        group = Group(group_key, decode_meta(value), decode_position(rows[b"p" + group_key]))
        r.groups[group_key] = group
        r.learn(group_key, group.config)
        r.watch(None, group.config)
        if group.config.owner == r.me.id:
            # What we held in memory is gone: only a new epoch makes us owner again.
            r.deadlines.set(("takeover", group_key), turn.now)
        else:
            r.deadlines.set(("audit", group_key), turn.now)
