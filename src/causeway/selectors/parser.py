"""The grammar of selectors, by recursive descent: one method for each rule, none for what the operators mean.

    selector    = condition end
    condition   = conjunction { OR conjunction }
    conjunction = negation { AND negation }
    negation    = NOT negation | predicate
    predicate   = sum [ comparison | test ]
    comparison  = ( "=" | "<>" | "<" | "<=" | ">" | ">=" ) sum
    test        = [ NOT ] BETWEEN sum AND sum
                | [ NOT ] IN "(" string { "," string } ")"              (after an identifier)
                | [ NOT ] LIKE string [ ESCAPE string ]                 (after an identifier)
                | IS [ NOT ] NULL                                       (after an identifier)
    sum         = product { ( "+" | "-" ) product }
    product     = signed { ( "*" | "/" ) signed }
    signed      = ( "+" | "-" ) signed | primary
    primary     = string | number | TRUE | FALSE | identifier | "(" condition ")"

Conditions and arithmetic share their parentheses, so the grammar alone would let `(a = 1) + 2` pass. Each phrase
therefore has a kind, and what cannot have the kind it needs is refused here. An identifier may turn out to be anything.

Parentheses, NOT and signs are the only rules that nest without end; `_deeper` counts them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import msgspec

from causeway.errors import SelectorError
from causeway.limits import SELECTOR_CHARS_MAX, SELECTOR_DEPTH_MAX, SELECTOR_PATTERN_CHARS_MAX
from causeway.selectors import evaluate
from causeway.selectors.evaluate import Condition, Operand
from causeway.selectors.lexer import EXACT_MAX, Lexeme, Token, tokens
from causeway.selectors.like import BadPattern, matcher

_VALUE: Final = "a value"
_NULL_HINT: Final = "a value (IS NULL tests for NULL)"


class PhraseKind(enum.Enum):
    """What a phrase is known to be before any message is seen; the value is how an error calls it."""

    CONDITION = "a condition"
    NUMBER = "a number"
    STRING = "a string"
    HEADER = "an identifier"
    """May be anything."""


class Phrase(msgspec.Struct, frozen=True):
    """A compiled piece of the selector."""

    kind: PhraseKind
    column: int
    run: Operand


class Parser:
    """One pass over one selector."""

    def __init__(self, text: str) -> None:
        if len(text) > SELECTOR_CHARS_MAX:
            expected = f"at most {SELECTOR_CHARS_MAX}"
            raise SelectorError(text, SELECTOR_CHARS_MAX + 1, f"{len(text)} characters", expected)
        self.identifiers: set[str] = set()
        self._text = text
        self._tokens = tokens(text)
        self._now = next(self._tokens)
        self._depth = 0
        self._pattern_chars = 0

    def selector(self) -> Condition:
        """The whole text."""
        phrase = self._condition()
        if self._now.lexeme is not Lexeme.END:
            self._fail("an operator or the end")
        return self._as_condition(phrase)

    # Conditions -------------------------------------------------------------------------------------------------
    def _condition(self) -> Phrase:
        first = self._conjunction()
        if not self._at("OR"):
            return first
        conditions = [self._as_condition(first)]
        while self._take("OR"):
            conditions.append(self._as_condition(self._conjunction()))
        return Phrase(PhraseKind.CONDITION, first.column, evaluate.some(conditions))

    def _conjunction(self) -> Phrase:
        first = self._negation()
        if not self._at("AND"):
            return first
        conditions = [self._as_condition(first)]
        while self._take("AND"):
            conditions.append(self._as_condition(self._negation()))
        return Phrase(PhraseKind.CONDITION, first.column, evaluate.every(conditions))

    def _negation(self) -> Phrase:
        token = self._now
        if not self._take("NOT"):
            return self._predicate()
        with self._deeper(token):
            condition = self._as_condition(self._negation())
        return Phrase(PhraseKind.CONDITION, token.column, evaluate.inverse(condition))

    def _predicate(self) -> Phrase:
        left = self._sum()
        condition = self._comparison(left) or self._test(left)
        return left if condition is None else Phrase(PhraseKind.CONDITION, left.column, condition)

    def _comparison(self, left: Phrase) -> Condition | None:
        symbol = self._now.text
        if self._now.lexeme is not Lexeme.SYMBOL or symbol not in evaluate.COMPARISONS:
            return None
        self._advance()
        if symbol == "=" and self._at("="):
            self._fail("a value; equality is a single =")
        right = self._sum()
        if symbol in evaluate.EQUALITIES:
            return evaluate.comparison(symbol, left.run, right.run)
        return evaluate.comparison(symbol, self._as_number(left), self._as_number(right))

    def _test(self, left: Phrase) -> Condition | None:
        """What begins with a keyword; all but BETWEEN need an identifier before it."""
        if self._take("IS"):
            negated = self._take("NOT")
            self._expect("NULL", "NULL" if negated else "NULL or NOT NULL")
            return evaluate.null(self._as_identifier(left), negated=negated)
        negated = self._take("NOT")
        if self._take("BETWEEN"):
            return self._between(left, negated=negated)
        if self._take("IN"):
            return evaluate.among(self._as_identifier(left), self._options(), negated=negated)
        if self._take("LIKE"):
            return self._like(left, negated=negated)
        if negated:
            self._fail("BETWEEN, IN or LIKE")
        return None

    def _between(self, value: Phrase, *, negated: bool) -> Condition:
        low = self._sum()
        self._expect("AND", "an operator or AND")
        high = self._sum()
        operation = evaluate.outside if negated else evaluate.between
        return operation(self._as_number(value), self._as_number(low), self._as_number(high))

    def _options(self) -> frozenset[str]:
        self._expect("(", "'('")
        options = [str(self._string().value)]
        while self._take(","):
            options.append(str(self._string().value))
        self._expect(")", "',' or ')'")
        return frozenset(options)

    def _like(self, value: Phrase, *, negated: bool) -> Condition:
        pattern = self._string()
        escape = None
        if self._take("ESCAPE"):
            token = self._string()
            escape = str(token.value)
            if len(escape) != 1:
                self._fail("a string of one character", token)
        self._pattern_chars += len(str(pattern.value))
        if self._pattern_chars > SELECTOR_PATTERN_CHARS_MAX:
            found = f"{self._pattern_chars} characters of patterns"
            raise SelectorError(self._text, pattern.column, found, f"at most {SELECTOR_PATTERN_CHARS_MAX}")
        try:
            matches = matcher(str(pattern.value), escape)
        except BadPattern as bad:
            expected = "it before '_', '%' or itself"
            raise SelectorError(self._text, pattern.column, f"a pattern with {bad}", expected) from None
        return evaluate.like(self._as_identifier(value), matches, negated=negated)

    # Values -----------------------------------------------------------------------------------------------------
    def _sum(self) -> Phrase:
        first = self._product()
        rest = []
        while (symbol := self._now.text) in ("+", "-") and self._take(symbol):
            rest.append((symbol, self._as_number(self._product())))
        return self._chain(first, rest)

    def _product(self) -> Phrase:
        first = self._signed()
        rest = []
        while (symbol := self._now.text) in ("*", "/") and self._take(symbol):
            rest.append((symbol, self._as_number(self._signed())))
        return self._chain(first, rest)

    def _chain(self, first: Phrase, rest: list[tuple[str, Operand]]) -> Phrase:
        if not rest:
            return first
        return Phrase(PhraseKind.NUMBER, first.column, evaluate.chain(self._as_number(first), rest))

    def _signed(self) -> Phrase:
        token = self._now
        if self._take("+"):
            with self._deeper(token):
                return Phrase(PhraseKind.NUMBER, token.column, evaluate.positive(self._as_number(self._signed())))
        if self._take("-"):
            number = self._now.value
            if self._now.lexeme is Lexeme.NUMBER and not isinstance(number, str):
                self._advance()  # a literal with its sign: only so does the smallest number of 64 bits fit
                return Phrase(PhraseKind.NUMBER, token.column, evaluate.constant(-number))
            with self._deeper(token):
                return Phrase(PhraseKind.NUMBER, token.column, evaluate.negative(self._as_number(self._signed())))
        return self._primary()

    def _primary(self) -> Phrase:
        token = self._now
        if self._take("("):
            with self._deeper(token):
                phrase = self._condition()
            self._expect(")", "an operator or ')'")
            return phrase
        if self._take("TRUE") or self._take("FALSE"):
            return Phrase(PhraseKind.CONDITION, token.column, evaluate.constant(token.text == "TRUE"))
        if token.lexeme is Lexeme.STRING:
            kind = PhraseKind.STRING
        elif token.lexeme is Lexeme.NUMBER:
            kind = PhraseKind.NUMBER
            if type(token.value) is int and token.value > EXACT_MAX:
                self._fail("a number of 64 bits")
        elif token.lexeme is Lexeme.IDENTIFIER:
            self._advance()
            self.identifiers.add(token.text)
            return Phrase(PhraseKind.HEADER, token.column, evaluate.header(token.text))
        else:
            self._fail(_NULL_HINT if self._at("NULL") else _VALUE)
        self._advance()
        return Phrase(kind, token.column, evaluate.constant(token.value))

    # Kinds ------------------------------------------------------------------------------------------------------
    def _as_condition(self, phrase: Phrase) -> Condition:
        if phrase.kind is PhraseKind.HEADER:
            return evaluate.truth(phrase.run)
        return self._need(phrase, PhraseKind.CONDITION)  # type: ignore[return-value]  # the kind says what it returns

    def _as_number(self, phrase: Phrase) -> Operand:
        return phrase.run if phrase.kind is PhraseKind.HEADER else self._need(phrase, PhraseKind.NUMBER)

    def _as_identifier(self, phrase: Phrase) -> Operand:
        return self._need(phrase, PhraseKind.HEADER)

    def _need(self, phrase: Phrase, kind: PhraseKind) -> Operand:
        if phrase.kind is not kind:
            raise SelectorError(self._text, phrase.column, phrase.kind.value, kind.value)
        return phrase.run

    # Tokens -----------------------------------------------------------------------------------------------------
    def _advance(self) -> None:
        self._now = next(self._tokens)

    def _at(self, text: str) -> bool:
        """Whether this keyword or symbol is next; an identifier or a string is neither, whatever it says."""
        return self._now.text == text and self._now.lexeme in (Lexeme.KEYWORD, Lexeme.SYMBOL)

    def _take(self, text: str) -> bool:
        if not self._at(text):
            return False
        self._advance()
        return True

    def _expect(self, text: str, expected: str) -> None:
        if not self._take(text):
            self._fail(expected)

    def _string(self) -> Token:
        token = self._now
        if token.lexeme is not Lexeme.STRING:
            self._fail("a string in quotes")
        self._advance()
        return token

    @contextmanager
    def _deeper(self, token: Token) -> Iterator[None]:
        self._depth += 1
        if self._depth > SELECTOR_DEPTH_MAX:
            found = f"{self._depth} levels of nesting"
            raise SelectorError(self._text, token.column, found, f"at most {SELECTOR_DEPTH_MAX}")
        yield
        self._depth -= 1

    def _fail(self, expected: str, token: Token | None = None) -> NoReturn:
        at = token or self._now
        raise SelectorError(self._text, at.column, str(at), expected)
