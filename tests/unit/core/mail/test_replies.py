"""What senders are told."""

from __future__ import annotations

import pytest

from causeway.core.machine import Turn
from causeway.core.mail.replies import Replies
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Message, Rejected
from causeway.core.ports import Postable
from causeway.errors import Code
from tests.unit.core.mail.postroom import EXPRESS, ORIGIN, RECOVERABLE, deposit


class Desk:
    """Keeps what would go to source brokers."""

    def __init__(self) -> None:
        self.answers: list[tuple[bytes, Message]] = []

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        self.answers.append((origin, head))

    def post(self, turn: Turn, mailbox: str, head: Postable, body: bytes = b"") -> None:
        raise AssertionError

    def clogged(self, conn: int) -> bool:
        return False


@pytest.mark.parametrize(
    ("stream", "crowded", "code", "words"),
    [
        (RECOVERABLE, False, Code.MAILBOX_FULL, "reached its bound"),
        (EXPRESS, False, Code.MAILBOX_FULL, "in memory"),
        (RECOVERABLE, True, Code.OVERLOADED, "source='a': mailbox 'orders' remembers 65536 streams"),
        (EXPRESS, True, Code.OVERLOADED, "or in 600 s"),
    ],
)
def test_refusal_says_which_bound_was_reached(stream: int, *, crowded: bool, code: Code, words: str) -> None:
    desk = Desk()
    Replies(desk, Tracer("b")).refuse(Turn(1), deposit(3, 2, stream=stream), crowded=crowded)
    [(origin, refused)] = desk.answers
    assert isinstance(refused, Rejected)
    assert (origin, refused.first, refused.last, refused.code) == (ORIGIN, 3, 4, code)
    assert words in refused.detail
