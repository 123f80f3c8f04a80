"""A JMS message of names and values. Owns: the getters and setters of a map; the rules are `conversion`'s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from causeway.jms import conversion
from causeway.jms.errors import JMSException
from causeway.jms.message import Message
from causeway.kinds import MessageKind, Scalar


class MapMessage(Message):
    """Names and values; a value can be read as what the conversion rules allow."""

    kind: ClassVar[MessageKind | None] = MessageKind.MAP

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, Scalar] = {}

    def item_exists(self, name: str) -> bool:
        """Whether there is such a name."""
        return name in self._read()

    def get_map_names(self) -> Iterator[str]:
        """All names."""
        return iter(list(self._read()))

    def set_object(self, name: str, value: object) -> None:
        """A value as it is."""
        self._put_item(name, conversion.write_object(name, value))

    def get_object(self, name: str) -> Scalar:
        """A value as it travelled; None when there is no such name."""
        return self._look(name)

    def set_boolean(self, name: str, value: bool) -> None:
        self._put_item(name, conversion.write_boolean(name, value))

    def get_boolean(self, name: str) -> bool:
        return conversion.read_boolean(name, self._look(name))

    def set_byte(self, name: str, value: int) -> None:
        self._put_item(name, conversion.write_integer(name, value, "byte"))

    def get_byte(self, name: str) -> int:
        return conversion.read_integer(name, self._look(name), "byte")

    def set_short(self, name: str, value: int) -> None:
        self._put_item(name, conversion.write_integer(name, value, "short"))

    def get_short(self, name: str) -> int:
        return conversion.read_integer(name, self._look(name), "short")

    def set_int(self, name: str, value: int) -> None:
        self._put_item(name, conversion.write_integer(name, value, "int"))

    def get_int(self, name: str) -> int:
        return conversion.read_integer(name, self._look(name), "int")

    def set_long(self, name: str, value: int) -> None:
        self._put_item(name, conversion.write_integer(name, value, "long"))

    def get_long(self, name: str) -> int:
        return conversion.read_integer(name, self._look(name), "long")

    def set_float(self, name: str, value: float) -> None:
        self._put_item(name, conversion.write_float(name, value))

    def get_float(self, name: str) -> float:
        return conversion.read_float(name, self._look(name))

    def set_double(self, name: str, value: float) -> None:
        self._put_item(name, conversion.write_double(name, value))

    def get_double(self, name: str) -> float:
        return conversion.read_double(name, self._look(name))

    def set_char(self, name: str, value: str) -> None:
        self._put_item(name, conversion.write_char(name, value))

    def get_char(self, name: str) -> str:
        return conversion.read_char(name, self._look(name))

    def set_string(self, name: str, value: str | None) -> None:
        self._put_item(name, conversion.write_string(name, value))

    def get_string(self, name: str) -> str | None:
        return conversion.read_string(name, self._look(name))

    def set_bytes(self, name: str, value: bytes | None) -> None:
        self._put_item(name, conversion.write_bytes(name, value))

    def get_bytes(self, name: str) -> bytes | None:
        return conversion.read_bytes(name, self._look(name))

    def _put_item(self, name: str, value: Scalar) -> None:
        self._check_writable()
        given: object = name  # ported code is seldom type-checked
        if not isinstance(given, str) or not given:
            raise JMSException(f"name={name!r}: give a name of at least one character")
        self._values[name] = value

    def _look(self, name: str) -> Scalar:
        return self._read().get(name)

    def _read(self) -> dict[str, Scalar]:
        self._decode_body()
        return self._values

    def _written(self) -> object:
        return dict(self._values)

    def _restore(self, content: object) -> None:
        assert isinstance(content, dict)
        self._values = content

    def _empty(self) -> None:
        self._values = {}

    # As JMS spells it.
    itemExists = item_exists
    getMapNames = get_map_names
    setObject = set_object
    getObject = get_object
    setBoolean = set_boolean
    getBoolean = get_boolean
    setByte = set_byte
    getByte = get_byte
    setShort = set_short
    getShort = get_short
    setInt = set_int
    getInt = get_int
    setLong = set_long
    getLong = get_long
    setFloat = set_float
    getFloat = get_float
    setDouble = set_double
    getDouble = get_double
    setChar = set_char
    getChar = get_char
    setString = set_string
    getString = get_string
    setBytes = set_bytes
    getBytes = get_bytes
