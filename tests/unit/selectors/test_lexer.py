"""Text to tokens: where each begins and what it stands for."""

from __future__ import annotations

from itertools import islice, takewhile

import pytest

from causeway.selectors.lexer import Lexeme, Token, tokens


def found(text: str) -> list[Token]:
    return list(takewhile(lambda token: token.lexeme is not Lexeme.END, tokens(text)))


def test_tokens_have_the_column_of_their_first_character() -> None:
    assert [(token.text, token.column) for token in found(" a<=1.5 and\n'it''s'")] == [
        ("a", 2),
        ("<=", 3),
        ("1.5", 5),
        ("AND", 9),
        ("'it''s'", 13),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("7L", 7), ("7.", 7.0), (".5", 0.5), ("7E3", 7000.0), ("'it''s'", "it's"), ("''''", "'"), ("''", "")],
)
def test_literals_stand_for_their_value(text: str, value: object) -> None:
    (token,) = found(text)
    assert token.value == value
    assert type(token.value) is type(value)


@pytest.mark.parametrize("name", ["a", "_", "$", "a1", "JMSType", "größe", "类型", "नाम", "ANDY", "a$b_c"])
def test_identifiers_are_letters_digits_and_what_java_allows(name: str) -> None:
    assert found(name) == [Token(Lexeme.IDENTIFIER, name, 1, name)]


def test_symbols_are_taken_at_their_longest() -> None:
    assert [token.text for token in found("<><=>=< > =<")] == ["<>", "<=", ">=", "<", ">", "=", "<"]


def test_end_comes_again_and_again() -> None:
    assert [token.column for token in islice(tokens("a "), 1, 4)] == [3, 3, 3]
