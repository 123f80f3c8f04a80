"""The judge of fields: everything sound passes, and each single wrong field is named."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.mail import faults
from causeway.core.messages import Attach, Browse, Commit, Interest, SendPart, SettlePart
from causeway.limits import (
    BATCH_COUNT_MAX,
    ID_MAX,
    OPERATION_BYTES_MAX,
    SPANS_MAX,
    TRANSACTION_PARTS_MAX,
    TTL_NS_MAX,
)
from causeway.names import seat_name
from causeway.wire.body import join
from tests.unit.core.mail.postroom import body_of, deposit

TWO = join([b"a", b"b"])
LARGEST_INT = (1 << 64) - 1


def send(first: int = 1, count: int = 2, size: int = len(TWO), **fields: object) -> SendPart:
    values: dict[str, object] = {"dest": "x", "first": first, "count": count, "flags": 0, "priority": 4, "ttl": 0}
    return SendPart(**{**values, "size": size, **fields})  # type: ignore[arg-type]


def commit(*sends: SendPart, settles: tuple[SettlePart, ...] = (), number: int = 1) -> Commit:
    return Commit("app", 9, number, sends, settles)


def test_sound_batch_has_no_fault() -> None:
    for head in (
        deposit(1),
        deposit(5, 3, follows=4),
        deposit(ID_MAX - 1, ttl=TTL_NS_MAX, priority=9, flags=0xFFFF),
        deposit(1, BATCH_COUNT_MAX, priority=0),
    ):
        assert faults.deposit_fault(head, body_of(head)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", ""),
        ("source", "x" * 256),
        ("dest", "causeway/root"),
        ("dest", "tab\there"),
        ("dest", "orders~2"),
        ("dest", "a~b~0000000000000001"),
        ("stream", -1),
        ("stream", 3),
        ("first", 0),
        ("first", ID_MAX),
        ("first", LARGEST_INT),
        ("follows", 1),
        ("follows", -1),
        ("count", 0),
        ("count", BATCH_COUNT_MAX + 1),
        ("flags", -1),
        ("flags", 0x10000),
        ("priority", -1),
        ("priority", 10),
        ("ttl", -1),
        ("ttl", TTL_NS_MAX + 1),
    ],
)
def test_one_wrong_field_of_a_batch_is_named(field: str, value: object) -> None:
    sound = deposit(1)
    fault = faults.deposit_fault(msgspec.structs.replace(sound, **{field: value}), body_of(sound))
    assert fault is not None
    assert field in fault


def test_body_must_fit_its_length_table_and_the_bound() -> None:
    head = deposit(1, 2)
    assert faults.deposit_fault(head, TWO) is None
    assert "length table" in str(faults.deposit_fault(head, TWO + b"!"))
    large = deposit(1)
    assert faults.deposit_fault(large, join([bytes(OPERATION_BYTES_MAX - 4)])) is None
    assert "at most" in str(faults.deposit_fault(large, join([bytes(OPERATION_BYTES_MAX)])))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"source": ""}, "source"),
        ({"dest": "\x00"}, "dest"),
        ({"incarnation": -1}, "incarnation"),
        ({"incarnation": ID_MAX + 1}, "incarnation"),
        ({"origin": b"short"}, "origin"),
    ],
)
def test_wrong_names_in_a_broker_message_are_found(changes: dict[str, object], named: str) -> None:
    assert faults.naming_fault(deposit(1)) is None
    assert faults.naming_fault(deposit(1, origin=b"", incarnation=ID_MAX)) is None
    assert named in str(faults.naming_fault(msgspec.structs.replace(deposit(1), **changes)))


@pytest.mark.parametrize("span", [(-1, 3), (4, 3), (0, ID_MAX + 1)])
def test_span_that_is_no_range_of_numbers_is_shown(span: tuple[int, int]) -> None:
    assert faults.spans_fault([(0, 0), (3, ID_MAX)]) is None
    assert f"{span[0]}..{span[1]}" in str(faults.spans_fault([(0, 0), span]))


def test_settlement_has_a_bounded_number_of_spans() -> None:
    spans = [(2 * n, 2 * n) for n in range(SPANS_MAX + 1)]
    assert faults.spans_fault(spans[1:]) is None
    assert str(SPANS_MAX + 1) in str(faults.spans_fault(spans))


def test_sound_transaction_has_no_fault() -> None:
    settles = (SettlePart("orders", ((1, 2), (7, 7))),)
    assert faults.transaction_fault(commit(send(), send(dest="y"), settles=settles), TWO + TWO) is None
    assert faults.transaction_fault(commit(settles=settles), b"") is None


@pytest.mark.parametrize(
    ("head", "body", "named"),
    [
        (commit(send(), number=0), TWO, "number=0"),
        (commit(send(), number=ID_MAX + 1), TWO, "number="),
        (commit(send(dest="causeway/root")), TWO, "dest="),
        (commit(send(priority=10)), TWO, "priority=10"),
        (commit(send(size=-1)), TWO, "size=-1"),
        (commit(send(size=len(TWO) + 1)), TWO, "size="),
        (commit(send()), TWO + b"!", "body:"),
        (commit(settles=(SettlePart("", ((1, 1),)),)), b"", "mailbox="),
        (commit(settles=(SettlePart("orders", ((2, 1),)),)), b"", "spans:"),
        (commit(*(send(size=0, count=1) for _ in range(TRANSACTION_PARTS_MAX + 1))), b"", "parts"),
        (commit(*(send(size=0, dest="d" * 255) for _ in range(300))), b"", "sends, settles:"),
    ],
)
def test_one_fault_of_a_transaction_is_named(head: Commit, body: bytes, named: str) -> None:
    assert named in str(faults.transaction_fault(head, body))


def test_transaction_has_a_bounded_body_and_spans_over_all_its_settlements() -> None:
    body = bytes(OPERATION_BYTES_MAX + 1)
    assert "at most" in str(faults.transaction_fault(commit(send(size=len(body))), body))
    half = tuple((2 * n, 2 * n) for n in range(SPANS_MAX // 2 + 1))
    settles = (SettlePart("a", half), SettlePart("b", half))
    assert "spans:" in str(faults.transaction_fault(commit(settles=settles), b""))


def test_bad_name_is_judged_anew_and_not_remembered_as_good() -> None:
    for _ in range(2):
        assert faults.name_fault("dest", "") is not None
        assert faults.name_fault("dest", "fine") is None


def test_refusal_names_the_field_it_was_asked_about() -> None:
    assert str(faults.name_fault("mailbox", "")).startswith("mailbox=")


@pytest.mark.parametrize(
    ("interest", "named"),
    [
        (Interest("a/#", seat=seat_name("b1")), None),
        (Interest("a/#"), "interest"),
        (Interest("a/#", seat="b1"), "seat"),
        (Interest("a/#", seat=seat_name("b" * 256)), "seat"),
        (Interest("a/#", seat=seat_name("b1"), replay=True), "replay"),
        (Interest("a/#", seat=seat_name("b1"), overflow=1), "overflow"),
        (Interest("a/#", seat=seat_name("b1"), bytes_max=7), "bytes_max"),
    ],
    ids=["sound", "no-seat", "no-group", "long", "replay", "overflow", "bound"],
)
def test_topics_of_an_ordinary_mailbox_come_from_a_seat_and_drop_nothing(interest: Interest, named: str | None) -> None:
    fault = faults.attach_fault(Attach("orders", 1, 10, interest=interest), ("app", 9))
    assert (fault is None) == (named is None)
    assert named is None or named in str(fault)


@pytest.mark.parametrize(
    ("topics", "named"),
    [(("roads/#",), None), (("roads//a",), "topics"), (("a",) * 33, "at most 32"), ((), None)],
)
def test_patterns_of_a_look_are_few_and_canonical(topics: tuple[str, ...], named: str | None) -> None:
    fault = faults.browse_fault(Browse("history/roads/#", 1, -1, 10, topics=topics))
    assert fault is None if named is None else named in (fault or "")
