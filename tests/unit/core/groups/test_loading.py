"""Rows read from our own store: transfers to newcomers, and damaged rows mended from other members."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.core.events import OwnershipGained, PageLoaded
from causeway.core.messages import Chosen, Chunk, Chunked, Fetch, Fetched, Installed, NotMember, Prepare
from causeway.limits import FETCHED_ROWS_MAX
from causeway.store.base import Delete, Row
from causeway.types import Peer
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, config, encoded, incomplete_in, put, rows_in

RETRY = BrokerConfig(name="x").retry


# Transfer: the owner's side --------------------------------------------------------------------------------------
def filling(*, page_bytes: int = 1 << 40, read: bool = True) -> Bench:
    """A owns b1 to b4 and fills C; the first chunk is on its way (or being read)."""
    bench = Bench(A)
    bench.own(config(A, B))
    for number in range(1, 5):
        bench.append(put(b"b%d" % number, b"%d" % number))
    bench.settle()
    bench.page_bytes = page_bytes
    bench.feed(B, Chosen(KEY, config(A, B, C, epoch=8, incomplete=(C,))))
    bench.durable()
    bench.feed(B, Installed(KEY, 8, 5))
    bench.forget()
    bench.feed(C, Installed(KEY, 8, 5))
    if read:
        bench.read()
    return bench


def last_chunk(bench: Bench) -> tuple[Chunk, dict[bytes, bytes]]:
    return bench.said(Chunk, to=C)[-1], rows_in(bench.body_of(Chunk))


def test_newcomer_that_installed_the_epoch_gets_all_rows_as_of_a_position() -> None:
    head, rows = last_chunk(filling())
    assert (head.epoch, head.token, head.at, head.start) == (8, C.store, 5, b"")
    assert rows == {b"b%d" % n: b"%d" % n for n in range(1, 5)}


def test_chunk_is_brought_up_to_date_with_what_was_appended_during_its_load() -> None:
    bench = filling(read=False)
    bench.append(put(b"b2", b"two", 5), put(b"b9", b"nine", 5))
    bench.append(Delete(KEY, b"b3"))
    bench.append(Delete(KEY, b"b9", b"b9\xff"), put(b"b5", b"five", 7))
    bench.read()
    head, rows = last_chunk(bench)
    assert head.at == 8
    assert rows == {b"b1": b"1", b"b2": b"two", b"b4": b"4", b"b5": b"five"} == bench.rows()


def test_chunk_holds_nothing_that_was_appended_behind_its_interval() -> None:
    bench = filling(read=False, page_bytes=2)
    bench.append(put(b"b9", b"nine", 5), Delete(KEY, b"b1"))
    bench.read()
    head, rows = last_chunk(bench)
    assert (head.stop, rows) == (b"b3", {b"b2": b"2"})


def test_next_interval_follows_when_the_former_is_stored() -> None:
    bench = filling(page_bytes=2)
    bench.feed(C, Chunked(KEY, 8, b"", True))
    bench.read()
    head, rows = last_chunk(bench)
    assert (head.start, rows) == (b"b3", {b"b3": b"3", b"b4": b"4"})


def test_refused_interval_is_read_again() -> None:
    bench = filling(page_bytes=2)
    bench.append(Delete(KEY, b"b1"))
    bench.feed(C, Chunked(KEY, 8, b"", False))
    bench.read()
    head, rows = last_chunk(bench)
    assert (head.start, head.at) == (b"", 6)
    assert rows == {b"b2": b"2", b"b3": b"3"}


def test_unanswered_interval_is_sent_again() -> None:
    bench = filling()
    bench.forget()
    bench.pass_time(2 * RETRY)
    bench.read()
    head, rows = last_chunk(bench)
    assert (head.start, len(rows)) == (b"", 4)


def test_late_and_repeated_answers_to_a_chunk_skip_nothing() -> None:
    bench = filling(page_bytes=2)
    bench.feed(C, Chunked(KEY, 8, b"", True))
    bench.feed(C, Chunked(KEY, 8, b"", True))
    bench.read()
    bench.feed(C, Chunked(KEY, 8, b"", True))
    assert [head.start for head in bench.said(Chunk)] == [b"", b"b3"]
    assert not bench.said(Prepare)


def test_newcomer_with_all_intervals_becomes_complete_in_the_next_epoch() -> None:
    bench = filling(page_bytes=2)
    bench.feed(C, Chunked(KEY, 8, b"", True))
    bench.read()
    assert not bench.said(Prepare)
    bench.feed(C, Chunked(KEY, 8, b"b3", True))
    bench.settle()
    bench.feed(C, Chunked(KEY, 8, bench.said(Chunk)[-1].start, True))
    assert bench.said(Prepare, to=C)
    assert incomplete_in(bench.elect(B, C, seq=5)) == []


def test_chunk_read_again_does_not_bring_back_what_changed_in_an_interval_already_stored() -> None:
    """Read again after a lost answer, then the answer comes after all: the page is of the interval before."""
    bench = filling(page_bytes=2)
    bench.pass_time(2 * RETRY)
    assert bench.reading
    bench.feed(C, Chunked(KEY, 8, b"", True))
    bench.append(put(b"b2", b"changed", 5))
    newcomer = {b"b1": b"1", b"b2": b"changed"}
    bench.read()
    head, rows = last_chunk(bench)
    if head.at == 6:
        newcomer |= rows
    assert newcomer[b"b2"] == b"changed"


# Transfer: the newcomer's side -----------------------------------------------------------------------------------
def newcomer() -> Bench:
    """A is filled by B and stands at position 5, with a row of its own in the way."""
    bench = Bench(A)
    bench.join(config(A, B, C, epoch=8, owner=B, incomplete=(A,)), base=5)
    bench.replicate(B, 5, put(b"b5", b"5"), epoch=8)
    bench.settle()
    bench.forget()
    return bench


def chunk(at: int, start: bytes = b"", stop: bytes = b"\xff", token: int = A.store) -> Chunk:
    return Chunk(KEY, 8, token, at, start, stop)


def test_chunk_at_our_position_replaces_its_interval_and_is_confirmed_when_durable() -> None:
    bench = newcomer()
    bench.feed(B, chunk(6, b"b2", b"b6"), encoded([Row(b"b3", 3, b"3")]))
    assert bench.rows() == {b"b3": b"3"}
    assert not bench.said(Chunked)
    bench.durable()
    assert bench.said(Chunked, to=B, start=b"b2", ok=True)


@pytest.mark.parametrize("at", [5, 7])
def test_chunk_at_another_position_is_refused(at: int) -> None:
    bench = newcomer()
    bench.feed(B, chunk(at), encoded([Row(b"b3", 3, b"3")]))
    bench.durable()
    assert bench.rows() == {b"b5": b"5"}
    assert bench.said(Chunked, to=B, start=b"", ok=False)


def test_chunk_from_anybody_but_the_owner_for_our_token_is_not_stored() -> None:
    bench = newcomer()
    bench.feed(C, chunk(6), encoded([Row(b"b3", 3, b"3")]))
    bench.feed(B, chunk(6, token=66), encoded([Row(b"b3", 3, b"3")]))
    bench.feed(B, chunk(6), b"\xc1")
    bench.durable()
    assert bench.rows() == {b"b5": b"5"}
    assert not bench.said(Chunked)
    assert bench.said(NotMember, to=B)


def test_chunk_is_not_stored_after_a_promise() -> None:
    bench = newcomer()
    bench.feed(C, Prepare(KEY, config(A, B, C, epoch=8, owner=B, incomplete=(A,)), (5, C.id)))
    bench.feed(B, chunk(6), encoded([]))
    bench.durable()
    assert bench.rows() == {b"b5": b"5"}
    assert not bench.said(Chunked)


# Repair: asking --------------------------------------------------------------------------------------------------
def damaged(*keys: bytes, rows: int = 3) -> Bench:
    """A takes over from B with B and C complete; some of its rows fail their checksum."""
    bench = Bench(A)
    bench.join(config(A, B, C, owner=B))
    bench.replicate(B, 1, put(b"s", b"state"), *(put(b"b%03d" % n, b"%d" % n) for n in range(rows)))
    bench.settle()
    bench.damaged = dict.fromkeys(keys)
    bench.feed(C, Chosen(KEY, config(A, B, C, epoch=8)))
    for peer in (B, C):
        bench.feed(peer, Installed(KEY, 8, 2))
    bench.settle()
    return bench


def fetched(bench: Bench, peer: Peer, *rows: Row, epoch: int = 8) -> None:
    asked = tuple(row.key for row in rows) or bench.said(Fetch, to=peer)[-1].keys
    bench.feed(peer, Fetched(KEY, epoch, False, asked), encoded(rows))
    bench.settle()


def gained(bench: Bench) -> dict[bytes, bytes] | None:
    events = bench.told(OwnershipGained)
    return {row.key: row.value for row in events[0].rows} if events else None


def test_damaged_row_is_asked_of_the_other_complete_members_and_nobody_serves_before() -> None:
    bench = damaged(b"b001")
    for peer in (B, C):
        assert bench.said(Fetch, to=peer, epoch=8, keys=(b"b001",))
    assert gained(bench) is None
    assert not bench.serving()


@pytest.mark.parametrize("key", [b"b001", b"s"])
def test_damaged_row_is_mended_from_a_complete_member(key: bytes) -> None:
    bench = damaged(key)
    fetched(bench, C, Row(key, 1, b"mended"))
    found = gained(bench)
    assert found is not None
    assert (found[key], len(found)) == (b"mended", 4)
    assert bench.rows()[key] == b"mended"
    assert not bench.damaged
    assert bench.serving()


def test_repair_waits_while_a_complete_member_is_silent() -> None:
    bench = damaged(b"b001")
    fetched(bench, B)
    bench.down(C)
    bench.forget()
    bench.pass_time(5 * RETRY)
    bench.settle()
    assert gained(bench) is None
    assert bench.said(Fetch, to=C), "asked again"
    assert not bench.said(Fetch, to=B), "has said no"
    assert not bench.said(Prepare), "c may hold what is damaged here: it must not be replaced"
    fetched(bench, C, Row(b"b001", 1, b"1"))
    assert gained(bench) is not None


def test_damaged_row_is_lost_only_when_all_said_no() -> None:
    bench = damaged(b"b001")
    fetched(bench, B)
    assert gained(bench) is None
    fetched(bench, C)
    found = gained(bench)
    assert found is not None
    assert sorted(found) == [b"b000", b"b002", b"s"]


def test_member_that_lost_its_storage_is_not_waited_for() -> None:
    bench = damaged(b"b001")
    fetched(bench, B)
    bench.feed(C, NotMember(KEY, 8, 999))
    bench.pass_time(2 * RETRY)
    bench.settle()
    assert gained(bench) is not None


def test_page_of_an_owner_is_mended_before_it_is_handed_out() -> None:
    bench = damaged()
    bench.damaged = {b"b001": None}
    bench.turn(lambda turn: bench.groups.load_page(turn, KEY, b"b001", 1 << 20))
    bench.read()
    assert not bench.told(PageLoaded)
    fetched(bench, B, Row(b"b001", 1, b"1"))
    (page,) = bench.told(PageLoaded)
    assert [row.key for row in page.rows] == [b"b001", b"b002"]


def test_more_damaged_rows_than_fit_a_question_are_all_mended() -> None:
    keys = [b"b%03d" % n for n in range(FETCHED_ROWS_MAX + 3)]
    bench = damaged(*keys, rows=len(keys))
    for _ in range(2):
        asked = bench.said(Fetch, to=B)[-1].keys
        fetched(bench, B, *(Row(key, 1, b"x") for key in asked))
        fetched(bench, C, *(Row(key, 1, b"x") for key in asked))
        bench.pass_time(2 * RETRY)
    found = gained(bench)
    assert found is not None
    assert [key for key in keys if key not in found] == []


def test_late_second_answer_is_no_refusal_of_what_was_asked_next() -> None:
    keys = [b"b%03d" % n for n in range(FETCHED_ROWS_MAX + 3)]
    bench = damaged(*keys, rows=len(keys))
    bench.pass_time(RETRY)
    first = bench.said(Fetch, to=B)[0].keys
    for peer in (B, C, B, C):  # asked twice, because they were slow
        fetched(bench, peer, *(Row(key, 1, b"x") for key in first))
    for peer in (B, C):
        fetched(bench, peer, *(Row(key, 1, b"x") for key in bench.said(Fetch, to=peer)[-1].keys))
    found = gained(bench)
    assert found is not None
    assert [key for key in keys if key not in found] == []


def test_answer_to_one_repair_is_no_refusal_of_another() -> None:
    bench = damaged()
    bench.damaged = {b"b000": None, b"b002": None}
    for start in (b"b000", b"b002"):
        bench.turn(lambda turn, start=start: bench.groups.load_page(turn, KEY, start, 1))
    bench.page_bytes = 1
    bench.read()
    for peer in (B, C):
        fetched(bench, peer, Row(b"b000", 1, b"0"))
    for peer in (B, C):
        fetched(bench, peer, Row(b"b002", 1, b"2"))
    found = {row.key for page in bench.told(PageLoaded) for row in page.rows}
    assert {b"b000", b"b002"} <= found


def test_copy_of_another_epoch_is_not_taken_for_a_refusal() -> None:
    """Rows other than bulk may have changed since; the member still holds the row, so it must be asked again."""
    bench = damaged(b"s")
    for peer in (B, C):
        fetched(bench, peer, Row(b"s", 1, b"older"), epoch=7)
    assert gained(bench) is None
    fetched(bench, B, Row(b"s", 1, b"state"))
    found = gained(bench)
    assert found is not None
    assert found[b"s"] == b"state"


def damaged_while_filling() -> Bench:
    """A fills C and finds its row s damaged; B has it."""
    bench = Bench(A)
    bench.own(config(A, B))
    bench.append(put(b"s", b"state"))
    bench.settle()
    bench.damaged = {b"s": None}
    bench.feed(B, Chosen(KEY, config(A, B, C, epoch=8, incomplete=(C,))))
    for peer in (B, C):
        bench.feed(peer, Installed(KEY, 8, 2))
    bench.durable()
    bench.read()
    return bench


def test_everybody_who_may_hold_a_damaged_row_is_asked_also_who_is_being_filled() -> None:
    bench = damaged_while_filling()
    for peer in (B, C):
        assert bench.said(Fetch, to=peer, keys=(b"s",))


@pytest.mark.parametrize("write", [put(b"s", b"newer", 2), Delete(KEY, b"s")], ids=["overwritten", "deleted"])
def test_mended_row_never_undoes_what_was_appended_meanwhile(write: object) -> None:
    bench = damaged_while_filling()
    bench.append(write)  # type: ignore[arg-type]
    after = bench.rows()
    fetched(bench, B, Row(b"s", 1, b"state"))
    assert bench.rows() == after


# Repair: answering -----------------------------------------------------------------------------------------------
def holder() -> Bench:
    bench = Bench(A)
    bench.join(config(A, B, C, owner=B))
    bench.replicate(B, 1, put(b"b1", b"one"), put(b"b2", b"two"), put(b"b3", b"three"))
    bench.settle()
    return bench


def test_member_gives_the_rows_it_has_and_leaves_out_what_it_lacks_or_cannot_read() -> None:
    bench = holder()
    bench.damaged = {b"b3": None}
    bench.feed(C, Fetch(KEY, 7, (b"b2", b"b3", b"b4")))
    bench.read()
    assert bench.said(Fetched, to=C) == [Fetched(KEY, 7, False, (b"b2", b"b3", b"b4"))]
    assert rows_in(bench.body_of(Fetched)) == {b"b2": b"two"}


def test_broker_without_the_group_says_that_it_has_no_rows() -> None:
    bench = Bench(C)
    bench.feed(A, Fetch(KEY, 7, (b"b2",)))
    assert bench.said(Fetched, to=A) == [Fetched(KEY, 7, False, (b"b2",))]
    assert rows_in(bench.body_of(Fetched)) == {}


def test_member_that_is_behind_does_not_answer() -> None:
    behind = holder()
    behind.feed(B, Fetch(KEY, 8, (b"b1",)))
    behind.settle()
    assert not behind.said(Fetched)


def test_member_that_is_being_filled_gives_rows_that_never_change_and_denies_the_rest() -> None:
    incomplete = newcomer()
    before = incomplete.rows()
    bulk = next(key for key in before if key[:1] == b"b")
    incomplete.feed(B, Fetch(KEY, 8, (bulk, b"s")))
    incomplete.settle()
    assert incomplete.said(Fetched) == [Fetched(KEY, 8, False, (bulk, b"s"))]
    assert list(rows_in(incomplete.body_of(Fetched))) == [bulk]
