"""Properties: names, every getter and setter, and the state in which they are fixed."""

from __future__ import annotations

import pytest

from causeway.jms.errors import JMSException, MessageFormatException, MessageNotWriteableException
from causeway.jms.message import Message
from causeway.jms.properties import check_property_name

PAIRS: list[tuple[str, object]] = [
    ("boolean", True),
    ("byte", 127),
    ("short", -300),
    ("int", 70_000),
    ("long", 1 << 40),
    ("float", 0.5),
    ("double", 0.1),
    ("string", "text"),
    ("object", "any"),
]


@pytest.mark.parametrize(("type_name", "value"), PAIRS, ids=[name for name, _ in PAIRS])
def test_each_setter_has_its_getter(type_name: str, value: object) -> None:
    message = Message()
    getattr(message, f"set_{type_name}_property")("name", value)
    assert getattr(message, f"get_{type_name}_property")("name") == value
    assert message.get_object_property("name") == value
    assert message.property_exists("name")
    assert list(message.get_property_names()) == ["name"]


@pytest.mark.parametrize("name", ["a", "_a", "$a", "größe", "nothing", "JMSXGroupID", "JMSXGroupSeq"])
def test_names_that_selectors_can_use(name: str) -> None:
    assert check_property_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "1a", "a b", "a.b", "a-b", " a", "a ", "NULL", "true", "Between", "JMSPriority", "JMSXUserID", "JMS_x", None],
    ids=repr,
)
def test_names_that_they_cannot(name: object) -> None:
    with pytest.raises(JMSException, match="name="):
        check_property_name(name)


def test_received_properties_are_fixed_until_they_are_cleared() -> None:
    message = Message()
    message.fix_properties({"a": 1})
    with pytest.raises(MessageNotWriteableException, match="clear_properties"):
        message.set_int_property("a", 2)
    assert message.get_int_property("a") == 1
    message.clear_properties()
    assert not message.property_exists("a")
    message.set_int_property("a", 2)
    assert message.get_string_property("a") == "2"


def test_bytes_are_no_property() -> None:
    with pytest.raises(MessageFormatException, match="bytes are no property"):
        Message().set_object_property("a", b"x")


def test_property_that_was_not_set() -> None:
    message = Message()
    assert message.get_object_property("a") is None
    assert message.get_string_property("a") is None
    assert message.get_boolean_property("a") is False
    with pytest.raises(MessageFormatException, match="not set"):
        message.get_int_property("a")
