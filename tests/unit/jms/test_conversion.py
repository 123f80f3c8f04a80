"""The conversion table of JMS, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from causeway.jms import conversion
from causeway.jms.errors import MessageFormatException
from causeway.kinds import Scalar

READERS: dict[str, Callable[[Scalar], object]] = {
    "boolean": lambda value: conversion.read_boolean("f", value),
    "byte": lambda value: conversion.read_integer("f", value, "byte"),
    "short": lambda value: conversion.read_integer("f", value, "short"),
    "int": lambda value: conversion.read_integer("f", value, "int"),
    "long": lambda value: conversion.read_integer("f", value, "long"),
    "float": lambda value: conversion.read_float("f", value),
    "double": lambda value: conversion.read_double("f", value),
    "char": lambda value: conversion.read_char("f", value),
    "string": lambda value: conversion.read_string("f", value),
    "bytes": lambda value: conversion.read_bytes("f", value),
}

# A value of each JMS type, and what it reads as; what is not named must be refused.
TABLE: dict[str, tuple[Scalar, dict[str, object]]] = {
    "boolean": (True, {"boolean": True, "string": "true"}),
    "byte": (-128, {"byte": -128, "short": -128, "int": -128, "long": -128, "string": "-128"}),
    "short": (128, {"short": 128, "int": 128, "long": 128, "string": "128"}),
    "int": (1 << 15, {"int": 32768, "long": 32768, "string": "32768"}),
    "long": (1 << 31, {"long": 1 << 31, "string": "2147483648"}),
    "float": (0.5, {"float": 0.5, "double": 0.5, "string": "0.5"}),
    "double": (0.1, {"double": 0.1, "string": "0.1"}),
    "char": ("x", {"char": "x", "string": "x", "boolean": False}),
    "bytes": (b"x", {"bytes": b"x"}),
    "text": ("word", {"string": "word", "boolean": False}),
    "text of true": ("TRUE", {"string": "TRUE", "boolean": True}),
    "text of a number": (
        "12",
        {
            "boolean": False,
            "byte": 12,
            "short": 12,
            "int": 12,
            "long": 12,
            "float": 12.0,
            "double": 12.0,
            "string": "12",
        },
    ),
    "text of a fraction": ("0.25", {"boolean": False, "float": 0.25, "double": 0.25, "string": "0.25"}),
    "text of Python's own number": ("1_2", {"boolean": False, "string": "1_2"}),
    "nothing": (None, {"boolean": False, "string": None, "bytes": None}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("row", TABLE)
def test_value_reads_as_the_table_allows(row: str, reader: str) -> None:
    value, allowed = TABLE[row]
    if reader in allowed:
        found = READERS[reader](value)
        assert found == allowed[reader]
        assert type(found) is type(allowed[reader])
    else:
        with pytest.raises(MessageFormatException, match=r"^f\b"):
            READERS[reader](value)


@pytest.mark.parametrize(("type_name", "bits"), conversion.BITS.items())
def test_whole_numbers_keep_within_their_bits(type_name: str, bits: int) -> None:
    for value in (-(1 << (bits - 1)), (1 << (bits - 1)) - 1):
        assert conversion.write_integer("f", value, type_name) == value
        assert conversion.read_integer("f", value, type_name) == value
    for value in (-(1 << (bits - 1)) - 1, 1 << (bits - 1)):
        with pytest.raises(MessageFormatException, match=f"more than {bits} bits"):
            conversion.write_integer("f", value, type_name)
        with pytest.raises(MessageFormatException):
            conversion.read_integer("f", value, type_name)


def test_float_is_rounded_to_32_bits_and_then_reads_as_one() -> None:
    written = conversion.write_float("f", 0.1)
    assert written != 0.1
    assert conversion.read_float("f", written) == written
    assert math.isnan(conversion.read_float("f", conversion.write_float("f", math.nan)))
    assert conversion.read_float("f", math.inf) == math.inf
    with pytest.raises(MessageFormatException, match="too large"):
        conversion.write_float("f", 1e300)
    with pytest.raises(MessageFormatException):
        conversion.read_float("f", 1e300)
    with pytest.raises(MessageFormatException):
        conversion.read_float("f", "1e300")


@pytest.mark.parametrize(
    "write",
    [
        lambda: conversion.write_boolean("f", 1),
        lambda: conversion.write_integer("f", True, "int"),
        lambda: conversion.write_integer("f", 1.0, "int"),
        lambda: conversion.write_double("f", "1"),
        lambda: conversion.write_double("f", 10**400),
        lambda: conversion.write_char("f", "xy"),
        lambda: conversion.write_string("f", 1),
        lambda: conversion.write_bytes("f", "x"),
        lambda: conversion.write_object("f", [1]),
        lambda: conversion.write_object("f", 1 << 64),
    ],
    ids=["boolean", "bool-as-int", "float-as-int", "text-as-double", "huge", "char", "string", "bytes", "list", "long"],
)
def test_value_of_another_type_is_not_written(write: Callable[[], object]) -> None:
    with pytest.raises(MessageFormatException, match=r"^f\b"):
        write()
