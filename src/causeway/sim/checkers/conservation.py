"""Conservation: what is moved between mailboxes by transactions is neither lost nor multiplied."""

from __future__ import annotations

from causeway.sim.checkers.base import Checker
from causeway.sim.letters import Letter


class Conservation(Checker):
    """Tokens travel in letters, one letter after the other; each token comes home in one letter."""

    def __init__(self) -> None:
        super().__init__()
        self._token: dict[Letter, int] = {}
        self._home: dict[int, Letter] = {}
        self._issued: dict[int, None] = {}

    def issued(self, token: int, letter: Letter) -> None:
        """A token begins its journey."""
        self._issued[token] = None
        self._token[letter] = token

    def moved(self, old: Letter, new: Letter) -> None:
        """A transaction puts the token of one letter into another (if it is committed)."""
        self._token[new] = self._token[old]

    def came_home(self, letter: Letter) -> None:
        """The token was taken out of circulation; letters without one are ignored."""
        token = self._token.get(letter)
        if token is None:
            return
        before = self._home.setdefault(token, letter)
        if before != letter:
            self.complain(f"token {token} exists twice: in {before} and in {letter}")

    def abroad(self) -> int:
        """Tokens not home yet."""
        return len(self._issued) - len(self._home)

    def finish(self) -> None:
        missing = [token for token in self._issued if token not in self._home]
        if missing:
            last = {token: letter for letter, token in self._token.items()}
            self.complain(f"{len(missing)} tokens were lost, token {missing[0]} last in {last[missing[0]]}")
