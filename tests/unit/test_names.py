"""Names: what is reserved, and whose a mailbox is by its name."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.errors import ConfigError
from causeway.limits import NAME_BYTES_MAX
from causeway.names import (
    check_application,
    check_destination,
    check_mailbox,
    check_seat,
    may_use,
    private_name,
    seat_name,
)


@pytest.mark.parametrize("name", ["causeway/topics/04", "sub/shop/all", "shared/news", "history/roads", "shop~1"])
def test_application_has_no_name_that_says_something_else(name: str) -> None:
    with pytest.raises(ConfigError, match="reserved"):
        check_application("name", name)


@pytest.mark.parametrize("name", ["*", "#", "roads/#", "roads/+/speed", "roads/>", "*/speed", "sub/shop/#"])
def test_mailbox_has_an_exact_name(name: str) -> None:
    for check in (check_mailbox, check_destination):
        with pytest.raises(ConfigError, match="did you mean subscribe"):
            check("dest", name)


def test_application_has_an_exact_name() -> None:
    with pytest.raises(ConfigError, match="wildcard"):
        check_application("name", "#")


@pytest.mark.parametrize("name", ["history/roads/#", "c#", "a*", "1+1", "a>b", "a/b*/c"])
def test_marks_within_a_level_are_text(name: str) -> None:
    assert check_mailbox("mailbox", name) == name


@pytest.mark.parametrize("name", [" ", "a ", " a"])
def test_name_has_no_space_that_nobody_sees(name: str) -> None:
    with pytest.raises(ConfigError, match="space; leave it out"):
        check_mailbox("dest", name)


@pytest.mark.parametrize("name", ["sub/shop/all", "shared/news", "history/roads"])
def test_subscription_is_read_and_not_sent_to(name: str) -> None:
    assert check_mailbox("mailbox", name) == name
    with pytest.raises(ConfigError, match="publish to its topics"):
        check_destination("dest", name)


@pytest.mark.parametrize(
    ("mailbox", "wanted"),
    [
        ("orders", True),
        ("shared/news", True),
        ("shared/news~0123456789abcdef", True),
        ("history/roads", True),
        ("sub/shop/all", True),
        ("sub/shop/eu/all", False),
        ("sub/bank/all", False),
        (private_name("shop", 7), True),
        (private_name("shop/1", 7), True),
        (private_name("shop", 8), False),
        (private_name("shopping", 7), False),
    ],
)
def test_application_uses_what_is_its_own_or_nobodys(mailbox: str, wanted: bool) -> None:
    assert may_use(mailbox, "shop", 7) is wanted


def test_broker_with_a_seat_has_a_name_that_leaves_room_for_it() -> None:
    longest = "b" * (NAME_BYTES_MAX - len(seat_name("")))
    assert check_seat("name", longest) == longest
    with pytest.raises(ConfigError, match="a broker with a seat"):
        check_seat("name", longest + "b")
    BrokerConfig(name=longest + "b").check()
    with pytest.raises(ConfigError, match="a broker with a seat"):
        BrokerConfig(name=longest + "b", domains=("north",)).check()
