"""A JMS message of bytes. Owns: the place where it is written or read; numbers are big-endian, as in Java."""

from __future__ import annotations

import struct
from typing import ClassVar

from causeway.jms import conversion
from causeway.jms.errors import MessageEOFException, MessageFormatException, MessageNotReadableException
from causeway.jms.message import Message
from causeway.kinds import MessageKind

_UTF_BYTES_MAX = 0xFFFF
"""Text is written with a length of two bytes before it."""


class BytesMessage(Message):
    """Bytes, written and read in pieces."""

    kind: ClassVar[MessageKind | None] = MessageKind.BYTES

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()
        self._place = 0

    def reset(self) -> None:
        """Read from the beginning; nothing more can be written."""
        self._body_fixed = True
        self._place = 0

    def get_body_length(self) -> int:
        """How many bytes there are."""
        self._check_readable()
        return len(self._data)

    def write_bytes(self, value: bytes, offset: int = 0, length: int | None = None) -> None:
        """Bytes, or a part of them."""
        data = conversion.write_bytes("value", value) or b""
        self._write(data[offset:] if length is None else data[offset : offset + length])

    def read_bytes(self, length: int | None = None) -> bytes:
        """At most so many bytes, or all that are left; empty at the end."""
        self._check_readable()
        stop = len(self._data) if length is None else min(len(self._data), self._place + max(0, length))
        found = bytes(self._data[self._place : stop])
        self._place = stop
        return found

    def write_utf(self, value: str) -> None:
        """Text as UTF-8 with its length (two bytes) before it."""
        data = conversion.encoded("value", value) or b""
        if len(data) > _UTF_BYTES_MAX:
            raise MessageFormatException(
                f"value: text of {len(data)} bytes; at most {_UTF_BYTES_MAX}, write_bytes more"
            )
        self._write(len(data).to_bytes(2, "big") + data)

    def read_utf(self) -> str:
        """Text that `write_utf` wrote."""
        begin = self._place
        try:
            return self._read(self._number(">H")).decode()
        except UnicodeDecodeError as error:
            self._place = begin
            raise MessageFormatException(f"byte {begin}: no UTF-8 text ({error.reason})") from error
        except MessageEOFException:
            self._place = begin
            raise

    def write_char(self, value: str) -> None:
        """A character of 16 bits."""
        number = ord(conversion.write_char("value", value))
        if number > 0xFFFF:
            raise MessageFormatException(f"value={value!r}: has more than 16 bits; write_utf it")
        self._write(struct.pack(">H", number))

    def read_char(self) -> str:
        """A character of 16 bits."""
        return chr(self._number(">H"))

    def write_object(self, value: object) -> None:
        """A bool (one byte), int (8 bytes), float (8 bytes), str (as `write_utf`) or bytes."""
        match value:
            case bool():
                self.write_boolean(value)
            case int():
                self.write_long(value)
            case float():
                self.write_double(value)
            case str():
                self.write_utf(value)
            case bytes() | bytearray() | memoryview():
                self.write_bytes(bytes(value))
            case _:
                raise MessageFormatException(f"value: {type(value).__name__} has no bytes; give bool, int, float, str")

    def write_byte(self, value: int) -> None:
        self._write(struct.pack(">b", conversion.write_integer("value", value, "byte")))

    def read_byte(self) -> int:
        return self._number(">b")

    def write_short(self, value: int) -> None:
        self._write(struct.pack(">h", conversion.write_integer("value", value, "short")))

    def read_short(self) -> int:
        return self._number(">h")

    def write_int(self, value: int) -> None:
        self._write(struct.pack(">i", conversion.write_integer("value", value, "int")))

    def read_int(self) -> int:
        return self._number(">i")

    def write_long(self, value: int) -> None:
        self._write(struct.pack(">q", conversion.write_integer("value", value, "long")))

    def read_long(self) -> int:
        return self._number(">q")

    def write_boolean(self, value: bool) -> None:
        self._write(b"\x01" if conversion.write_boolean("value", value) else b"\x00")

    def read_boolean(self) -> bool:
        return self._number(">B") != 0

    def read_unsigned_byte(self) -> int:
        return self._number(">B")

    def read_unsigned_short(self) -> int:
        return self._number(">H")

    def write_float(self, value: float) -> None:
        self._write(struct.pack(">f", conversion.write_float("value", value)))

    def read_float(self) -> float:
        return self._fraction(">f")

    def write_double(self, value: float) -> None:
        self._write(struct.pack(">d", conversion.write_double("value", value)))

    def read_double(self) -> float:
        return self._fraction(">d")

    def _write(self, data: bytes) -> None:
        self._check_writable()
        self._data += data

    def _number(self, layout: str) -> int:
        found: int = struct.unpack(layout, self._read(struct.calcsize(layout)))[0]
        return found

    def _fraction(self, layout: str) -> float:
        found: float = struct.unpack(layout, self._read(struct.calcsize(layout)))[0]
        return found

    def _read(self, size: int) -> bytes:
        self._check_readable()
        left = len(self._data) - self._place
        if left < size:
            raise MessageEOFException(f"{size} bytes were asked for, {left} of {len(self._data)} are left")
        return self.read_bytes(size)

    def _check_readable(self) -> None:
        if not self._body_fixed:
            raise MessageNotReadableException("the message is being written; reset it to read")
        self._decode_body()

    def _written(self) -> object:
        return bytes(self._data)

    def _restore(self, content: object) -> None:
        assert isinstance(content, bytes)
        self._data = bytearray(content)

    def _empty(self) -> None:
        self._data = bytearray()
        self._place = 0

    # As JMS spells it.
    getBodyLength = get_body_length
    writeBytes = write_bytes
    readBytes = read_bytes
    writeChar = write_char
    readChar = read_char
    writeObject = write_object
    writeByte = write_byte
    readByte = read_byte
    writeShort = write_short
    readShort = read_short
    writeInt = write_int
    readInt = read_int
    writeLong = write_long
    readLong = read_long
    writeBoolean = write_boolean
    readBoolean = read_boolean
    readUnsignedByte = read_unsigned_byte
    readUnsignedShort = read_unsigned_short
    writeFloat = write_float
    readFloat = read_float
    writeDouble = write_double
    readDouble = read_double
    writeUTF = write_utf
    readUTF = read_utf
