"""The generator of the sync client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import unasync

SOURCE = '''"""A loop: `async for x in y`."""

# ruff: noqa: ASYNC109  because

from collections.abc import AsyncIterator, Generator, Iterator

from causeway.client._async.bus import Bus
from causeway.client.aio import LoopEngine


class Thing:
    async def __aenter__(self) -> AsyncIterator[int]:
        async with self.lock:
            await self.engine.wait(await self.other())
        raise StopAsyncIteration

    def __await__(self) -> Generator[None, None, None]:  # async only
        yield

        return None

    async def aclose(self) -> Iterator[LoopEngine]:
        return [x async for x in self]
'''

WANTED = '''# Generated from client/_async/thing.py by tools/unasync.py: edit that file, then run `make generate`.
"""A loop: `for x in y`."""

from collections.abc import Iterator

from causeway.client.threaded import ThreadEngine


class Thing:
    def __enter__(self) -> Iterator[int]:
        with self.lock:
            self.engine.wait(self.other())
        raise StopIteration

    def close(self) -> Iterator[ThreadEngine]:
        return [x for x in self]
'''


def test_async_words_become_sync_and_async_only_definitions_go() -> None:
    assert unasync.lay_out(unasync.convert(SOURCE, "thing.py"), "thing.py") == WANTED


def test_sync_client_is_what_the_async_one_gives() -> None:
    assert unasync.differences(unasync.generate()) == []


def test_any_difference_of_whole_files_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unasync, "TARGET", tmp_path)
    (tmp_path / "same.py").write_text("a = 1\n")
    (tmp_path / "edited.py").write_text("a = 2\n")
    (tmp_path / "stale.py").write_text("")
    wanted = {"same.py": "a = 1\n", "edited.py": "a = 1\n", "missing.py": ""}
    assert unasync.differences(wanted) == ["edited.py", "missing.py", "stale.py"]
