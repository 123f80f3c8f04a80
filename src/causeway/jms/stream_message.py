"""A JMS message of values in a row. Owns: the place where it is read; the rules are `conversion`'s."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from causeway.jms import conversion
from causeway.jms.errors import MessageEOFException, MessageNotReadableException
from causeway.jms.message import Message
from causeway.kinds import MessageKind, Scalar

T = TypeVar("T")


class StreamMessage(Message):
    """Values in a row: written one after the other, then (after `reset`, or received) read so."""

    kind: ClassVar[MessageKind | None] = MessageKind.STREAM

    def __init__(self) -> None:
        super().__init__()
        self._values: list[Scalar] = []
        self._place = 0

    def reset(self) -> None:
        """Read from the beginning; nothing more can be written."""
        self._body_fixed = True
        self._place = 0

    def write_object(self, value: object) -> None:
        """A value as it is."""
        self._append(conversion.write_object(self._next_name(), value))

    def read_object(self) -> Scalar:
        """The next value as it travelled."""
        return self._take(lambda field, value: value)

    def write_boolean(self, value: bool) -> None:
        self._append(conversion.write_boolean(self._next_name(), value))

    def read_boolean(self) -> bool:
        return self._take(conversion.read_boolean)

    def write_byte(self, value: int) -> None:
        self._append(conversion.write_integer(self._next_name(), value, "byte"))

    def read_byte(self) -> int:
        return self._take(lambda field, value: conversion.read_integer(field, value, "byte"))

    def write_short(self, value: int) -> None:
        self._append(conversion.write_integer(self._next_name(), value, "short"))

    def read_short(self) -> int:
        return self._take(lambda field, value: conversion.read_integer(field, value, "short"))

    def write_int(self, value: int) -> None:
        self._append(conversion.write_integer(self._next_name(), value, "int"))

    def read_int(self) -> int:
        return self._take(lambda field, value: conversion.read_integer(field, value, "int"))

    def write_long(self, value: int) -> None:
        self._append(conversion.write_integer(self._next_name(), value, "long"))

    def read_long(self) -> int:
        return self._take(lambda field, value: conversion.read_integer(field, value, "long"))

    def write_float(self, value: float) -> None:
        self._append(conversion.write_float(self._next_name(), value))

    def read_float(self) -> float:
        return self._take(conversion.read_float)

    def write_double(self, value: float) -> None:
        self._append(conversion.write_double(self._next_name(), value))

    def read_double(self) -> float:
        return self._take(conversion.read_double)

    def write_char(self, value: str) -> None:
        self._append(conversion.write_char(self._next_name(), value))

    def read_char(self) -> str:
        return self._take(conversion.read_char)

    def write_string(self, value: str | None) -> None:
        self._append(conversion.write_string(self._next_name(), value))

    def read_string(self) -> str | None:
        return self._take(conversion.read_string)

    def write_bytes(self, value: bytes | None) -> None:
        self._append(conversion.write_bytes(self._next_name(), value))

    def read_bytes(self) -> bytes | None:
        return self._take(conversion.read_bytes)

    def _next_name(self) -> str:
        return f"value {len(self._values)}"

    def _append(self, value: Scalar) -> None:
        self._check_writable()
        self._values.append(value)

    def _take(self, read: Callable[[str, Scalar], T]) -> T:
        """The next value; one that cannot be read as this type is still the next."""
        if not self._body_fixed:
            raise MessageNotReadableException("the message is being written; reset it to read")
        self._decode_body()
        if self._place >= len(self._values):
            raise MessageEOFException(f"the stream has {len(self._values)} values, and all were read")
        found = read(f"value {self._place}", self._values[self._place])
        self._place += 1
        return found

    def _written(self) -> object:
        return list(self._values)

    def _restore(self, content: object) -> None:
        assert isinstance(content, list)
        self._values = content

    def _empty(self) -> None:
        self._values = []
        self._place = 0

    # As JMS spells it.
    writeObject = write_object
    readObject = read_object
    writeBoolean = write_boolean
    readBoolean = read_boolean
    writeByte = write_byte
    readByte = read_byte
    writeShort = write_short
    readShort = read_short
    writeInt = write_int
    readInt = read_int
    writeLong = write_long
    readLong = read_long
    writeFloat = write_float
    readFloat = read_float
    writeDouble = write_double
    readDouble = read_double
    writeChar = write_char
    readChar = read_char
    writeString = write_string
    readString = read_string
    writeBytes = write_bytes
    readBytes = read_bytes
