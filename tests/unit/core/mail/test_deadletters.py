"""Dead letters: where they go, and that their numbers make them arrive once."""

from __future__ import annotations

from causeway.core.mail.deadletters import dead_letter, dead_letter_name
from causeway.core.mail.rows import StoredBatch
from causeway.limits import NAME_BYTES_MAX
from causeway.names import check_mailbox
from causeway.types import VOLATILE_FROM, Flag, ServiceClass
from tests.unit.core.mail.neighbours import ME, config_of

CONFIG = config_of("orders", ME)


def batch(seq: int, flags: int = 0, priority: int = 7) -> StoredBatch:
    return StoredBatch(seq, "shop", 9, 1, 40, 3, flags, priority, 10**18, 0, b"o" * 16, b"body")


def test_dead_letters_go_to_a_mailbox_beside_the_one_they_were_in() -> None:
    assert dead_letter_name("orders") == "dead/orders"


def test_name_that_would_be_too_long_is_shortened_to_a_sound_one_of_its_own() -> None:
    long, other = "x" * NAME_BYTES_MAX, "x" * (NAME_BYTES_MAX - 1) + "y"
    assert dead_letter_name("x" * (NAME_BYTES_MAX - 5)) == "dead/" + "x" * (NAME_BYTES_MAX - 5)
    assert check_mailbox("dest", dead_letter_name(long))
    assert dead_letter_name(long) != dead_letter_name(other)
    assert check_mailbox("dest", dead_letter_name("ü" * 127)), "bytes count, not characters"


def test_burial_is_numbered_by_the_mailbox_so_that_a_second_one_is_a_duplicate() -> None:
    head = dead_letter("orders", CONFIG, batch(17), incarnation=99)
    assert (head.source, head.dest, head.first, head.count) == ("orders", "dead/orders", 17, 3)
    assert head.incarnation == CONFIG.born, "any owner of this life of the mailbox says the same"
    assert head.stream == ServiceClass.RECOVERABLE


def test_numbers_in_memory_are_those_of_one_broker_life() -> None:
    assert dead_letter("orders", CONFIG, batch(VOLATILE_FROM + 4), incarnation=99).incarnation == 99


def test_burial_keeps_priority_and_headers_and_nothing_that_would_end_or_report_it() -> None:
    flags = int(Flag.HEADERS | Flag.CONFIRM | Flag.REDELIVERED)
    head = dead_letter("orders", CONFIG, batch(17, flags), incarnation=1)
    assert head.flags == Flag.HEADERS | Flag.RELIABLE
    assert head.priority == 7
    assert head.ttl == 0
    assert head.follows == 0
