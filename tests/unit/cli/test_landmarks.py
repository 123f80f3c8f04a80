"""One picture of a domain out of what its agents report, and what people see of it."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from causeway.cli import status as status_module
from causeway.cli.landmarks import SEATS_SHOWN_MAX, BottleneckLine, HeldSeat, WatchedDomain, domain_lines, domain_view
from causeway.cli.view import ClusterView, merge


def _agent(broker: str, *, seated: bool, fitness: int = 1000, capacity: int = 0) -> dict[str, Any]:
    figures = {"spare": not seated, "capability": 1000, "fitness": fitness, "capacity": capacity}
    return {**figures, "broker": broker, "seated": seated, "reachable": broker != "gone"}


def _said(term: int, version: int, seats: dict[str, str], *, domain: str = "main", **more: Any) -> dict[str, Any]:
    """What one broker reports of a domain; `failed` and the like only if it is landmark."""
    names = dict.fromkeys([*seats, *seats.values(), "spare", "gone"])
    return {
        "domain": domain,
        "landmark": f"l{term}",
        "term": term,
        "version": version,
        "agents": [_agent(name, seated=name in seats.values(), fitness=981, capacity=6200) for name in names],
        "seats": [{"seat": seat, "holder": holder, "since": 1} for seat, holder in seats.items()],
        "blocked": None,
        **more,
    }


def _reports(*said: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"agents": [one]} for one in said]


def shown(line: WatchedDomain) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(domain_view(line))
    return console.export_text()


def test_the_latest_directory_counts_and_of_landmarks_the_latest_one() -> None:
    old = _said(4, 9, {"a": "a"}, failed=["x"], flapping=[], lost=["old"], blocked="was cut off")
    new = _said(5, 7, {"a": "spare"}, failed=["a"], flapping=["a"], lost=["billing"])
    behind = _said(5, 6, {"a": "a"}, blocked="a and b are away, as far as can be seen from here")
    [line] = domain_lines(_reports(old, new, behind))
    assert (line.landmark, line.term) == ("l5", 5)
    assert line.seats == [HeldSeat(seat="a", holder="spare")]
    assert [(one.broker, one.fitness, one.capacity, one.reachable) for one in line.spares] == [
        ("a", 981, 6200, True),
        ("gone", 981, 6200, False),
    ]
    assert (line.failed, line.flapping, line.lost, line.blocked) == (["a"], ["a"], ["billing"], "")


def test_without_a_landmark_the_others_say_why() -> None:
    [line] = domain_lines(_reports(_said(5, 7, {"a": "a"}), _said(5, 7, {"a": "a"}, blocked="2 of 3 are needed")))
    assert line.blocked == "2 of 3 are needed"


def test_domains_are_in_order_and_brokers_without_any_are_passed_over() -> None:
    reports = [{}, *_reports(_said(1, 1, {}, domain="west"), _said(1, 1, {}, domain="east"))]
    assert [line.domain for line in domain_lines(reports)] == ["east", "west"]


def test_people_see_who_holds_the_seat_of_another_and_how_fit_spares_are() -> None:
    [line] = domain_lines(_reports(_said(5, 7, {"a": "a", "b": "c"}, failed=["b"], flapping=[], lost=[])))
    text = shown(line)
    assert "domain main: landmark l5, term 5" in text
    assert "a, b (held by c)" in text
    assert "spare (fitness 0.98, 6,200 messages/s)" in text
    assert "gone (fitness 0.98, 6,200 messages/s, not reachable)" in text
    assert text.splitlines()[-1].split() == ["failed", "b"]
    assert "flapping" not in text


def test_many_seats_that_nobody_took_are_a_number() -> None:
    usual = [HeldSeat(seat=f"b{n}", holder=f"b{n}") for n in range(SEATS_SHOWN_MAX + 1)]
    line = WatchedDomain(domain="main", seats=[*usual, HeldSeat(seat="x", holder="y")])
    text = shown(line)
    assert "no landmark yet" in text
    assert f"{SEATS_SHOWN_MAX + 1} held by their own brokers, x (held by y)" in text


@pytest.mark.parametrize("as_json", [True, False])
def test_status_says_that_a_landmark_cannot_decide(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    async def survey(addresses: object) -> ClusterView:
        return merge([], _reports(_said(5, 7, {"a": "a"}, blocked="2 of 3 are needed")))

    monkeypatch.setattr(status_module, "survey", survey)
    status_module.status(url="causeway://127.0.0.1:1", as_json=as_json)
    said = capsys.readouterr().out
    if as_json:
        assert msgspec.json.decode(said)["agents"][0]["blocked"] == "2 of 3 are needed"
    else:
        assert "main can give away no seat: 2 of 3 are needed" in said


def test_bottlenecks_are_those_of_the_landmark_and_shown_one_by_one() -> None:
    slow = {"about": "orders [eu]", "broker": "b3", "kind": "consumer", "note": "'app' holds 10", "seconds": 9}
    old = _said(4, 9, {"a": "a"}, failed=[], bottlenecks=[{**slow, "about": "old"}])
    [line] = domain_lines(_reports(old, _said(5, 7, {"a": "a"}, failed=[], bottlenecks=[slow])))
    assert line.bottlenecks == [BottleneckLine(**slow)]
    assert "bottleneck orders [eu] (consumer, for 9 s, says b3): 'app' holds 10" in shown(line)
    [quiet] = domain_lines(_reports(_said(5, 7, {"a": "a"}, failed=[])))
    assert "bottleneck" not in shown(quiet)
