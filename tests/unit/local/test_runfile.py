"""The run file survives crashes, is private, and says what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from causeway.errors import ConfigError, StoreBusy, StoreError
from causeway.local import runfile
from causeway.local.pids import identify
from causeway.local.runfile import BrokerEntry, RunFile


def _environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path / "run"), "XDG_STATE_HOME": str(tmp_path / "state")}


def test_run_file_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    run = RunFile(
        [BrokerEntry("a", port=7450, process=identify(os.getpid())), BrokerEntry("b")], "memory", 2, formed=True
    )
    runfile.save(tmp_path, run)
    assert runfile.load(tmp_path) == run
    assert run.brokers[0].running
    assert not run.brokers[1].running


def test_url_names_only_brokers_that_have_a_port() -> None:
    run = RunFile([BrokerEntry("a", port=7450), BrokerEntry("b"), BrokerEntry("c", port=7452)])
    assert run.url == "causeway://127.0.0.1:7450,127.0.0.1:7452"


def test_load_finds_nothing_in_an_empty_directory(tmp_path: Path) -> None:
    assert runfile.load(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b'{"brokers": 3}', b"[]"])
def test_load_names_the_file_when_it_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cluster.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"cluster\.json.*damaged.*--data"):
        runfile.load(tmp_path)


def test_load_refuses_a_file_of_another_release(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_bytes(b'{"brokers": [], "version": 99}')
    with pytest.raises(ConfigError, match="version=99"):
        runfile.load(tmp_path)


def test_find_uses_the_cluster_started_last(tmp_path: Path) -> None:
    environ = _environ(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        runfile.save(tmp_path / name, RunFile([BrokerEntry(name)]))
        runfile.remember(tmp_path / name, environ)
    data, run = runfile.find(None, environ)
    assert data == tmp_path / "two"
    assert run.brokers[0].name == "two"
    assert runfile.find(tmp_path / "one", environ)[1].brokers[0].name == "one"


def _starts(data: Path, environ: dict[str, str]) -> None:
    data.mkdir(exist_ok=True)
    runfile.save(data, RunFile([BrokerEntry(data.name, process=identify(os.getpid()))]))
    runfile.remember(data, environ)


def test_every_cluster_that_runs_is_known_the_one_started_last_at_the_end(tmp_path: Path) -> None:
    environ = _environ(tmp_path)
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"
    for data in (one, two, three, one):
        _starts(data, environ)
    assert runfile.running(environ) == [two, three, one]
    runfile.save(two, RunFile([BrokerEntry("two")]))  # it has ended
    (three / "cluster.json").write_text("{")
    assert runfile.running(environ) == [one]
    runfile.forget(one, environ)
    assert runfile.running(environ) == []


def test_find_without_any_cluster_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="causeway up"):
        runfile.find(None, _environ(tmp_path))


def test_forget_leaves_another_cluster_remembered(tmp_path: Path) -> None:
    environ = _environ(tmp_path)
    (tmp_path / "two").mkdir()
    runfile.save(tmp_path / "two", RunFile([]))
    runfile.remember(tmp_path / "two", environ)
    runfile.forget(tmp_path / "one", environ)
    assert runfile.find(None, environ)[0] == tmp_path / "two"
    runfile.forget(tmp_path / "two", environ)
    with pytest.raises(ConfigError):
        runfile.find(None, environ)


def test_runtime_dir_is_private(tmp_path: Path) -> None:
    path = runfile.runtime_dir(_environ(tmp_path))
    assert path.stat().st_mode & 0o777 == 0o700


def test_runtime_dir_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    environ = _environ(tmp_path)
    runfile.runtime_dir(environ).chmod(0o755)
    with pytest.raises(StoreError, match=r"not private.*XDG_RUNTIME_DIR"):
        runfile.runtime_dir(environ)


def test_runtime_dir_that_is_a_link_is_refused(tmp_path: Path) -> None:
    environ = _environ(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "run" / "causeway").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="not private"):
        runfile.runtime_dir(environ)


def test_data_dir_below_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"data=.*may write"):
        runfile.prepare_data_dir(tmp_path / "file" / "data")


def test_two_commands_do_not_hold_the_lock_at_once(tmp_path: Path) -> None:
    taken = pytest.raises(StoreBusy, match="another causeway command")
    with runfile.lock(tmp_path), taken, runfile.lock(tmp_path):
        pass
    with runfile.lock(tmp_path):
        pass


def test_save_leaves_no_temporary_file_behind(tmp_path: Path) -> None:
    runfile.save(tmp_path, RunFile([]))
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.json"]
