"""The directory: every group but the root is born here, once, and reports its epochs here.

One group, the root, linearises births; so no two sides of a partition can each begin a group for the same name.
Any broker can ask; only the root's owner answers. Entries are rows of the root group: b"e" + key -> Config.
Who leaves asks last of all whether a group was born with it that it has not heard of.

Owns: asking and answering. Must not know: how the root group replicates (it is a group like the others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from causeway.core.events import OwnershipGained
from causeway.core.groups.registry import ROOT, Registry
from causeway.core.groups.state import EPOCHS_PER_BIRTH, Group, alone_in, member_of
from causeway.core.groups.witnesses import witnesses_of
from causeway.core.machine import Then, Turn
from causeway.core.messages import Chosen, Config, Enter, Entered, Leave, Member, Message, Outdated, Resolve, Resolved
from causeway.core.messages.soundness import config_fault
from causeway.errors import Code
from causeway.limits import DIRECTORY_QUESTIONS_MAX
from causeway.names import RESERVED_PREFIX
from causeway.store.base import Delete, Put, Write
from causeway.types import BrokerId, Key, Peer, key_of

LEAVING = RESERVED_PREFIX + "leaving/"
"""Who asks for this name with its own id wants to know whether a group was born with it that it has not heard of."""

_encode = msgspec.msgpack.encode
_config_decoder = msgspec.msgpack.Decoder(Config)


class RootGroup(Protocol):
    """What the directory needs of the group protocol."""

    def serving(self, group: Key) -> bool: ...
    def position(self, group: Key) -> int: ...
    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None) -> None: ...
    def blocked(self, group: Key) -> str | None: ...


@dataclass(slots=True)
class Question:
    """A resolve on its way."""

    name: str
    candidates: tuple[Peer, ...]
    existing: bool
    """It must exist already."""
    tries: int = 0


@dataclass(slots=True)
class Answer:
    """What to say when the root has committed an entry."""

    key: Key
    config: Config | None
    to: list[tuple[BrokerId, Message]] = field(default_factory=list)


class Directory:
    """Both the asking side (every broker) and the answering side (the root's owner)."""

    def __init__(self, registry: Registry, root: RootGroup) -> None:
        self._r = registry
        self._root = root
        self.answers: list[tuple[Key, Config | None, int]] = []
        """Resolutions for this broker's own questions, drained by the node: None and why there is none, or for now."""
        self._questions: dict[Key, Question] = {}
        self._farewell = LEAVING + registry.me.id.hex()
        self._reports: dict[Key, Enter] = {}
        self._entries: dict[Key, Config] = {}
        self._own: dict[Key, None] = {}
        """Those of them that are the brokers' own, no mailboxes; the map of domains bounds them."""
        self._by_key: dict[Key, Answer] = {}

    # Asking ----------------------------------------------------------------------------------------------------
    @property
    def root(self) -> Config | None:
        """Who holds the root, as far as we heard."""
        return self._r.config_of(ROOT)

    def resolve(self, turn: Turn, key: Key, name: str, candidates: tuple[Peer, ...] | None) -> None:
        """Find the group of a key, or (unless None) begin it with candidates; the result appears in `answers`."""
        asked = self._questions.get(key)
        if asked is not None and asked.existing and candidates is not None:
            asked.candidates, asked.existing = candidates, False
            self._ask(turn, key)
        if asked is None and len(self._questions) < DIRECTORY_QUESTIONS_MAX:
            self._questions[key] = Question(name, candidates or (), candidates is None)
            self._ask(turn, key)

    def look_up(self, turn: Turn, group: Group) -> None:
        """Ask, once, for the epoch of a group that we are a member of; whoever needs it asks again."""
        target = self._target(1)
        if group.key != ROOT and target is not None:
            self._r.send(turn, target, Resolve(group.key, group.config.name, (), existing=True))

    def salvage(self, turn: Turn, key: Key, config: Config) -> None:
        """Ask, once, for the epoch in which a group goes on from our copy alone."""
        target = self._target(1)
        if target is not None:
            self._r.send(turn, target, Enter(key, config, salvaged=True))

    def leave(self, turn: Turn) -> None:
        """We go for good, but not before the directory says that no group was born with us that we have not heard of:
        it could never change again if too many of its first members were gone."""
        self._questions[key_of(self._farewell)] = Question(self._farewell, (), True)
        if self.root is not None and self.root.owner != self._r.me.id:
            self._r.send(turn, self.root.owner, Leave())
        self._ask(turn, key_of(self._farewell))

    @property
    def lingering(self) -> bool:
        """Whether a group may have been born with us although we are leaving."""
        return key_of(self._farewell) in self._questions

    def _ask(self, turn: Turn, key: Key) -> None:
        question = self._questions[key]
        question.tries += 1
        r = self._r
        if question.name == self._farewell and r.groups:
            question.tries = 0
            r.deadlines.set(("resolve", key), turn.now + r.settings.retry)
            return  # first those that we do know of
        if question.tries > 1 and not question.existing:
            question.candidates = r.founders(key, question.name) or ()  # who was asked first may have left since
        wait = r.settings.retry * min(question.tries, 8)
        r.deadlines.set(("resolve", key), turn.now + wait)
        target = self._target(question.tries)
        if target is not None:
            members = [Member(p, p.store) for p in question.candidates]
            witnesses = tuple(m.peer for m in witnesses_of(r, key, members, None))
            r.send(turn, target, Resolve(key, question.name, question.candidates, question.existing, witnesses))
        if question.tries > 4:
            self.answers.append((key, None, Code.NO_DIRECTORY))

    def _target(self, tries: int) -> BrokerId | None:
        """The root's owner; when it does not answer, its members in turn (they know a newer epoch, or soon will).

        Now and then the owner even if we take it for dead: who has left the ring does not hear that somebody is back.
        """
        if self.root is None:
            return None
        members = [m.peer.id for m in self.root.members if m.peer.id not in self._r.suspected]
        if tries % 3 == 1 and (self.root.owner in members or tries > 3):
            return self.root.owner
        return members[tries % len(members)] if members else None

    def described(self) -> dict[str, object] | None:
        """Who holds it, for people."""
        if self.root is None:
            return None
        names = {m.peer.id: m.peer.name for m in self.root.members}
        return {
            "epoch": self.root.epoch,
            "owner": names.get(self.root.owner, ""),
            "members": list(names.values()),
        }

    def report(self, turn: Turn, group: Group) -> None:
        """Tell the directory the epoch of a group we own."""
        if group.key == ROOT or group.tenure is None or group.tenure.entered:
            return
        group.tenure.entered = True
        self._report(turn, group.key, Enter(group.key, group.config))

    def drop_report(self, key: Key) -> None:
        """Somebody else owns the group: what we had to say of it is stale."""
        if self._reports.pop(key, None) is not None:
            self._r.deadlines.cancel(("enter", key))

    def report_end(self, turn: Turn, key: Key, config: Config) -> None:
        """Tell the directory that a group has ended."""
        self._report(turn, key, Enter(key, config, True))

    def _report(self, turn: Turn, key: Key, enter: Enter) -> None:
        self._reports[key] = enter
        self._send_report(turn, key)

    def _send_report(self, turn: Turn, key: Key) -> None:
        r = self._r
        target = self._target(1)
        if target is not None:
            r.send(turn, target, self._reports[key])
        r.deadlines.set(("enter", key), turn.now + 4 * r.settings.retry + r.rng.randrange(r.settings.retry))

    def on_deadline(self, turn: Turn, what: str, key: Key) -> None:
        if what == "resolve" and key in self._questions:
            self._ask(turn, key)
        elif what == "enter" and key in self._reports:
            self._send_report(turn, key)

    def on_peer_down(self, turn: Turn, peer: Peer) -> None:
        """Questions put to a dead broker are put again at once."""
        if self.root is not None and self.root.owner == peer.id:
            for key in self._questions:
                self._r.deadlines.set(("resolve", key), turn.now + self._r.settings.retry // 4)

    def on_message(self, turn: Turn, peer: Peer, head: Message) -> None:
        match head:
            case Resolve():
                self._on_resolve(turn, peer, head)
            case Enter():
                self._on_enter(turn, peer, head)
            case Resolved():
                if head.config is not None and self._r.has_ended(head.group, head.config):
                    if head.group not in self._reports:  # lost with a former life of the broker that ended it
                        self.report_end(turn, head.group, head.config)
                    return  # and the question is put again
                if head.config is not None and self._r.is_stale(head.group, head.config):
                    return  # the group's new owner has yet to report: the question is put again
                news = head.config is None or self._r.learn(head.group, head.config)
                asked = self._questions.get(head.group)
                if asked is not None and not asked.existing and head.code == Code.NO_MAILBOX:
                    return  # of an earlier question: since then somebody wants it to begin
                if (head.config or head.code) and self._questions.pop(head.group, None) is not None:
                    self._r.deadlines.cancel(("resolve", head.group))
                    if news:  # who waits would ask the same thing again at once
                        self.answers.append((head.group, head.config, head.code))
            case Entered():
                report = self._reports.get(head.group)
                if report is not None and report.config.epoch <= head.epoch:
                    del self._reports[head.group]
                    self._r.deadlines.cancel(("enter", head.group))
            case _:
                pass

    # Answering -------------------------------------------------------------------------------------------------
    def on_ownership_gained(self, event: OwnershipGained) -> None:
        """We own the root: its rows are the directory."""
        self._entries = {}
        self._own = {}
        for row in event.rows:
            key = Key(row.key[1:])
            try:
                config = _config_decoder.decode(row.value)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue  # written by a broken broker
            if config_fault(config, key) is None:
                self._keep(key, config)
        self._by_key.clear()

    def on_ownership_lost(self) -> None:
        """Somebody else owns the root; whoever asked us asks again there."""
        self._entries.clear()
        self._own.clear()
        self._by_key.clear()

    def _committed(self, turn: Turn, answer: Answer) -> None:
        """An entry is on all copies of the root."""
        if self._by_key.get(answer.key) is answer:
            del self._by_key[answer.key]
        for broker, message in answer.to:
            self._r.send(turn, broker, message)

    def _on_resolve(self, turn: Turn, peer: Peer, head: Resolve) -> None:
        if not self._answering(turn, peer):
            return
        me = self._r.me.id
        if head.name.startswith(LEAVING) and self._was_born_with(turn, peer):
            return  # it asks again
        entry = self._entries.get(head.group)
        waiting = self._by_key.get(head.group)
        if waiting is not None:
            if waiting.config is not None:
                waiting.to.append((peer.id, Resolved(head.group, waiting.config)))
            return
        if entry is not None:
            self._r.send(turn, peer.id, Resolved(head.group, entry))
            return
        if head.existing:
            if self._root.serving(ROOT):
                # Nothing is written, but who was superseded must not say that something does not exist.
                self._enter(turn, head.group, None, (peer.id, Resolved(head.group, None, Code.NO_MAILBOX)))
            return
        # The asker may not have heard yet that one of them is leaving.
        able = [p for p in head.candidates if p.id not in self._r.parting and (p.id != me or not self._r.leaving)]
        if not able or not self._root.serving(ROOT):
            return  # the asker tries again
        mailboxes = len(self._entries) - len(self._own)
        if mailboxes >= self._r.settings.mailboxes_max and not head.name.startswith(RESERVED_PREFIX):
            self._r.send(turn, peer.id, Resolved(head.group, None, Code.CLUSTER_FULL))
            return
        seq = self._root.position(ROOT)
        epoch = (seq + 1) * EPOCHS_PER_BIRTH
        members = tuple(Member(p, p.store) for p in able)
        held = {p.id for p in able}
        beside = tuple(Member(p, p.store) for p in head.witnesses if p.id not in held and p.id not in self._r.parting)
        config = Config(head.name, epoch, members[0].peer.id, members, (), epoch, beside)
        self._enter(turn, head.group, config, (peer.id, Resolved(head.group, config)))

    def _was_born_with(self, turn: Turn, peer: Peer) -> bool:
        """Whether groups that never changed count on a broker that is leaving; it is told of them."""
        if peer.id != self._r.me.id:
            self._r.parting[peer.id] = None
        found = [
            (key, config)
            for key, config in self._entries.items()
            if config.epoch == config.born and member_of(config, peer.id) is not None
        ]
        for key, config in found:
            if key not in self._by_key:
                self._r.send(turn, peer.id, Chosen(key, config))
        return bool(found)

    def _on_enter(self, turn: Turn, peer: Peer, head: Enter) -> None:
        if not self._answering(turn, peer):
            return
        if head.salvaged:
            self._on_salvage(turn, peer, head)
            return
        entry = self._entries.get(head.group)
        # Every group was born here: whoever reports one we do not know reports one that has ended.
        stale = entry is None or (entry.born, entry.epoch) >= (head.config.born, head.config.epoch)
        if (stale and not head.retired) or (head.retired and (entry is None or entry.born > head.config.born)):
            if head.group not in self._by_key:
                self._r.send(turn, peer.id, Entered(head.group, head.config.epoch))
                if entry is not None and entry.born == head.config.born and entry.epoch > head.config.epoch:
                    # It went on without whoever reports, perhaps because people decided so while that one was away.
                    self._r.send(turn, peer.id, Outdated(head.group, entry))
            return
        if head.group in self._by_key or not self._root.serving(ROOT):
            return
        config = None if head.retired else head.config
        self._enter(turn, head.group, config, (peer.id, Entered(head.group, head.config.epoch)))

    def _on_salvage(self, turn: Turn, peer: Peer, head: Enter) -> None:
        """People decided that a group goes on from one copy: unless it has gone on already, also by this decision."""
        entry = self._entries.get(head.group)
        if head.group in self._by_key or not self._root.serving(ROOT):
            return  # it asks again
        if entry is None or entry.born != head.config.born or entry.epoch > head.config.epoch:
            self._r.send(turn, peer.id, Resolved(head.group, entry, 0 if entry is not None else Code.NO_MAILBOX))
            return
        config = alone_in(head.config, peer.id)
        self._enter(turn, head.group, config, (peer.id, Resolved(head.group, config)))

    def _enter(self, turn: Turn, key: Key, config: Config | None, tell: tuple[BrokerId, Message]) -> None:
        seq = self._root.position(ROOT)
        write: Write
        if config is None:
            self._entries.pop(key, None)
            self._own.pop(key, None)
            write = Delete(ROOT, b"e" + key)
        else:
            self._keep(key, config)
            write = Put(ROOT, b"e" + key, seq, _encode(config))
        answer = Answer(key, config, [tell])
        self._by_key[key] = answer
        self._root.append(turn, ROOT, [write], 1, lambda turn: self._committed(turn, answer))

    def _keep(self, key: Key, config: Config) -> None:
        self._entries[key] = config
        if config.name.startswith(RESERVED_PREFIX):
            self._own[key] = None

    def _answering(self, turn: Turn, peer: Peer) -> bool:
        """Whether we own the root; if not, the asker learns who does as far as we know."""
        group = self._r.groups.get(ROOT)
        if group is not None and group.tenure is not None and group.tenure.loaded:
            return True
        if self.root is not None and peer.id != self._r.me.id:
            self._r.send(turn, peer.id, Outdated(ROOT, self.root))
        return False
