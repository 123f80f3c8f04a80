"""How needs are written, and what is said about those that cannot be."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.errors import ConfigError
from causeway.limits import PROBES_MAX
from causeway.probes.needs import DEFAULT_PROBES, Need, read_needs


def test_needs_are_read_with_units_and_weights() -> None:
    assert read_needs("cpu=0.5, memory=256MiB*2,disk = 1.5 GiB * 0.25") == (
        Need("cpu", 0.5),
        Need("memory", 256 << 20, 2.0),
        Need("disk", 1.5 * (1 << 30), 0.25),
    )


def test_defaults_are_the_five_resources_alike() -> None:
    needs = read_needs(DEFAULT_PROBES)
    assert [one.probe for one in needs] == ["cpu", "memory", "bandwidth", "battery", "disk"]
    assert {one.weight for one in needs} == {1.0}


@pytest.mark.parametrize(
    ("text", "field", "remedy"),
    [
        ("", "probes", "PROBE=NEED"),
        ("cpu", "probes", "PROBE=NEED"),
        ("cpu=", "probes", "PROBE=NEED"),
        ("cpu=much", "probes", "PROBE=NEED"),
        ("cpu=1GB", "probes", "PROBE=NEED"),
        ("cpu=1*", "probes", "PROBE=NEED"),
        ("cpu=1,,disk=1", "probes", "PROBE=NEED"),
        ("cpu=1,cpu=2", "probes", "once"),
        ("cpu=-1", "probes.cpu.need", "0 or more"),
        ("cpu=inf", "probes.cpu.need", "finite"),
        ("cpu=nan", "probes.cpu.need", "finite"),
        ("cpu=1*-2", "probes.cpu.weight", "0 or more"),
        ("cpu=1*nan", "probes.cpu.weight", "finite"),
        ("cpu=1*1e999", "probes.cpu.weight", "finite"),
        ("cpu=1*0, disk=1*0", "probes", "sum to zero"),
        (",".join(f"p{number}=1" for number in range(PROBES_MAX + 1)), "probes", str(PROBES_MAX)),
    ],
)
def test_wrong_needs_are_refused_by_name(text: str, field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig(name="a", probes=text).check()
    assert refused.value.field == field
    assert remedy in refused.value.remedy
