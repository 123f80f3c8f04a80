"""No policy is adopted that is infeasible or riskier than what is in force, unless somebody names its domain."""

from __future__ import annotations

import re

import pytest

from causeway.pipeline.decisions import ADOPT, KEEP, REFUSE, decide


@pytest.mark.parametrize(
    ("present", "proposed", "action", "why"),
    [
        ([0.3, 0.6], [0.01, 0.2], ADOPT, "from 0.300000 to 0.010000"),
        ([0.3, 0.6], [0.1, 0.2], REFUSE, "infeasible"),
        ([], [0.1, 0.2], REFUSE, "infeasible"),
        ([0.3], [0.05], REFUSE, "infeasible"),  # the threshold itself is not below it
        ([0.01, 0.2], [0.02, 0.1], REFUSE, "riskier.*all brokers up"),
        ([0.01, 0.2], [0.01, 0.3], REFUSE, "riskier.*1 failed"),
        ([0.01, 0.2], [0.005, 0.3], ADOPT, "feasible"),
        ([0.01, 0.2], [0.01 + 1e-9, 0.1], ADOPT, "feasible"),
        ([], [0.01], ADOPT, "no owner yet"),
    ],
)
def test_only_what_is_feasible_and_no_riskier_is_adopted(
    present: list[float], proposed: list[float], action: str, why: str
) -> None:
    found = decide(present, proposed, 0.05, changes=3)
    assert found.action == action

    assert re.search(why, found.why)


def test_what_is_in_force_is_kept() -> None:
    assert decide([0.3], [0.3], 0.05, changes=0).action == KEEP
    assert decide([0.3], [0.3], 0.05, changes=0, forced=True).action == KEEP


def test_forced_policy_says_what_was_wrong_with_it() -> None:
    found = decide([0.3], [0.4], 0.05, changes=1, forced=True)
    assert (found.action, found.why.split(":")[0]) == (ADOPT, "forced, although it is infeasible")
