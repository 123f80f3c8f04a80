"""`--set FIELD=VALUE`: what is allowed, and what is said about the rest."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from causeway.config import BrokerConfig
from causeway.errors import ConfigError
from causeway.local import runfile
from causeway.local.plan import command, plan
from causeway.local.settings import FIELDS, settings_of, split_settings
from causeway.types import MILLISECOND, SECOND


def test_every_bound_and_timing_can_be_set_and_nothing_that_has_a_flag() -> None:
    flags = {"name", "host", "port", "seeds", "founder", "durability", "copies", "domains", "spare"}
    assert {*FIELDS} == {*BrokerConfig.__struct_fields__} - flags


def test_values_are_read_with_their_units() -> None:
    written = split_settings(
        ["silence=3s", "heartbeat=100ms", "stored_bytes_max=16GiB", "window_bytes=4096", "deliveries_max=9"]
    )
    assert settings_of(written) == {
        "silence": 3 * SECOND,
        "heartbeat": 100 * MILLISECOND,
        "stored_bytes_max": 16 << 30,
        "window_bytes": 4096,
        "deliveries_max": 9,
    }


def test_last_one_of_a_field_counts_and_an_empty_one_asks_for_the_default() -> None:
    assert settings_of(split_settings(["retry=1s", "retry=2s", "silence=3s", "silence="])) == {"retry": 2 * SECOND}


@pytest.mark.parametrize("pair", ["colour=red", "copies=3", "colour", "=3", "check=1"])
def test_unknown_field_is_refused_with_those_that_exist(pair: str) -> None:
    with pytest.raises(ConfigError) as refused:
        split_settings([pair])
    assert pair in str(refused.value)
    assert "stored_bytes_max" in refused.value.remedy


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("silence", "3", "ms or s"),
        ("silence", "3h", "ms or s"),
        ("stored_bytes_max", "8GB", "KiB, MiB or GiB"),
        ("stored_bytes_max", "-1", "KiB, MiB or GiB"),
        ("mailboxes_max", "many", "whole number"),
        ("mailboxes_max", "1s", "whole number"),
        ("mailboxes_max", "9" * 20, "whole number"),
    ],
)
def test_bad_value_is_refused_by_name_with_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings_of({name: value})
    assert (refused.value.field, refused.value.value) == (name, value)
    assert allowed in refused.value.remedy


@pytest.mark.parametrize(
    ("pair", "field"),
    [
        ("silence=300ms", "silence"),
        ("heartbeat=0ms", "heartbeat"),
        ("retry=2000000s", "retry"),
        ("root_copies=10", "root_copies"),
        ("stored_bytes_max=0", "stored_bytes_max"),
        ("stored_bytes_max=9999999999GiB", "stored_bytes_max"),
    ],
)
def test_value_out_of_bounds_is_refused_before_anything_is_started(pair: str, field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan(None, settings=split_settings([pair]))
    assert refused.value.field == field


def test_settings_reach_every_broker_and_are_remembered(tmp_path: Path) -> None:
    runfile.save(tmp_path, plan(None, settings={"silence": "3s", "mailboxes_max": "7"}))
    again = plan(runfile.load(tmp_path), settings={"retry": "1s", "mailboxes_max": ""})
    for entry in again.brokers:
        line = command(tmp_path, again, entry)
        assert [value for flag, value in pairwise(line) if flag == "--set"] == ["silence=3s", "retry=1s"]
