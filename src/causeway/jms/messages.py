"""The JMS messages with one value: text and object. Objects travel only where both ends switched them on."""

from __future__ import annotations

from typing import ClassVar

from causeway import kinds
from causeway.jms import conversion
from causeway.jms.errors import translated
from causeway.jms.message import Message
from causeway.kinds import MessageKind


class TextMessage(Message):
    """Text."""

    kind: ClassVar[MessageKind | None] = MessageKind.TEXT

    def __init__(self) -> None:
        super().__init__()
        self._text: str | None = None

    def set_text(self, text: str | None) -> None:
        """Write it; None travels as empty text."""
        self._check_writable()
        self._text = conversion.write_string("text", text)

    def get_text(self) -> str | None:
        """What it holds; None before it was written."""
        self._decode_body()
        return self._text

    def _written(self) -> object:
        return self._text

    def _content(self) -> object:
        return self._text or ""

    def _restore(self, content: object) -> None:
        assert isinstance(content, str)
        self._text = content

    def _empty(self) -> None:
        self._text = None

    # As JMS spells it.
    setText = set_text
    getText = get_text


class ObjectMessage(Message):
    """Any Python object, as it was when it was set."""

    kind: ClassVar[MessageKind | None] = MessageKind.OBJECT

    def __init__(self, *, objects: bool = False) -> None:
        super().__init__()
        self._objects = objects
        self._pickled: bytes | None = None

    def set_object(self, value: object) -> None:
        """Write a copy of it."""
        self._check_writable()
        with translated():
            self._pickled = kinds.encode(value, MessageKind.OBJECT, objects=self._objects)[1]

    def get_object(self) -> object:
        """A copy of it; None before it was written. Raises MessageFormatException where objects are off."""
        pickled = self._payload if self._payload is not None else self._pickled
        if pickled is None:
            return None
        with translated():
            return kinds.decode(MessageKind.OBJECT, pickled, objects=self._objects)

    def get_body(self) -> object:
        """As `get_object`."""
        return self.get_object()

    def encoded_body(self) -> bytes:
        """The pickle; it is not read for that."""
        pickled = self._payload if self._payload is not None else self._pickled
        if pickled is None:
            with translated():
                return kinds.encode(None, MessageKind.OBJECT, objects=self._objects)[1]
        return pickled

    def _empty(self) -> None:
        self._pickled = None

    # As JMS spells it.
    getBody = get_body
    setObject = set_object
    getObject = get_object
