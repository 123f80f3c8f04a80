"""What a broker says of itself. Owns: cluster, readiness, and the latest membership of the directory's group."""

from __future__ import annotations

from causeway.core.events import RootLearned
from causeway.core.machine import Turn
from causeway.core.messages import Config
from causeway.core.messages.soundness import config_fault
from causeway.types import Peer


class Standing:
    """What a broker says of itself."""

    def __init__(self, me: Peer, incarnation: int, shards: int) -> None:
        self.me = me
        self.shards = shards
        self.incarnation = incarnation
        self.cluster = ""
        self.root: Config | None = None
        self.ready = False
        self.seats: tuple[str, ...] | None = None
        """The seats we hold; None: our own, and no landmark has said anything else."""

    @property
    def root_epoch(self) -> int:
        """Of the latest membership of the directory's group that we heard of."""
        return 0 if self.root is None else self.root.epoch

    def learn_root(self, config: Config) -> bool:
        """Keep the membership with the highest epoch; whether this was news."""
        if self.root is not None and self.root.epoch >= config.epoch:
            return False
        self.root = config
        return True

    def hear_root(self, turn: Turn, config: Config | None) -> None:
        """As `learn_root`, from another broker: news is told."""
        if config is not None and config_fault(config) is None and self.learn_root(config):
            turn.tell(RootLearned(config))
