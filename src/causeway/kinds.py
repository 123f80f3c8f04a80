"""Kinds of messages: what a body holds, said in the header `~kind`, and how it is written as bytes.

Owns: the five kinds and their encodings. A map or stream holds bool, int (64 bits), float, str, bytes and None, and
nothing nested. Must not know: clients, brokers, JMS.

Objects are pickles, and reading a pickle runs whatever its writer put in it: both ends must ask for them.
"""

from __future__ import annotations

import enum
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from causeway.errors import MessageFormatError

KIND: Final = "~kind"
"""The header that says which kind a message is; without it a body is bytes that mean what both ends agreed on."""

Scalar = bool | int | float | str | bytes | None
"""What a map or a stream can hold."""

INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 63) - 1


class MessageKind(enum.StrEnum):
    """What a body holds."""

    TEXT = "text"
    BYTES = "bytes"
    MAP = "map"
    """Names and values."""
    STREAM = "stream"
    """Values in a row."""
    OBJECT = "object"
    """Any Python object, pickled."""


_encode = msgspec.msgpack.Encoder().encode
_decode_map = msgspec.msgpack.Decoder(dict[str, Any]).decode
_decode_stream = msgspec.msgpack.Decoder(list[Any]).decode


def kind_of(content: object) -> MessageKind:
    """The kind that fits a content; objects are never guessed."""
    match content:
        case str():
            return MessageKind.TEXT
        case bytes() | bytearray() | memoryview():
            return MessageKind.BYTES
        case Mapping():
            return MessageKind.MAP
        case list() | tuple():
            return MessageKind.STREAM
    remedy = "give str, bytes, a mapping or a list, or say kind='object' and objects=True"
    raise MessageFormatError(f"content of type {type(content).__name__}: {remedy}")


def parse_kind(value: object) -> MessageKind:
    """A kind by its name, as a header or an application says it."""
    try:
        return MessageKind(value)  # type: ignore[arg-type]  # anything else raises
    except ValueError:
        raise MessageFormatError(f"kind={value!r}: unknown; known are {', '.join(MessageKind)}") from None


def encode(content: object, kind: str | None = None, *, objects: bool = False) -> tuple[MessageKind, bytes]:
    """A content as its kind (None: the one that fits) and its bytes. Raises MessageFormatError."""
    chosen = kind_of(content) if kind is None else parse_kind(kind)
    try:
        return chosen, _encoders(chosen, content, objects=objects)
    except (
        UnicodeEncodeError,
        TypeError,
        OverflowError,
        RecursionError,
        pickle.PicklingError,
        AttributeError,
    ) as error:
        raise MessageFormatError(f"a {chosen} message cannot hold this {type(content).__name__}: {error}") from error


def decode(kind: object, payload: bytes, *, objects: bool = False) -> object:
    """What a body holds: str, bytes, dict, list or an object. Raises MessageFormatError, and never reads an object
    without `objects`."""
    chosen = parse_kind(kind)
    if chosen is MessageKind.BYTES:
        return payload
    if chosen is MessageKind.OBJECT:
        return _unpickle(payload, objects=objects)
    try:
        if chosen is MessageKind.TEXT:
            return payload.decode()
        return _check_map(_decode_map(payload)) if chosen is MessageKind.MAP else _check_list(_decode_stream(payload))
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError) as error:
        raise MessageFormatError(f"the body is no {chosen}: {error}") from error


def check_scalar(field: str, value: object) -> Scalar:
    """A value as a map or stream may hold it. Raises MessageFormatError with the field's name."""
    if value is None or isinstance(value, bool | float | str | bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, int):
        known = "bool, int, float, str, bytes or None"
        raise MessageFormatError(f"{field}: {type(value).__name__} cannot travel in it; give {known}")
    if not INT_MIN <= value <= INT_MAX:
        raise MessageFormatError(f"{field}={value}: has more than 64 bits; give a smaller number, or text")
    return int(value)


def _encoders(kind: MessageKind, content: object, *, objects: bool) -> bytes:
    if kind is MessageKind.OBJECT:
        check_objects(objects=objects)
        return pickle.dumps(content)
    match kind, content:
        case MessageKind.TEXT, str():
            return content.encode()
        case MessageKind.BYTES, bytes() | bytearray() | memoryview():
            return bytes(content)
        case MessageKind.MAP, Mapping():
            return _encode(_check_map(content))
        case MessageKind.STREAM, list() | tuple():
            return _encode(_check_list(content))
    raise TypeError(f"it is not {kind}")


def _check_map(content: Mapping[Any, object]) -> dict[str, Scalar]:
    for name in content:
        if not isinstance(name, str):
            raise MessageFormatError(f"name {name!r}: names in a map must be str")
    return {name: check_scalar(f"map, {name}", value) for name, value in content.items()}


def _check_list(content: Sequence[object]) -> list[Scalar]:
    return [check_scalar(f"stream, value {place}", value) for place, value in enumerate(content)]


def _unpickle(payload: bytes, *, objects: bool) -> object:
    check_objects(objects=objects)
    try:
        return pickle.loads(payload)
    except Exception as error:  # a pickle can raise anything
        raise MessageFormatError(f"the object cannot be read: {error!r}") from error


def check_objects(*, objects: bool) -> None:
    """Raise MessageFormatError unless objects are on."""
    if not objects:
        raise MessageFormatError(
            "object messages are off, because reading one runs code of its sender: send text or a map, or, if you "
            "trust every sender, switch them on at both ends with objects=True"
        )
