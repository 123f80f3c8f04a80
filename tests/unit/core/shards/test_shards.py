"""Many mailboxes in one replica group: what they write in a turn is one operation, and each sees only its own rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from causeway.core.events import OwnershipGained, OwnershipLost, OwnershipResumed, PageLoaded
from causeway.core.machine import Then, Turn
from causeway.core.shards.rows import KINDS, RowPlace, split
from causeway.core.shards.shards import Shards
from causeway.limits import SHARD_OPERATION_BYTES_MAX
from causeway.store.base import Delete, Put, Row, Write
from causeway.store.memory import MemoryStore
from causeway.types import Key, has_own_group, home_of, key_of, shard_name
from tests.unit.core.mail.neighbours import ME, OTHER, FakeGroups, config_of

SHARD = shard_name(0, 1)
HOME = key_of(SHARD)


class Groups(FakeGroups):
    """One shard of ours, as replica groups have it."""

    def __init__(self) -> None:
        super().__init__()
        self.positions: dict[Key, int] = {}
        self.pages: list[tuple[Key, bytes, bytes]] = []
        self.own(SHARD)

    def position(self, group: Key) -> int:
        return self.positions.get(group, 1)

    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None = None) -> None:
        self.positions[group] = self.position(group) + span
        super().append(turn, group, writes, span, then)

    def load_page(self, turn: Turn, group: Key, start: bytes, bytes_max: int, stop: bytes = b"") -> int:
        self.pages.append((group, start, stop))
        return len(self.pages)


class Mail:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.gained: list[OwnershipGained] = []
        self.log: list[object] = []

    def on_ownership_gained(self, turn: Turn, event: OwnershipGained) -> None:
        self.gained.append(event)

    def on_ownership_resumed(self, turn: Turn, event: OwnershipResumed) -> None:
        self.log.append(event)

    def on_ownership_lost(self, turn: Turn, event: OwnershipLost) -> None:
        self.log.append(event)

    def on_page(self, turn: Turn, event: PageLoaded) -> None:
        self.log.append(event)


class House:
    def __init__(self, rows: list[Row] | None = None, following: bytes | None = None) -> None:
        self.groups, self.mail, self.turn = Groups(), Mail(), Turn(7)
        self.stored: list[str] = []
        """Mailboxes whose rows are on all copies, in that order."""
        self.shards = Shards(self.groups, 1)
        self.shards.open(self.mail)
        self.shards.gain(self.turn, OwnershipGained(HOME, config_of(SHARD, ME, OTHER), rows or [], following))

    def begin(self, *names: str) -> None:
        for name in names:
            self.shards.begin(self.turn, key_of(name), name)

    def store(self, name: str, key: bytes, value: bytes = b"v", span: int = 1) -> None:
        number = self.shards.position(key_of(name))
        self.shards.append(
            self.turn, key_of(name), [Put(key_of(name), key, number, value)], span, lambda _: self.stored.append(name)
        )


def test_what_mailboxes_write_in_a_turn_is_one_operation_in_order_and_each_hears_of_its_own() -> None:
    house = House()
    house.begin("a", "b")
    for name in ("a", "b", "a"):
        house.store(name, b"b\1")
    assert house.groups.operations == [], "nothing before the end of the turn"
    house.shards.flush(house.turn)
    ((then, group, writes),) = house.groups.operations
    assert group == HOME
    kinds = [(write.key[:1], split(write.key)) for write in writes if isinstance(write, Put)]
    assert kinds == [
        (b"n", ("a", b"n")),
        (b"n", ("b", b"n")),
        (b"b", ("a", b"b\1")),
        (b"b", ("b", b"b\1")),
        (b"b", ("a", b"b\1")),
    ]
    assert house.stored == []
    then(house.turn)
    assert house.stored == ["a", "b", "a"]
    house.shards.flush(house.turn)
    assert len(house.groups.operations) == 1, "nothing is said twice"


def test_numbers_rise_over_all_mailboxes_of_a_shard() -> None:
    house = House()
    house.begin("a", "b")
    numbers = []
    for name, span in (("a", 5), ("b", 1), ("a", 2)):
        numbers.append(house.shards.position(key_of(name)))
        house.store(name, b"b\1", span=span)
        house.shards.flush(house.turn)
    assert [numbers[1] - numbers[0], numbers[2] - numbers[1]] == [5, 1]


def test_long_writes_are_several_operations() -> None:
    house = House()
    house.begin("a")
    for _ in range(3):
        house.store("a", b"b\1", bytes(SHARD_OPERATION_BYTES_MAX))
    house.shards.flush(house.turn)
    assert len(house.groups.operations) == 3


def test_taken_over_shard_gives_each_mailbox_its_own_rows_and_its_birth() -> None:
    first = House()
    first.begin("a", "a\u00e4", "b")
    for name in ("a", "b", "a\u00e4"):
        first.store(name, b"s" + name.encode())
    first.shards.flush(first.turn)
    store = MemoryStore()
    store.open()
    store.commit([write for _, _, writes in first.groups.operations for write in writes])
    second = House(store.scan(HOME, b"", b"", 1 << 30).rows)
    found = {event.config.name: event for event in second.mail.gained}
    births = {event.config.name: event.config.born for event in first.mail.gained}
    assert {name: event.config.born for name, event in found.items()} == births
    assert {name: [row.key for row in event.rows] for name, event in found.items()} == {
        name: [b"s" + name.encode()] for name in ("a", "a\u00e4", "b")
    }
    assert all(event.next is None for event in found.values())


def test_mailboxes_behind_the_rows_in_memory_are_told_where_to_go_on() -> None:
    rows = [Row(b"n" + name + b"\0", 1, b"\x91\x01") for name in (b"a", b"b", b"c")]
    house = House(rows, b"bb\0" + bytes(7) + b"\5")
    following = {event.config.name: event.next for event in house.mail.gained}
    assert following == {"a": None, "b": b"b" + bytes(7) + b"\5", "c": b"b" + bytes(8)}


def test_page_is_of_one_mailbox_only() -> None:
    house = House()
    house.begin("a", "b")
    token = house.shards.load_page(house.turn, key_of("a"), b"b" + bytes(8), 100)
    ((group, start, stop),) = house.groups.pages
    assert (group, start, stop) == (HOME, b"ba\0" + bytes(8), b"ba\1")
    rows = [Row(b"ba\0" + bytes(8), 1, b"v")]
    house.shards.page_loaded(house.turn, PageLoaded(HOME, token, rows, b"ba\0" + bytes(7) + b"\2"))
    (event,) = [event for event in house.mail.log if isinstance(event, PageLoaded)]
    assert (event.group, event.rows[0].key, event.next) == (key_of("a"), b"b" + bytes(8), b"b" + bytes(7) + b"\2")


def test_mailbox_that_ends_leaves_nothing_and_takes_nothing_more() -> None:
    house = House()
    house.begin("a", "ab")
    for kind in KINDS:
        house.store("a", kind + b"x")
        house.store("ab", kind + b"x")
    house.shards.retire(house.turn, key_of("a"))
    assert not house.shards.serving(key_of("a"))
    house.shards.flush(house.turn)
    ((then, _, writes),) = house.groups.operations
    store = MemoryStore()
    store.open()
    store.commit(writes)
    left = [split(row.key) for row in store.scan(HOME, b"", b"", 1 << 30).rows]
    assert {parts[0] for parts in left if parts is not None} == {"ab"}
    assert house.shards.owned(key_of("a")), "until that is on all copies"
    then(house.turn)
    (lost,) = [event for event in house.mail.log if isinstance(event, OwnershipLost)]
    assert (lost.group, lost.config.members) == (key_of("a"), ())
    assert house.shards.hosts(key_of("a"))
    house.begin("a")
    assert house.mail.gained[-1].config.born > house.mail.gained[0].config.born, "a later life has a later birth"


def test_lost_shard_takes_its_mailboxes_along_and_what_was_not_yet_appended() -> None:
    house = House()
    house.begin("a")
    house.store("a", b"b\1")
    config = config_of(SHARD, OTHER, ME)
    house.shards.lose(house.turn, OwnershipLost(HOME, config))
    assert house.mail.log[-1] == OwnershipLost(key_of("a"), config)
    house.shards.flush(house.turn)
    assert house.groups.operations == []
    assert not house.shards.hosts(key_of("a"))
    assert not house.shards.owned(key_of("a"))


def test_shard_that_was_resumed_and_lost_in_one_turn_resumes_nothing() -> None:
    house = House()
    house.begin("a")
    house.shards.lose(house.turn, OwnershipLost(HOME, config_of(SHARD, OTHER, ME)))
    house.mail.log.clear()
    house.shards.resume(house.turn, HOME)
    assert house.mail.log == []


def test_resumed_shard_resumes_its_mailboxes() -> None:
    house = House()
    house.begin("a", "b")
    house.shards.resume(house.turn, HOME)
    assert house.mail.log[-2:] == [OwnershipResumed(key_of("a")), OwnershipResumed(key_of("b"))]


def test_brokers_own_groups_pass_through() -> None:
    house = House()
    seat = house.groups.own("causeway/seats/b1")
    assert has_own_group(seat)
    assert house.shards.home(seat) == seat
    assert house.shards.owned(seat)
    house.shards.append(house.turn, seat, [Delete(seat, b"x")], 1)
    assert [group for _, group, _ in house.groups.operations] == [seat]


def test_hostile_rows_of_a_shard_do_not_raise() -> None:
    keys = [b"", b"n", b"b\0", b"bx", b"n\xff\0", b"na\0", b"\0\0\0"]
    house = House([Row(key, 1, b"\xc1") for key in keys])
    assert [event.config.name for event in house.mail.gained] == ["a"]


@pytest.mark.parametrize("count", [1, 2, 16, 128, 1024])
def test_every_name_has_one_shard_and_shards_share_the_ring_evenly(count: int) -> None:
    shards = Shards(Groups(), count)
    homes = [shards.home(key_of(f"mailbox-{number}")) for number in range(2000)]
    assert homes == [home_of(key_of(f"mailbox-{number}"), count) for number in range(2000)]
    assert len(set(homes)) > min(count, 2000) * 0.8
    places = [int.from_bytes(key_of(shard_name(number, count)), "big") >> 100 for number in range(count)]
    assert places == [number * (1 << 28) // count for number in range(count)]


@pytest.mark.parametrize("rest", ["x/1", "4/9", "", f"{'9' * 99}/1"])
def test_name_that_only_looks_like_a_shard_has_a_key_all_the_same(rest: str) -> None:
    assert has_own_group(key_of(f"causeway/shards/{rest}"))


def test_place_covers_all_rows_of_its_name_and_no_others() -> None:
    place = RowPlace(HOME, "ab")
    inside, outside = place.outer(b"b\xff\xff"), RowPlace(HOME, "aba").outer(b"b\0")
    assert place.outer(b"b") <= inside < place.end_of(b"b")
    assert not place.outer(b"b") <= outside < place.end_of(b"b")
