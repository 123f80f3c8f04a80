"""What a status shows of a broker's groups, and how to ask for the rest."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.groups import listing
from causeway.core.messages import Attach, StatusReply, StatusRequest
from tests.property.lone_broker import LoneBroker

NAMES = [f"box-{number}" for number in range(7)]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> LoneBroker:
    monkeypatch.setattr(listing, "STATUS_ENTRIES_MAX", 3)
    broker = LoneBroker()
    for number, name in enumerate(reversed(NAMES), 1):
        broker.client_says(Attach(name, number, 10))
        broker.pass_time()
    return broker


def status(broker: LoneBroker, after: str = "") -> dict[str, object]:
    broker.client_says(StatusRequest(1, after))
    assert broker.said[-1] == StatusReply(1, after)
    return msgspec.json.decode(broker.bodies[-1], type=dict[str, object])


def names(report: dict[str, object], part: str) -> list[str]:
    entries = report[part]
    assert isinstance(entries, list)
    return [entry["name"] for entry in entries]


def test_status_shows_the_directory_first_then_the_first_mailboxes_and_how_many_it_left_out(broker: LoneBroker) -> None:
    report = status(broker)
    assert names(report, "groups") == ["causeway/root", *NAMES[:3]]
    assert names(report, "mailboxes") == NAMES[:3]
    assert (report["groups_truncated"], report["next"]) == (4, NAMES[2])


def test_status_asked_on_shows_every_mailbox_once_and_then_ends(broker: LoneBroker) -> None:
    found: list[str] = []
    after: object = ""
    for _ in range(3):
        assert isinstance(after, str)
        report = status(broker, after)
        found += names(report, "mailboxes")
        after = report["next"]
    assert found == NAMES
    assert (report["groups_truncated"], after) == (0, None)


def test_mailbox_that_ends_between_two_pages_hides_no_other(broker: LoneBroker) -> None:
    assert names(status(broker, "box-2a"), "groups") == NAMES[3:6]
