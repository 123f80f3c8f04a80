"""The conversion rules of JMS for properties, maps and streams (JMS 2.0, sections 3.5.4 and 3.11.3). Pure.

A value travels as bool, int, float, str, bytes or None. It counts as the narrowest JMS type that holds it: 5 is a byte,
300 a short, 0.5 a float, 0.1 a double, "x" a char. From there the table of JMS says what it can be read as:

             boolean byte short int long float double char String bytes
    boolean     x                                            x
    byte              x     x    x    x                      x
    short                   x    x    x                      x
    int                          x    x                      x
    long                              x                      x
    float                                  x     x           x
    double                                       x           x
    char        (as String)                            x     x
    String      x     x     x    x    x    x     x           x      (text that can be parsed)
    bytes                                                            x

`read_*` are the getters' rules, `write_*` the setters'. What is not allowed raises MessageFormatException.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from causeway.errors import MessageFormatError
from causeway.jms.errors import MessageFormatException
from causeway.kinds import Scalar, check_scalar

BITS: Final[dict[str, int]] = {"byte": 8, "short": 16, "int": 32, "long": 64}

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_SHOWN_MAX: Final = 60


# Writing -------------------------------------------------------------------------------------------------------
def write_boolean(field: str, value: object) -> bool:
    """A bool."""
    if not isinstance(value, bool):
        raise _unfit(field, value, "a boolean")
    return value


def write_integer(field: str, value: object, type_name: str) -> int:
    """A whole number of a byte's, short's, int's or long's bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise _unfit(field, value, f"a {type_name}")
    if not _fits(value, type_name):
        raise _unfit(field, value, f"a {type_name}: it has more than {BITS[type_name]} bits")
    return int(value)


def write_float(field: str, value: object) -> float:
    """A number of 32 bits: rounded to the nearest, as Java does."""
    wide = write_double(field, value)
    try:
        return _narrowed(wide)
    except OverflowError:
        raise _unfit(field, value, "a float: it is too large; use a double") from None


def write_double(field: str, value: object) -> float:
    """A number of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _unfit(field, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _unfit(field, value, "a double: it is too large") from None


def write_char(field: str, value: object) -> str:
    """One character."""
    if not isinstance(value, str) or len(value) != 1:
        raise _unfit(field, value, "one character")
    return value


def write_string(field: str, value: object) -> str | None:
    """Text, or None."""
    if value is not None and not isinstance(value, str):
        raise _unfit(field, value, "a string")
    return value


def encoded(field: str, value: object) -> bytes | None:
    """Text as UTF-8, or None."""
    text = write_string(field, value)
    try:
        return None if text is None else text.encode()
    except UnicodeEncodeError as error:
        raise MessageFormatException(f"{field}={value!r}: has no UTF-8 form ({error.reason})") from error


def write_bytes(field: str, value: object) -> bytes | None:
    """Bytes, or None."""
    if value is None:
        return None
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _unfit(field, value, "bytes")
    return bytes(value)


def write_object(field: str, value: object) -> Scalar:
    """Any value of a type that travels."""
    try:
        return check_scalar(field, value)
    except MessageFormatError as error:
        raise MessageFormatException(str(error)) from error


# Reading -------------------------------------------------------------------------------------------------------
def read_boolean(field: str, value: Scalar) -> bool:
    """True, False, or text: `true` in any case of letters is true, anything else false. What is not there is false."""
    if isinstance(value, bool):
        return value
    if value is None or isinstance(value, str):
        return value is not None and value.lower() == "true"
    raise _unreadable(field, value, "a boolean")


def read_integer(field: str, value: Scalar, type_name: str) -> int:
    """A whole number that this type holds, or text of one."""
    number: object = value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or not _fits(number, type_name):
        raise _unreadable(field, value, f"a {type_name}")
    return number


def read_float(field: str, value: Scalar) -> float:
    """A number that 32 bits hold, or text of any."""
    if isinstance(value, str):
        try:
            return _narrowed(_parsed(field, value, "a float"))
        except OverflowError:
            raise _unreadable(field, value, "a float") from None
    if isinstance(value, float) and _is_narrow(value):
        return value
    raise _unreadable(field, value, "a float")


def read_double(field: str, value: Scalar) -> float:
    """A number with a fraction, or text of one. Whole numbers are none, as in JMS."""
    if isinstance(value, str):
        return _parsed(field, value, "a double")
    if isinstance(value, float):
        return value
    raise _unreadable(field, value, "a double")


def read_char(field: str, value: Scalar) -> str:
    """One character."""
    if isinstance(value, str) and len(value) == 1:
        return value
    raise _unreadable(field, value, "a character")


def read_string(field: str, value: Scalar) -> str | None:
    """Whatever it is as text; bytes are not."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise _unreadable(field, value, "a string")


def read_bytes(field: str, value: Scalar) -> bytes | None:
    """Bytes."""
    if value is None or isinstance(value, bytes):
        return value
    raise _unreadable(field, value, "bytes")


# Inside --------------------------------------------------------------------------------------------------------
def _fits(number: int, type_name: str) -> bool:
    half = 1 << (BITS[type_name] - 1)
    return -half <= number < half


def _narrowed(number: float) -> float:
    narrow: float = struct.unpack(">f", struct.pack(">f", number))[0]
    return narrow


def _is_narrow(number: float) -> bool:
    try:
        return number != number or _narrowed(number) == number
    except OverflowError:
        return False


def _parsed(field: str, text: str, wanted: str) -> float:
    try:
        return float(text.replace("_", "?"))  # Python reads 1_000, JMS does not
    except ValueError:
        raise _unreadable(field, text, wanted) from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def _unfit(field: str, value: object, wanted: str) -> MessageFormatException:
    return MessageFormatException(f"{field}={_shown(value)}: is not {wanted}")


def _unreadable(field: str, value: Scalar, wanted: str) -> MessageFormatException:
    if value is None:
        return MessageFormatException(f"{field}: is not set, so it cannot be read as {wanted}")
    return MessageFormatException(
        f"{field}={_shown(value)}: {type(value).__name__} cannot be read as {wanted}; get_object tells what it is"
    )
