"""`causeway demo`, the main job in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.processes import causeway, environment, json_lines

pytestmark = pytest.mark.slow


def test_demo_holds_every_guarantee_and_leaves_nothing_behind(tmp_path: Path) -> None:
    environ = environment(tmp_path, TMPDIR=str(tmp_path))
    done = causeway("demo", "--seconds", "5", "--json", environ=environ)
    [result] = json_lines(done.stdout)
    assert result["holds"] is True, result["complaints"]
    assert done.returncode == 0, done.stderr
    classes = {line["kind"]: line for line in result["classes"]}
    assert list(classes) == ["express-unreliable", "express", "recoverable", "transactional", "published"]
    for kind, line in classes.items():
        assert line["sent"] > 100, kind
        assert (line["doubled"], line["lost"], line["disordered"]) == (0, 0, 0), kind
    for kind in ("recoverable", "transactional", "published"):
        assert classes[kind]["acknowledged"] == classes[kind]["delivered"]
        assert classes[kind]["lost_allowed"] == 0
    assert len(result["applications"]) == 6
    assert result["killed"]["mailboxes"], "the busiest broker owns mailboxes"
    assert list(tmp_path.glob("causeway-demo-*")) == []


def test_demo_prints_tables_for_people_and_keeps_the_cluster_when_asked(tmp_path: Path) -> None:
    environ = environment(tmp_path, TMPDIR=str(tmp_path))
    done = causeway("demo", "--seconds", "3", "--keep", environ=environ)
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        assert "every guarantee held" in done.stdout
        assert all(len(line) <= 80 for line in done.stdout.splitlines())
        assert "causeway down" in done.stderr
        sent = causeway("send", "billing", "hello", environ=environ)
        assert sent.returncode == 0, sent.stderr
    finally:
        down = causeway("down", "--json", environ=environ)
    assert down.returncode == 0, down.stderr
    assert len(json_lines(down.stdout)[0]["stopped"]) == 4, "all but the killed one"


def test_demo_refuses_what_it_cannot_show(tmp_path: Path) -> None:
    for arguments, field in ((["--brokers", "2"], "brokers"), (["--seconds", "0"], "seconds")):
        done = causeway("demo", *arguments, "--json", environ=environment(tmp_path))
        assert done.returncode == 2
        assert json_lines(done.stdout)[0]["error"]["field"] == field
