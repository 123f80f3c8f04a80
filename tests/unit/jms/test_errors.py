"""Which error of Causeway becomes which exception of JMS."""

from __future__ import annotations

import pytest

from causeway import jms
from causeway.errors import (
    CausewayError,
    Code,
    ConfigError,
    DeadlineExceeded,
    LocalProtocolError,
    MessageFormatError,
    Refused,
    SelectorError,
    TransportError,
)
from causeway.jms.errors import jms_error, translated

CASES: list[tuple[CausewayError, type[jms.JMSException], str]] = [
    (Refused(Code.IN_USE, "x"), jms.IllegalStateException, "IN_USE"),
    (Refused(Code.NO_MAILBOX, "x"), jms.InvalidDestinationException, "NO_MAILBOX"),
    (Refused(Code.ABORTED, "x"), jms.TransactionRolledBackException, "ABORTED"),
    (Refused(Code.MAILBOX_FULL, "x"), jms.ResourceAllocationException, "MAILBOX_FULL"),
    (Refused(Code.NO_QUORUM, "x"), jms.JMSException, "NO_QUORUM"),
    (SelectorError("a =", 4, "the end", "a value"), jms.InvalidSelectorException, "SelectorError"),
    (ConfigError("dest", "", "x"), jms.InvalidDestinationException, "ConfigError"),
    (ConfigError("pattern", "", "x"), jms.InvalidDestinationException, "ConfigError"),
    (ConfigError("headers", "", "x"), jms.JMSException, "ConfigError"),
    (MessageFormatError("x"), jms.MessageFormatException, "MessageFormatError"),
    (LocalProtocolError("x"), jms.IllegalStateException, "LocalProtocolError"),
    (DeadlineExceeded("x"), jms.JMSException, "DeadlineExceeded"),
    (TransportError("x"), jms.JMSException, "TransportError"),
]


@pytest.mark.parametrize(
    ("error", "wanted", "code"), CASES, ids=[f"{code}-{n}" for n, (_, _, code) in enumerate(CASES)]
)
def test_error_becomes_its_exception_and_is_linked(
    error: CausewayError, wanted: type[jms.JMSException], code: str
) -> None:
    with pytest.raises(jms.JMSException) as caught, translated():
        raise error
    assert type(caught.value) is wanted
    assert caught.value.get_error_code() == code
    assert caught.value.get_linked_exception() is error
    assert str(caught.value) == str(error)


def test_exception_of_jms_stays_as_it_is() -> None:
    error = jms.MessageEOFException("x")
    assert jms_error(error) is error
    with pytest.raises(jms.MessageEOFException) as caught, translated():
        raise error
    assert caught.value is error
