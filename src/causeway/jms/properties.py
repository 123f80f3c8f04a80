"""Properties of a JMS message: names, getters and setters with the conversion rules of JMS.

Owns: the properties of one message, and whether they may be written. Must not know: bodies, headers, sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from causeway.errors import SelectorError
from causeway.jms import conversion
from causeway.jms.errors import JMSException, MessageFormatException, MessageNotWriteableException
from causeway.kinds import Scalar
from causeway.selectors.lexer import Lexeme, tokens

SETTABLE: Final = ("JMSXGroupID", "JMSXGroupSeq")
"""The properties with reserved names that applications may set; the others are the provider's."""
RESERVED_PREFIX: Final = "JMS"


def check_property_name(name: object) -> str:
    """A name that a selector can use: a Java identifier, no keyword of selectors, nothing reserved."""
    if not isinstance(name, str) or not _is_identifier(name):
        remedy = "property names are Java identifiers (letters, digits, _ and $) and no keywords of selectors"
        raise JMSException(f"name={name!r}: {remedy}")
    if name.startswith(RESERVED_PREFIX) and name not in SETTABLE:
        remedy = f"names that begin with {RESERVED_PREFIX} are reserved; of them only {', '.join(SETTABLE)} can be set"
        raise JMSException(f"name={name!r}: {remedy}")
    return name


def _is_identifier(name: str) -> bool:
    try:
        found = tokens(name)
        first = next(found)
        return first.lexeme is Lexeme.IDENTIFIER and first.text == name and next(found).lexeme is Lexeme.END
    except SelectorError:
        return False


class PropertySet:
    """The properties of one message."""

    def __init__(self) -> None:
        self._properties: dict[str, Scalar] = {}
        self._properties_fixed = False

    def property_exists(self, name: str) -> bool:
        """Whether it was set."""
        return name in self._properties

    def get_property_names(self) -> Iterator[str]:
        """The names of all that were set."""
        return iter(list(self._properties))

    def clear_properties(self) -> None:
        """Forget them; they can be written again."""
        self._properties = {}
        self._properties_fixed = False

    def set_object_property(self, name: str, value: object) -> None:
        """A bool, int, float or str as it is; bytes are no property in JMS."""
        if isinstance(value, bytes | bytearray | memoryview):
            raise MessageFormatException(f"{name}: bytes are no property; give bool, int, float or str")
        self._put_property(name, conversion.write_object(name, value))

    def get_object_property(self, name: str) -> Scalar:
        """As it travelled; None when it was not set."""
        return self._properties.get(name)

    def set_boolean_property(self, name: str, value: bool) -> None:
        self._put_property(name, conversion.write_boolean(name, value))

    def get_boolean_property(self, name: str) -> bool:
        return conversion.read_boolean(name, self._properties.get(name))

    def set_byte_property(self, name: str, value: int) -> None:
        self._put_property(name, conversion.write_integer(name, value, "byte"))

    def get_byte_property(self, name: str) -> int:
        return conversion.read_integer(name, self._properties.get(name), "byte")

    def set_short_property(self, name: str, value: int) -> None:
        self._put_property(name, conversion.write_integer(name, value, "short"))

    def get_short_property(self, name: str) -> int:
        return conversion.read_integer(name, self._properties.get(name), "short")

    def set_int_property(self, name: str, value: int) -> None:
        self._put_property(name, conversion.write_integer(name, value, "int"))

    def get_int_property(self, name: str) -> int:
        return conversion.read_integer(name, self._properties.get(name), "int")

    def set_long_property(self, name: str, value: int) -> None:
        self._put_property(name, conversion.write_integer(name, value, "long"))

    def get_long_property(self, name: str) -> int:
        return conversion.read_integer(name, self._properties.get(name), "long")

    def set_float_property(self, name: str, value: float) -> None:
        self._put_property(name, conversion.write_float(name, value))

    def get_float_property(self, name: str) -> float:
        return conversion.read_float(name, self._properties.get(name))

    def set_double_property(self, name: str, value: float) -> None:
        self._put_property(name, conversion.write_double(name, value))

    def get_double_property(self, name: str) -> float:
        return conversion.read_double(name, self._properties.get(name))

    def set_string_property(self, name: str, value: str | None) -> None:
        self._put_property(name, conversion.write_string(name, value))

    def get_string_property(self, name: str) -> str | None:
        return conversion.read_string(name, self._properties.get(name))

    def _put_property(self, name: str, value: Scalar) -> None:
        if self._properties_fixed:
            raise MessageNotWriteableException("the properties of a received message are fixed; clear_properties first")
        self._properties[check_property_name(name)] = value

    # As JMS spells it.
    propertyExists = property_exists
    getPropertyNames = get_property_names
    clearProperties = clear_properties
    setObjectProperty = set_object_property
    getObjectProperty = get_object_property
    setBooleanProperty = set_boolean_property
    getBooleanProperty = get_boolean_property
    setByteProperty = set_byte_property
    getByteProperty = get_byte_property
    setShortProperty = set_short_property
    getShortProperty = get_short_property
    setIntProperty = set_int_property
    getIntProperty = get_int_property
    setLongProperty = set_long_property
    getLongProperty = get_long_property
    setFloatProperty = set_float_property
    getFloatProperty = get_float_property
    setDoubleProperty = set_double_property
    getDoubleProperty = get_double_property
    setStringProperty = set_string_property
    getStringProperty = get_string_property
