"""Parts, shelf and lanes."""

from __future__ import annotations

from causeway.core.mail.batches import DEAD, DONE, HELD, READY, Batch, Shelf
from causeway.core.mail.lanes import Lanes
from causeway.core.mail.rows import CONDEMNED, SETTLED, Mark, StoredBatch
from causeway.wire.body import join, split


def batch(seq: int = 10, count: int = 10, priority: int = 4, rank: int = 0) -> Batch:
    body = join([b"m%d" % n for n in range(count)])
    made = Batch(StoredBatch(seq, "a", 1, 1, 101, count, 0, priority, 0, 0, b"", body), stored=True)
    made.rank = rank or seq
    return made


def tiles(made: Batch) -> list[tuple[int, int, int]]:
    return [(part.start, part.stop, part.state) for part in made.parts]


def test_carve_cuts_parts_to_fit_and_names_the_new_ones() -> None:
    made = batch()
    fresh: list = []
    (part,) = made.carve(3, 5, READY, fresh)
    assert (part.start, part.stop) == (3, 5)
    assert [(p.start, p.stop) for p in made.parts] == [(0, 3), (3, 5), (5, 10)]
    assert [(p.start, p.stop) for p in fresh] == [(3, 5), (5, 10)]


def test_carve_leaves_other_states_and_what_lies_outside_alone() -> None:
    made = batch()
    made.carve(3, 5, READY)[0].state = DONE
    assert [(p.start, p.stop) for p in made.carve(2, 7, READY)] == [(2, 3), (5, 7)]
    before = tiles(made)
    assert made.carve(10, 20, READY) == []
    assert made.carve(-5, 0, READY) == []
    assert tiles(made) == before
    assert len(made.carve(-5, 50, READY)) == 4


def test_compact_joins_settled_neighbours_only() -> None:
    made = batch()
    for start in (0, 1, 5):
        made.carve(start, start + 1, READY)[0].state = DONE
    made.carve(2, 3, READY)[0].state = HELD
    made.compact()
    assert tiles(made) == [(0, 2, DONE), (2, 3, HELD), (3, 5, READY), (5, 6, DONE), (6, 10, READY)]


def test_marks_describe_parts_and_apply_restores_them() -> None:
    made = batch()
    made.carve(0, 2, READY)[0].state = DONE
    made.carve(4, 6, READY)[0].deliveries = 3
    dead = made.carve(9, 10, READY)[0]
    dead.state, dead.deliveries = DEAD, 5
    marks = made.marks()
    assert marks == (Mark(10, 11, SETTLED), Mark(14, 15, 3), Mark(19, 19, 5 + CONDEMNED))
    again = batch()
    again.apply(marks)
    assert again.marks() == marks
    assert again.open == 8
    assert [part.deliveries for part in again.parts] == [0, 0, 3, 0, 5]


def test_settled_wins_when_marks_overlap() -> None:
    made = batch()
    made.apply((Mark(10, 14, SETTLED), Mark(12, 16, 2), Mark(15, 15, SETTLED), Mark(15, 15, SETTLED)))
    assert made.marks() == (Mark(10, 15, SETTLED), Mark(16, 16, 2))
    assert made.open == 4


def test_piece_is_a_batch_of_its_own() -> None:
    made = batch()
    piece = made.piece(2, 5)
    assert (piece.seq, piece.first, piece.count) == (12, 103, 3)
    assert split(piece.body, 3) == [b"m2", b"m3", b"m4"]
    assert made.piece(0, 10) is made.info


def test_shelf_finds_batches_by_any_number_they_cover() -> None:
    shelf = Shelf()
    for seq in (10, 30, 20):
        shelf.add(seq, batch(seq, 5))
    assert [number for number, _ in shelf.covering(12, 31)] == [10, 20, 30]
    assert [number for number, _ in shelf.covering(15, 19)] == []
    assert [number for number, _ in shelf.covering(0, 1 << 62)] == [10, 20, 30]
    shelf.remove(20)
    assert [number for number, _ in shelf.covering(20, 29)] == []
    first = shelf.first()
    assert first is not None
    assert first.info.seq == 10
    assert 20 not in shelf


def test_shelf_stays_small_when_many_batches_come_and_go() -> None:
    shelf = Shelf()
    for seq in range(1000):
        shelf.add(seq, batch(seq, 1))
        if seq >= 3:
            shelf.remove(seq - 3)
            first = shelf.first()
            assert first is not None
            assert first.info.seq == seq - 2
    assert len(shelf) == 3
    assert len(shelf._order) < 200


def test_lanes_serve_priority_first_then_arrival_also_for_what_came_back() -> None:
    lanes = Lanes()
    parts = [batch(seq, 1, priority).parts[0] for seq, priority in ((1, 4), (2, 9), (3, 4), (4, 0), (5, 4))]
    for part in parts:
        lanes.append(part)
    taken = []
    for _ in range(3):
        part = lanes.take()
        assert part is not None
        part.state = HELD
        lanes.count -= 1
        taken.append(part)
    assert taken == [parts[1], parts[0], parts[2]]
    for part in (parts[2], parts[0]):
        part.state = READY
        lanes.put_back(part)
    order = []
    while (part := lanes.take()) is not None:
        order.append(part)
        part.state = HELD
    assert order == [parts[0], parts[2], parts[4], parts[3]]


def test_lanes_drop_stale_entries_so_that_settled_bodies_are_not_kept() -> None:
    lanes = Lanes()
    parts = [batch(seq, 1).parts[0] for seq in range(1, 201)]
    for part in parts:
        lanes.append(part)
    for part in parts[:150]:
        lanes.leave(part)
        part.state = DONE
    assert lanes.count == 50
    lanes.purge()
    assert lanes.waiting(4) == 50
    assert lanes.take() is parts[150]


def test_a_part_that_left_and_came_back_is_served_once() -> None:
    lanes = Lanes()
    part = batch().parts[0]
    lanes.append(part)
    lanes.leave(part)
    part.state = DEAD
    part.state = READY
    lanes.put_back(part)
    assert lanes.count == 10
    assert lanes.take() is part
    part.state = HELD
    assert lanes.take() is None


def test_oldest_makes_room_from_the_front_and_takes_what_consumers_hold_last() -> None:
    shelf = Shelf()
    shelved = [batch(seq, 1) for seq in range(4)]
    for made in shelved:
        shelf.add(made.info.seq, made)
    size = len(shelved[0].info.body)
    assert shelf.oldest(size + 1) == [(0, 0), (1, 1)]
    shelved[0].parts[0].state = HELD
    assert shelf.oldest(size) == [(1, 1)]
    assert shelf.oldest(4 * size) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    for made in shelved:
        made.parts[0].state = HELD
    assert shelf.oldest(size) == [(0, 0)], "a reader that holds everything must not hold publishers up"
