"""Every planted fault is found or doubted: one file each in `faults`, planted into a healthy lake, alone."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from causeway.pipeline.audit.certificate import (
    AS_FAR_AS_KNOWN,
    BROKEN,
    CLEAN,
    FEWER_COPIES,
    IN_DOUBT,
    PROMISES,
    guarantees_in,
    verdict_of,
)
from causeway.pipeline.audit.doubts import Doubts
from causeway.pipeline.audit.whole import audit_rows
from causeway.pipeline.audit.words import VIOLATIONS, Judgement
from tests.pipeline.fault_lake import Row, Segments, healthy

FOLDER = Path(__file__).with_name("faults")
FAULTS = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


class Verdict:
    """What the audit says of some segments."""

    def __init__(self, segments: Segments) -> None:
        rows: list[Any] = [row for segment in segments.values() for row in segment]
        audited = audit_rows(rows)
        asked = Doubts(audited.doubts, audited.lives)
        self.verdicts = [asked.judged(one) if one.reason else one for one in audited.verdicts]
        self.doubts = audited.doubts
        self.guarantees = guarantees_in(one._asdict() for one in self.verdicts)
        self.word = verdict_of(self.guarantees, len(audited.doubts))

    @property
    def findings(self) -> list[Judgement]:
        return [one for one in self.verdicts if one.reason]


def planted(name: str) -> Segments:
    fault = importlib.import_module(f"tests.pipeline.faults.{name}")
    lake = healthy()
    if hasattr(fault, "plant"):
        fault.plant(lake)
    segments = lake.finished()
    if hasattr(fault, "tamper"):
        fault.tamper(segments)
    return segments


def test_lake_without_faults_is_clean_and_keeps_every_promise_that_there_is() -> None:
    verdict = Verdict(healthy().finished())
    assert (verdict.word, verdict.findings, verdict.doubts) == (CLEAN, [], [])
    assert set(verdict.guarantees) == set(VIOLATIONS) == set(PROMISES)


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found_or_doubted(name: str) -> None:
    segments = planted(name)
    assert by_content(segments) != by_content(healthy().finished()), "the fault changes nothing"
    verdict = Verdict(segments)
    assert verdict.word in (BROKEN, IN_DOUBT, AS_FAR_AS_KNOWN, FEWER_COPIES)
    if verdict.word in (BROKEN, IN_DOUBT):
        assert all(one.evidence for one in verdict.findings)


def by_content(segments: Segments) -> Counter[str]:
    rows: list[Row] = [row for segment in segments.values() for row in segment]
    return Counter(repr(sorted(row.items())) for row in rows)


def test_every_rule_has_a_planted_fault_that_it_finds() -> None:
    broken = {one.guarantee for name in FAULTS for one in Verdict(planted(name)).findings if one.outcome == "violated"}
    assert broken == set(VIOLATIONS)
