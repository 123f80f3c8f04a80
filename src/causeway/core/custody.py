"""Whose each group that we own is: the directory's, a seat's, a landmark's, or a mailbox.

Owns: the decision, for the three things that can happen to a group we own. Must not know: what they do with it.
"""

from __future__ import annotations

from causeway.core.agents.agents import BrokerAgents
from causeway.core.causal.causal import BrokerCausal
from causeway.core.events import OwnershipGained, OwnershipLost, OwnershipResumed
from causeway.core.groups.groups import Groups
from causeway.core.groups.registry import ROOT
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.shards.shards import Shards
from causeway.types import Key


class Custody:
    """Who looks after the groups that we own."""

    def __init__(self, groups: Groups, shards: Shards, desk: Desk, causal: BrokerCausal, agents: BrokerAgents) -> None:
        self._groups = groups
        self._shards = shards
        self._desk = desk
        self._causal = causal
        self._agents = agents

    def _part_of(self, group: Key) -> BrokerCausal | BrokerAgents | None:
        """Of a group that is no mailbox."""
        if group in self._causal.groups:
            return self._causal
        return self._agents if group in self._agents.groups else None

    def gained(self, turn: Turn, event: OwnershipGained) -> None:
        """We own a group."""
        if event.group == ROOT:
            self._groups.directory.on_ownership_gained(event)
            return
        self._agents.on_owned(turn, event.group, event.config)
        if self._causal.gain(turn, event) or self._agents.gain(turn, event):
            self._desk.courier.release(turn, event.group)
        elif self._shards.is_shard(event.group):
            self._shards.gain(turn, event)
            self._desk.courier.release(turn, event.group)
        else:
            self._desk.on_ownership_gained(turn, event)

    def resumed(self, turn: Turn, event: OwnershipResumed) -> None:
        """We still own it, in a new epoch."""
        if event.group == ROOT:
            return
        config = self._groups.config(event.group)
        assert config is not None
        self._agents.on_owned(turn, event.group, config)
        if (part := self._part_of(event.group)) is not None:
            part.resume(turn, event.group)
            self._desk.courier.release(turn, event.group)
        elif self._shards.is_shard(event.group):
            self._shards.resume(turn, event.group)
            self._desk.courier.release(turn, event.group)
        else:
            self._desk.on_ownership_resumed(turn, event)

    def lost(self, turn: Turn, event: OwnershipLost) -> None:
        """Another broker owns it, or it has ended."""
        if event.group == ROOT:
            self._groups.directory.on_ownership_lost()
            return
        self._agents.on_lost(turn, event)
        if (part := self._part_of(event.group)) is not None:
            part.lose(turn, event.group)
            self._desk.courier.release(turn, event.group)
        elif self._shards.is_shard(event.group):
            self._shards.lose(turn, event)
            self._desk.courier.release(turn, event.group)
        else:
            self._desk.on_ownership_lost(turn, event)
        if event.config.members:
            self._groups.directory.drop_report(event.group)
        else:
            self._groups.directory.report_end(turn, event.group, event.config)
