"""What senders are told."""

from __future__ import annotations

import pytest

from causeway.core.machine import Turn
from causeway.core.mail.answers import Settlement
from causeway.core.mail.replies import Replies
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Message, Postable, Rejected, Settle, Settled
from causeway.errors import Code
from causeway.types import Span
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


@pytest.mark.parametrize(
    ("dead", "locked", "said"),
    [
        ([], [], [Settled("orders", 1, ((8, 9), (1, 5)))]),
        ([(3, 3)], [], [Settled("orders", 1, ((1, 2), (4, 5), (8, 9)), ((3, 3),))]),
        ([], [(2, 4)], [Settled("orders", 1, ((1, 1), (5, 5), (8, 9)))]),
        ([(8, 9)], [(1, 5)], [Settled("orders", 1, (), ((8, 9),))]),
        ([], [(1, 5), (8, 9)], []),
    ],
)
def test_settlement_is_confirmed_but_for_dead_letters_and_what_a_transaction_holds(
    dead: list[Span], locked: list[Span], said: list[Settled]
) -> None:
    turn = Turn(1)
    settle = Settle("orders", 1, ((8, 9), (1, 5)))
    Replies(Desk(), Tracer("b")).settled(turn, 2, settle, Settlement([], [], dead, locked))
    assert [send.head for send in turn.effects.sends] == said
