"""Letting a group go on from one copy, although the majority that could choose its next epoch is lost for good.

No protocol can decide this: whether the others are gone, or only away, is known to people alone. They name the copy, as
they saw it; the broker that has it asks the directory for an epoch in which it is the only member, numbered far above
any that those who are away can choose among themselves. Whoever of them comes back and hears of it goes by it (ADR
0025). The directory's own group has nobody to ask: its copy goes on by itself.

Owns: such decisions on their way. Must not know: how an epoch begins (Membership), how the directory answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from causeway.core.groups.directory import Directory
from causeway.core.groups.membership import Membership
from causeway.core.groups.registry import ROOT, ROOT_NAME, Registry
from causeway.core.groups.state import Group, alone_in
from causeway.core.machine import Turn
from causeway.core.messages import Chosen, Config, Salvage, Salvaged
from causeway.errors import Code
from causeway.types import Key, key_of

TRIES_MAX = 10
"""So often the directory is asked before whoever wants to know hears that it does not answer."""


@dataclass(slots=True)
class SalvageAsked:
    """Somebody waits for the directory's word."""

    conn: int
    token: int
    config: Config
    """The epoch that has lost its majority."""
    tries: int = 0


class Salvages:
    """Decisions of people about groups that we have a copy of."""

    def __init__(self, registry: Registry, membership: Membership, directory: Directory) -> None:
        self._r = registry
        self._membership = membership
        self._directory = directory
        self._asked: dict[Key, SalvageAsked] = {}

    def ask(self, turn: Turn, conn: int, head: Salvage, *, blocked: str | None, lost: str | None) -> None:
        """Somebody decides that a group goes on from our copy. `blocked`: why nobody can acknowledge for it now;
        `lost`: why nobody can for the directory."""
        key = key_of(head.mailbox)
        group = self._r.groups.get(key)
        refusal = self._refusal(group, head, blocked, lost)
        if refusal is not None:
            turn.send(conn, Salvaged(head.token, head.mailbox, 0, *refusal))
            return
        assert group is not None
        self._asked[key] = SalvageAsked(conn, head.token, group.config)
        if key == ROOT:
            alone = alone_in(group.config, self._r.me.id)
            self._membership.on_chosen(turn, self._r.me, Chosen(key, alone))
            self.chosen(turn, key, alone)
        else:
            self.again(turn, key)

    def _refusal(
        self, group: Group | None, head: Salvage, blocked: str | None, lost: str | None
    ) -> tuple[Code, str] | None:
        if group is None or group.member(self._r.me.id) is None:
            return Code.NO_MAILBOX, f"mailbox={head.mailbox!r}: {self._r.me.name} has no copy of it; ask who has"
        if (head.epoch, head.seq) != (group.config.epoch, group.position[1]):
            stands = f"the copy stands at epoch {group.config.epoch}, position {group.position[1]}"
            return Code.NOT_READY, f"epoch={head.epoch}, seq={head.seq}: {stands}; look at it again, then decide"
        if blocked is None:
            return Code.IN_USE, f"mailbox={head.mailbox!r}: its majority can be reached; it goes on by itself"
        if group.key != ROOT and lost is not None:
            return Code.NO_DIRECTORY, f"the directory comes first: bring its brokers back, or salvage {ROOT_NAME}"
        return None

    def again(self, turn: Turn, key: Key) -> None:
        """Ask the directory, or give up."""
        asked = self._asked.get(key)
        if asked is None:
            return
        asked.tries += 1
        if asked.tries > TRIES_MAX:
            self._answer(turn, key, 0, Code.NO_DIRECTORY, "the directory does not answer; nothing is decided")
            return
        self._directory.salvage(turn, key, asked.config)
        self._r.deadlines.set(("salvage", key), turn.now + 2 * self._r.settings.retry)

    def chosen(self, turn: Turn, key: Key, config: Config | None) -> None:
        """What the directory says of a group; and if that is what we asked for, it is done."""
        asked = self._asked.get(key)
        if asked is None:
            return
        if config is None:
            self._answer(turn, key, 0, Code.NO_MAILBOX, "the directory does not know it: it has ended")
        elif config.owner == self._r.me.id and config.epoch > asked.config.epoch:
            self._answer(turn, key, config.epoch)
        elif config.epoch > asked.config.epoch:
            held = ", ".join(member.peer.name for member in config.members)
            detail = f"it has gone on without this copy, in epoch {config.epoch}, on {held}; bring one of these back"
            self._answer(turn, key, 0, Code.NOT_OWNER, detail)

    def _answer(self, turn: Turn, key: Key, epoch: int, code: int = 0, detail: str = "") -> None:
        asked = self._asked.pop(key)
        self._r.deadlines.cancel(("salvage", key))
        turn.send(asked.conn, Salvaged(asked.token, asked.config.name, epoch, code, detail))
