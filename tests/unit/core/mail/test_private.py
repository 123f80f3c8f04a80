"""When a mailbox of one life of one application has ended: nobody reads it, it is empty, and nothing is under way."""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.mail.box import Box
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.private import is_over
from causeway.types import key_of
from tests.unit.core.mail.neighbours import ME, config_of
from tests.unit.core.mail.postroom import EXPRESS, body_of, deposit


def make(name: str) -> Box:
    mailbox = Mailbox(name, key_of(name), BrokerConfig(name="b1"))
    return Box(mailbox, config_of(name, ME))


def test_private_mailbox_without_reader_and_content_is_over() -> None:
    assert is_over(make("shop~5f3a"))


def test_mailbox_of_an_application_is_never_over() -> None:
    assert not is_over(make("shop"))


def test_private_mailbox_is_not_over_while_somebody_reads_it() -> None:
    box = make("shop~5f3a")
    box.mailbox.attach(2, 1, 10, 0)
    assert not is_over(box)
    box.mailbox.detach(2, 1)
    assert is_over(box)


def test_private_mailbox_is_not_over_while_it_holds_something() -> None:
    box = make("shop~5f3a")
    head = deposit(1, dest="shop~5f3a", stream=EXPRESS)
    box.mailbox.hold(head, body_of(head), 0)
    assert not is_over(box)


def test_private_mailbox_is_not_over_while_an_operation_is_on_its_way() -> None:
    box = make("shop~5f3a")
    box.done[1] = (1, None)
    assert not is_over(box)
