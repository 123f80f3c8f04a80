"""Bodies of every kind: written, carried, read; and the states in which they can be neither."""

from __future__ import annotations

import pytest

from causeway.jms import (
    BytesMessage,
    MapMessage,
    Message,
    MessageEOFException,
    MessageFormatException,
    MessageNotReadableException,
    MessageNotWriteableException,
    ObjectMessage,
    StreamMessage,
    TextMessage,
)
from causeway.jms.mapping import CLASSES

VALUES: list[tuple[str, object]] = [
    ("boolean", True),
    ("byte", -1),
    ("short", 300),
    ("int", 1 << 20),
    ("long", -(1 << 63)),
    ("float", 0.5),
    ("double", 0.1),
    ("char", "ü"),
    ("string", "text"),
    ("bytes", b"\x00"),
    ("object", 17),
]


def carried(message: Message, *, objects: bool = False) -> Message:
    """The message as its receiver has it."""
    assert message.wire_kind is not None
    arrived = CLASSES[message.wire_kind]()
    arrived.fill(message.wire_kind, message.encoded_body(), objects=objects)
    return arrived


def test_text_arrives() -> None:
    message = TextMessage()
    message.set_text("größe")
    arrived = carried(message)
    assert isinstance(arrived, TextMessage)
    assert arrived.get_text() == arrived.get_body() == "größe"
    with pytest.raises(MessageNotWriteableException, match="clear_body"):
        arrived.set_text("other")
    arrived.clear_body()
    assert arrived.get_text() is None
    arrived.set_text("other")


def test_map_arrives_with_every_type() -> None:
    message = MapMessage()
    for type_name, value in VALUES:
        getattr(message, f"set_{type_name}")(type_name, value)
    arrived = carried(message)
    assert isinstance(arrived, MapMessage)
    for type_name, value in VALUES:
        assert getattr(arrived, f"get_{type_name}")(type_name) == value
    assert list(arrived.get_map_names()) == [name for name, _ in VALUES]
    assert arrived.item_exists("char")
    assert arrived.get_object("missing") is None
    assert arrived.get_string("long") == str(-(1 << 63))
    with pytest.raises(MessageFormatException):
        arrived.get_int("long")
    with pytest.raises(MessageNotWriteableException):
        arrived.set_int("n", 1)


def test_properties_and_body_of_a_map_are_two_things() -> None:
    message = MapMessage()
    message.set_string("where", "body")
    message.set_string_property("where", "properties")
    message.set_string_property("more", "properties")
    assert message.get_body() == {"where": "body"}
    assert message.get_string_property("where") == "properties"


def test_stream_arrives_with_every_type_and_ends() -> None:
    message = StreamMessage()
    for type_name, value in VALUES:
        getattr(message, f"write_{type_name}")(value)
    with pytest.raises(MessageNotReadableException, match="reset"):
        message.read_boolean()
    arrived = carried(message)
    assert isinstance(arrived, StreamMessage)
    for type_name, value in VALUES:
        assert getattr(arrived, f"read_{type_name}")() == value
    with pytest.raises(MessageEOFException, match="11 values"):
        arrived.read_object()
    arrived.reset()
    assert arrived.read_boolean() is True
    with pytest.raises(MessageNotWriteableException):
        arrived.write_int(1)


def test_value_that_cannot_be_read_as_asked_is_still_the_next() -> None:
    message = StreamMessage()
    message.write_string("word")
    message.reset()
    with pytest.raises(MessageFormatException, match="value 0"):
        message.read_int()
    assert message.read_string() == "word"


def test_bytes_are_big_endian_and_end() -> None:
    message = BytesMessage()
    message.write_boolean(True)
    message.write_byte(-2)
    message.write_short(-3)
    message.write_char("ü")
    message.write_int(-4)
    message.write_long(-5)
    message.write_float(0.5)
    message.write_double(0.1)
    message.write_utf("größe")
    message.write_bytes(b"0123456789", 2, 3)
    assert message.encoded_body()[:10] == b"\x01\xfe\xff\xfd\x00\xfc\xff\xff\xff\xfc"
    with pytest.raises(MessageNotReadableException, match="reset"):
        message.get_body_length()
    arrived = carried(message)
    assert isinstance(arrived, BytesMessage)
    assert (arrived.read_boolean(), arrived.read_byte(), arrived.read_short()) == (True, -2, -3)
    assert (arrived.read_char(), arrived.read_int(), arrived.read_long()) == ("ü", -4, -5)
    assert (arrived.read_float(), arrived.read_double(), arrived.read_utf()) == (0.5, 0.1, "größe")
    with pytest.raises(MessageEOFException, match="3 of"):
        arrived.read_int()
    assert arrived.read_bytes(2) == b"23"
    assert arrived.read_bytes() == b"4"
    assert arrived.read_bytes(1) == b""
    with pytest.raises(MessageEOFException):
        arrived.read_unsigned_byte()
    arrived.reset()
    assert (arrived.read_unsigned_byte(), arrived.read_unsigned_short()) == (1, 0xFEFF)
    assert arrived.get_body_length() == len(message.encoded_body())


def test_bytes_written_as_objects_have_the_widest_type() -> None:
    message = BytesMessage()
    for value in (True, 1, 0.5, "x", b"y"):
        message.write_object(value)
    message.reset()
    assert message.get_body_length() == 1 + 8 + 8 + 3 + 1
    assert (message.read_boolean(), message.read_long(), message.read_double()) == (True, 1, 0.5)
    assert (message.read_utf(), message.read_bytes()) == ("x", b"y")
    with pytest.raises(MessageFormatException, match="list"):
        BytesMessage().write_object([])
    with pytest.raises(MessageFormatException, match="16 bits"):
        BytesMessage().write_char("\U0001f600")


def test_broken_text_in_bytes_leaves_the_place() -> None:
    message = BytesMessage()
    message.write_bytes(b"\x00\x01\xff")
    message.reset()
    with pytest.raises(MessageFormatException, match="byte 0"):
        message.read_utf()
    assert message.read_bytes() == b"\x00\x01\xff"
    message.reset()
    message.clear_body()
    message.write_bytes(b"\x00\x09x")
    message.reset()
    with pytest.raises(MessageEOFException):
        message.read_utf()
    assert message.read_short() == 9


def test_object_arrives_where_both_ends_have_them_on() -> None:
    message = ObjectMessage(objects=True)
    value = {"list": [1, 2]}
    message.set_object(value)
    value["list"].append(3)
    arrived = carried(message, objects=True)
    assert isinstance(arrived, ObjectMessage)
    assert arrived.get_object() == arrived.get_body() == {"list": [1, 2]}, "as it was when it was set"


def test_object_is_refused_where_they_are_off_and_can_be_sent_on() -> None:
    message = ObjectMessage(objects=True)
    message.set_object(1)
    arrived = carried(message)
    assert isinstance(arrived, ObjectMessage)
    for read in (arrived.get_object, arrived.get_body):
        with pytest.raises(MessageFormatException, match="objects=True"):
            read()
    assert arrived.encoded_body() == message.encoded_body()
    with pytest.raises(MessageFormatException, match="objects=True"):
        ObjectMessage().set_object(1)


def test_message_of_an_unknown_kind_says_so_when_its_body_is_read() -> None:
    message = Message()
    message.fill("picture", b"...", objects=True)
    with pytest.raises(MessageFormatException, match="picture"):
        message.get_body()
    assert message.wire_kind == "picture"
    assert message.encoded_body() == b"..."


def test_body_that_is_not_what_its_kind_says() -> None:
    message = MapMessage()
    message.fill("map", b"\xff", objects=False)
    with pytest.raises(MessageFormatException, match="no map"):
        message.get_string("a")


def test_message_without_a_body() -> None:
    message = Message()
    assert message.get_body() is None
    assert message.encoded_body() == b""
    assert message.wire_kind is None
    message.acknowledge()


def test_correlation_as_bytes() -> None:
    message = Message()
    assert message.get_jms_correlation_id_as_bytes() is None
    message.set_jms_correlation_id_as_bytes(b"id")
    assert message.get_jms_correlation_id() == "id"
    assert message.get_jms_correlation_id_as_bytes() == b"id"


def test_body_is_a_copy() -> None:
    table, row = MapMessage(), StreamMessage()
    table.set_int("one", 1)
    row.write_int(1)
    for message, value in ((table, {"one": 1}), (row, [1])):
        body = message.get_body()
        assert isinstance(body, dict | list)
        body.clear()
        assert message.get_body() == value
        assert carried(message).get_body() == value


@pytest.mark.parametrize("value", ["orders", 17, b"orders"], ids=["text", "number", "bytes"])
def test_reply_to_is_a_destination(value: object) -> None:
    with pytest.raises(MessageFormatException, match="JMSReplyTo"):
        Message().set_jms_reply_to(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [17, b"17", "\ud800"], ids=["number", "bytes", "no-utf-8"])
def test_correlation_id_is_text(value: object) -> None:
    with pytest.raises(MessageFormatException, match="JMSCorrelationID"):
        Message().set_jms_correlation_id(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [17, "17", b"\xff"], ids=["number", "text", "no-utf-8"])
def test_correlation_id_as_bytes_is_text_in_utf_8(value: object) -> None:
    with pytest.raises(MessageFormatException, match="JMSCorrelationID"):
        Message().set_jms_correlation_id_as_bytes(value)  # type: ignore[arg-type]


def test_correlation_id_can_be_taken_back() -> None:
    message = Message()
    message.set_jms_correlation_id_as_bytes("ü".encode())
    assert message.get_jms_correlation_id() == "ü"
    message.set_jms_correlation_id_as_bytes(None)
    assert message.get_jms_correlation_id() is None


def test_text_without_a_utf_8_form_is_refused() -> None:
    with pytest.raises(MessageFormatException, match="UTF-8"):
        BytesMessage().write_utf("\ud800")
