"""The case base: every state, found at once, sent and read again; the same numbers, the same version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from causeway.errors import ConfigError
from causeway.placement import Instance, from_moments, place
from causeway.placement.cases import CaseBase, build_cases, version_of
from causeway.placement.policy import changes, policy_of
from tests.unit.placement.cases import large_instance
from tests.unit.placement.paper import BROKERS, COVARIANCE, ITEMS, MEANS, paper_instance


def paper_cases() -> CaseBase:
    instance = paper_instance()
    found = place(instance)
    return build_cases(instance, policy_of(instance, found.owner, found.mirror))


def test_all_up_every_single_and_every_double_failure_are_foreseen() -> None:
    base = paper_cases()
    assert len(base) == 1 + 3 + 3
    assert frozenset({"b1", "b3"}) in base
    up, down = base.policy(), base.policy(frozenset({"b2"}))
    assert set(down.owners.values()) == set(down.mirrors.values()) == {"b1", "b3"}
    told = {change.item for change in changes(up, down)}
    assert told == set(base.difference(frozenset({"b2"})))
    assert base.policy(frozenset({"b1", "b2"})).mirrors == {}


def test_case_base_travels_as_plain_values() -> None:
    base = paper_cases()
    again = CaseBase.from_builtins(json.loads(json.dumps(base.to_builtins())))
    assert again.version == base.version
    assert len(again) == len(base)
    for broken in ((), ("b1",), ("b2", "b3")):
        assert again.policy(frozenset(broken)) == base.policy(frozenset(broken))


def test_version_is_that_of_the_numbers() -> None:
    assert version_of(paper_instance()) == version_of(paper_instance())
    other = Instance(from_moments([151.0, *MEANS[1:]], COVARIANCE, ITEMS), BROKERS)
    versions = [version_of(one) for one in (paper_instance(), other, paper_instance(threshold=0.1))]
    assert len(set(versions)) == 3


def test_states_that_nobody_foresaw_are_named() -> None:
    base = paper_cases()
    with pytest.raises(ConfigError, match="none of these brokers"):
        base.policy(frozenset({"b9"}))
    with pytest.raises(ConfigError, match="not foreseen"):
        base.difference(frozenset({"b1", "b2", "b3"}))


@pytest.mark.parametrize(
    ("field", "value"),
    [("owners", [0]), ("owners", [9] * 6), ("cases", [[[7], []]]), ("cases", [[[0], [[6, 0, 1]]]]), ("items", 3)],
)
def test_damaged_case_base_is_refused(field: str, value: Any) -> None:
    values = paper_cases().to_builtins()
    values[field] = value
    with pytest.raises(ConfigError, match="case base"):
        CaseBase.from_builtins(values)


def test_cases_of_many_items_store_only_what_differs() -> None:
    instance = large_instance(300, 12, 0.6)
    found = place(instance, seed=1)
    base = build_cases(instance, policy_of(instance, found.owner, found.mirror))
    assert len(base) == 1 + 12 + 66
    for broken in (frozenset({"b3"}), frozenset({"b0", "b7"})):
        touched = sum(1 for one, two in zip(found.owner, found.mirror, strict=True) if {f"b{one}", f"b{two}"} & broken)
        assert len(base.difference(broken)) == touched < 150
