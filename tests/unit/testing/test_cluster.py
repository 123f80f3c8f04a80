"""What a LocalCluster refuses, and that it leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from causeway.errors import CausewayError, ConfigError
from causeway.local import runfile
from causeway.local.plan import plan
from causeway.local.seating import Seating
from causeway.testing import LocalCluster


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("brokers", {"brokers": 0}),
        ("brokers", {"brokers": "3"}),
        ("durability", {"durability": "tape"}),
        ("copies", {"copies": 99}),
        ("domains", {"domains": ["main"]}),
        ("domains", {"domains": "a/b"}),
        ("domains", {"brokers": 2, "domains": ["a", ["a", "b/c"]]}),
        ("spares", {"spares": 1, "domains": None}),
    ],
)
def test_bad_cluster_is_refused_by_name(field: str, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        LocalCluster(**options)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_domains_that_close_a_cycle_are_refused_with_the_cycle() -> None:
    with pytest.raises(ConfigError, match=r"'b2 \[a\] b1 \[b\] b2': domains must form a tree"):
        LocalCluster(brokers=2, domains=[["a", "b"], ["a", "b"]])


def test_cluster_that_is_resumed_takes_more_domains_and_leaves_none(tmp_path: Path) -> None:
    runfile.save(tmp_path, plan(None, durability="memory", seating=Seating(seats={"x": ("a",), "y": ("a",)})))
    more = LocalCluster(brokers=3, data=tmp_path, domains=["a", ["a", "b"], "b"])
    assert [(entry.name, entry.domains) for entry in more._cluster.run.brokers] == [
        ("x", ["a"]),
        ("y", ["a", "b"]),
        ("b1", ["b"]),
    ]
    with pytest.raises(ConfigError, match="x is in a already"):
        LocalCluster(brokers=2, data=tmp_path, domains=["b", "a"])
    with pytest.raises(ConfigError, match="brokers=1: the cluster there has 2"):
        LocalCluster(brokers=1, data=tmp_path, domains=["a"])


def test_broker_that_does_not_start_is_quoted_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "b1").write_text("where its store should be")
    cluster = LocalCluster(brokers=2, durability="disk", data=tmp_path)
    with pytest.raises(CausewayError, match=r"b1: .*data"):
        cluster.start()
    assert not any(broker.running for broker in cluster.brokers)


def test_cluster_starts_is_hurt_and_stops(tmp_path: Path) -> None:
    with LocalCluster(brokers=2) as cluster:
        directory = cluster.brokers[0].log.parent
        assert cluster.url.count(",") == 1
        assert cluster.status(0)["broker"] == "b1"
        cluster.kill(1)
        assert [broker.running for broker in cluster.brokers] == [True, False]
        with pytest.raises(ConfigError, match="is running"):
            cluster.restart(0)
        cluster.wait_settled()
        cluster.pause(0)
        assert cluster.brokers[0].paused
        cluster.resume(0)
        assert not cluster.brokers[0].paused
        cluster.restart(1)
        assert [broker.running for broker in cluster.brokers] == [True, True]
        cluster.pause(1)
    assert not any(broker.running for broker in cluster.brokers)
    assert not directory.exists()
    cluster.stop()


@pytest.mark.parametrize("durability", ["memory", "disk"])
def test_founder_that_comes_back_joins_the_others_instead_of_founding_again(durability: str) -> None:
    with LocalCluster(brokers=3, durability=durability) as cluster:
        cluster_id = cluster.status(0)["cluster"]
        cluster.kill(0)
        cluster.restart(0)
        assert "--founder" not in _command_line(cluster, 0)
        assert [cluster.status(index)["cluster"] for index in range(3)] == [cluster_id] * 3


async def test_cluster_whose_memory_is_gone_begins_anew_whoever_comes_first() -> None:
    """Called from a running event loop, too: the calls block, as they do elsewhere."""
    async with LocalCluster(brokers=2) as cluster:
        for index in (0, 1):
            cluster.kill(index)
        cluster.restart(1)
        cluster.restart(0)
        assert ["--founder" in _command_line(cluster, index) for index in (0, 1)] == [False, True]
        assert cluster.status(0)["cluster"] == cluster.status(1)["cluster"]


def test_kept_directory_is_resumed(tmp_path: Path) -> None:
    with LocalCluster(brokers=1, durability="disk", data=tmp_path) as cluster:
        url, cluster_id = cluster.url, cluster.status(0)["cluster"]
    with LocalCluster(brokers=1, durability="disk", data=tmp_path) as cluster:
        assert (cluster.url, cluster.status(0)["cluster"]) == (url, cluster_id)


@pytest.mark.parametrize("index", [7, -4, "b1", True])
def test_broker_that_is_not_there_is_refused(index: Any) -> None:
    cluster = LocalCluster(brokers=3)
    try:
        for call in (cluster.kill, cluster.restart, cluster.pause, cluster.resume, cluster.status):
            with pytest.raises(ConfigError, match="0 to 2; b1 has 0"):
                call(index)
    finally:
        cluster.stop()


def _command_line(cluster: LocalCluster, index: int) -> list[str]:
    process = cluster.brokers[index].process
    assert process is not None
    return Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
