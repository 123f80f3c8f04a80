"""Which subscriptions want a topic: a tree by level, walked with all nodes that are possible at once.

Owns: entries by canonical pattern. Must not know: what an entry stands for.

A match costs what the patterns that agree with the topic so far cost; those that do not are never touched.
"""

from __future__ import annotations

from typing import final

from causeway.topics.paths import MANY, ONE, SEPARATOR


@final
class _Node:
    """Patterns that begin with the same levels."""

    __slots__ = ("entries", "levels", "many", "one")

    def __init__(self) -> None:
        self.levels: dict[str, _Node] | None = None
        """By literal level, or `tag=*`; most nodes are leaves and have none."""
        self.one: _Node | None = None
        self.many: _Node | None = None
        self.entries: dict[str, None] | None = None
        """Of the pattern that ends here."""

    def child(self, level: str) -> _Node | None:
        if level == ONE:
            return self.one
        if level == MANY:
            return self.many
        return None if self.levels is None else self.levels.get(level)

    def grown(self, level: str) -> _Node:
        """The child, made if need be."""
        node = self.child(level)
        if node is not None:
            return node
        node = _Node()
        if level == ONE:
            self.one = node
        elif level == MANY:
            self.many = node
        else:
            if self.levels is None:
                self.levels = {}
            self.levels[level] = node
        return node

    def drop(self, level: str) -> None:
        if level == ONE:
            self.one = None
        elif level == MANY:
            self.many = None
        elif self.levels is not None:
            del self.levels[level]
            if not self.levels:
                self.levels = None

    def is_bare(self) -> bool:
        return self.levels is None and self.one is None and self.many is None and self.entries is None

    def children(self) -> list[tuple[str, _Node]]:
        found = list(self.levels.items()) if self.levels is not None else []
        if self.one is not None:
            found.append((ONE, self.one))
        if self.many is not None:
            found.append((MANY, self.many))
        return found


@final
class TopicIndex:
    """Entries under canonical patterns. One entry may have several patterns, one pattern several entries."""

    __slots__ = ("_count", "_root")

    def __init__(self) -> None:
        self._root = _Node()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, pattern: str, entry: str) -> bool:
        """Whether the entry is new under this pattern."""
        node = self._root
        for level in pattern.split(SEPARATOR):
            node = node.grown(level)
        if node.entries is None:
            node.entries = {}
        if entry in node.entries:
            return False
        node.entries[entry] = None
        self._count += 1
        return True

    def remove(self, pattern: str, entry: str) -> bool:
        """Whether the entry was there under this pattern."""
        way: list[tuple[_Node, str]] = []
        node = self._root
        for level in pattern.split(SEPARATOR):
            way.append((node, level))
            child = node.child(level)
            if child is None:
                return False
            node = child
        if node.entries is None or entry not in node.entries:
            return False
        del node.entries[entry]
        self._count -= 1
        if not node.entries:
            node.entries = None
        while way and node.is_bare():
            node, level = way.pop()
            node.drop(level)
        return True

    def match(self, topic: str) -> list[str]:
        """Each entry once that has a pattern which matches this topic. Given a pattern instead, those that have one
        which covers it."""
        ends, stays = self._walk(topic)
        found: dict[str, None] = {}
        for nodes in (ends, stays):
            for node in nodes:
                if node.entries is not None:
                    found.update(node.entries)
        return list(found)

    def wants(self, topic: str) -> bool:
        """Whether `match` has any result."""
        ends, stays = self._walk(topic, early=True)
        return any(node.entries is not None for node in ends) or any(node.entries is not None for node in stays)

    def patterns(self) -> list[str]:
        """All patterns, sorted."""
        found: list[str] = []
        todo: list[tuple[_Node, str]] = [(node, level) for level, node in self._root.children()]
        while todo:
            node, path = todo.pop()
            if node.entries is not None:
                found.append(path)
            todo.extend((child, f"{path}{SEPARATOR}{level}") for level, child in node.children())
        return sorted(found)

    def _walk(self, text: str, *, early: bool = False) -> tuple[list[_Node], dict[_Node, None]]:
        """Where one can be after all levels: nodes that were just reached, and those behind a MANY, which stay possible
        whatever follows. If `early`, as soon as one of the latter has entries: no further level takes them away."""
        reached = [self._root]
        stays: dict[_Node, None] = {}
        _stay_behind_many(self._root, stays)
        for level in text.split(SEPARATOR):
            if early and any(node.entries is not None for node in stays):
                break
            if not reached and not stays:
                break
            if level == MANY:  # of a pattern: only a MANY takes it
                reached = []
                continue
            equals = level.find("=")
            wild = f"{level[:equals]}=*" if equals >= 0 else ""
            if wild == level:
                wild = ""
            ahead: list[_Node] = []
            for nodes in (reached, stays):
                for node in nodes:
                    if node.levels is not None:
                        if (child := node.levels.get(level)) is not None:
                            ahead.append(child)
                        if wild and (child := node.levels.get(wild)) is not None:
                            ahead.append(child)
                    if node.one is not None:
                        ahead.append(node.one)
            for node in ahead:
                if node.many is not None:
                    _stay_behind_many(node, stays)
            reached = ahead
        return reached, stays


def _stay_behind_many(node: _Node, stays: dict[_Node, None]) -> None:
    """A MANY takes no level as well: whoever reaches a node has reached the one behind its MANY."""
    behind = node.many
    while behind is not None and behind not in stays:
        stays[behind] = None
        behind = behind.many
