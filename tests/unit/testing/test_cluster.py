"""What a LocalCluster refuses, and that it leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.errors import ConfigError, TransportError
from causeway.testing import LocalCluster


@pytest.mark.parametrize(
    ("field", "options"),
    [("brokers", {"brokers": 0}), ("brokers", {"brokers": "3"}), ("durability", {"durability": "tape"})],
)
def test_bad_cluster_is_refused_by_name(field: str, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        LocalCluster(**options)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_broker_that_does_not_start_is_quoted_and_nothing_is_left(tmp_path: Path) -> None:
    cluster = LocalCluster(brokers=2, copies=99, data=tmp_path)
    with pytest.raises(TransportError, match=r"b1 ended at once.*copies"):
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
        cluster.pause(0)
        cluster.resume(0)
    assert not any(broker.running for broker in cluster.brokers)
    assert not directory.exists()
    cluster.stop()
