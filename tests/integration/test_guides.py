"""The guides in docs/: their Python runs from top to bottom as printed, their commands exist."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from causeway.domains.tables import read_traffic
from causeway.placement.tables import read_description
from causeway.testing import LocalCluster
from tests.integration.documents import PRINTED_URL, ROOT, blocks, check_commands

GUIDES = ("causal.md", "client.md", "operations.md", "domains.md", "placement.md")


async def run(document: str, url: str, **names: Any) -> dict[str, Any]:
    """Run a document's Python as `python -m asyncio` would; the names it leaves."""
    for block in blocks(document, "python"):
        code = compile(
            block.replace(PRINTED_URL, url), str(ROOT / document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        result = eval(code, names)
        if inspect.iscoroutine(result):
            await result
    return names


async def test_client_guide_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    async with LocalCluster(brokers=3) as cluster:  # its own: other documents use the same mailboxes
        names = await run("docs/client.md", cluster.url, __name__="guide")
        names["test_orders_are_booked"](cluster)
    printed = capsys.readouterr().out
    assert printed.startswith("shop:")
    assert "order 18 shop 9 {'currency': 'EUR', 'cents': 1250}" in printed
    assert printed.index("order 18") < printed.index("order 17"), "a higher priority overtakes"


async def test_jms_guide_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    async with LocalCluster(brokers=3) as cluster:
        await run("docs/jms.md", cluster.url, __name__="guide")
    assert capsys.readouterr().out == "17 7\norder 17\n"


async def test_guide_of_topics_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    async with LocalCluster(brokers=3) as cluster:
        await run("docs/topics.md", cluster.url, __name__="guide")
    assert capsys.readouterr().out == "roads/a1/speed 120 radar\n"


async def test_guide_of_causal_order_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    async with LocalCluster(brokers=3) as cluster:
        names = await run("docs/causal.md", cluster.url, __name__="guide")
        for name in ("editor", "reporter", "desk"):
            await names[name].aclose()
    assert capsys.readouterr().out == (
        "editor news/storm storm over the coast\nreporter None it has reached us: storm over the coast\n"
    )


async def test_guide_of_domains_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Its blocks of text after Python are what that prints; the first text block of all is a table for `plan`."""
    await run("docs/domains.md", PRINTED_URL, __name__="guide")
    table, *printed = [block.lstrip("\n") for block in _texts_in_order("docs/domains.md")]
    assert capsys.readouterr().out == "".join(printed)
    assert read_traffic(table).units == ("b1", "b2", "b3")


async def test_guide_of_operations_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    await run("docs/operations.md", PRINTED_URL, __name__="guide")
    assert capsys.readouterr().out == "0.37\n"


async def test_guide_of_placement_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """As that of domains; its last text block is a description for `plan`."""
    await run("docs/placement.md", PRINTED_URL, __name__="guide")
    *printed, table = [block.lstrip("\n") for block in blocks("docs/placement.md", "text")]
    assert capsys.readouterr().out == "".join(printed)
    assert read_description(table).model.items == ("orders", "prices")


def _texts_in_order(document: str) -> list[str]:
    texts = blocks(document, "text")
    return sorted(texts, key=lambda block: not block.lstrip("\n").startswith("from,to"))


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_of_a_guide_exist(guide: str) -> None:
    assert sum(map(check_commands, blocks(f"docs/{guide}", "sh"))) >= 3
