"""The exceptions of JMS, and which of Causeway's errors becomes which.

JMSException
├── IllegalStateException               closed, not started, or not allowed in this state
├── InvalidClientIDException            the client id cannot be used
├── InvalidDestinationException         the destination cannot be used, or has ended
├── InvalidSelectorException            the selector is wrong
├── MessageEOFException                 the end of a stream or bytes message
├── MessageFormatException              a value cannot be written, or read as this type
├── MessageNotReadableException         the message is being written
├── MessageNotWriteableException        the message was received
├── ResourceAllocationException         a bound was reached
└── TransactionRolledBackException      the transaction did not happen, and will not

Each is raised `from` the error of Causeway that it stands for, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from causeway.errors import (
    CausewayError,
    Code,
    ConfigError,
    LocalProtocolError,
    MessageFormatError,
    OutcomeUnknown,
    Refused,
    SelectorError,
)


class JMSException(CausewayError):
    """Root of what this package raises; a CausewayError too."""

    def __init__(self, reason: str, error_code: str = "") -> None:
        super().__init__(reason)
        self.error_code = error_code

    def get_error_code(self) -> str:
        """The code of the broker that said no, or the name of Causeway's error; empty for neither."""
        return self.error_code

    def get_linked_exception(self) -> BaseException | None:
        """What it stands for."""
        return self.__cause__

    # As JMS spells it.
    getErrorCode = get_error_code
    getLinkedException = get_linked_exception


class IllegalStateException(JMSException):
    """Closed, not started, or not allowed in this state."""


class InvalidClientIDException(JMSException):
    """The client id cannot be used."""


class InvalidDestinationException(JMSException):
    """The destination cannot be used, or has ended."""


class InvalidSelectorException(JMSException):
    """The selector is wrong; the text names the column."""


class MessageEOFException(JMSException):
    """Nothing is left to read."""


class MessageFormatException(JMSException):
    """A value cannot be written, or not read as this type."""


class MessageNotReadableException(JMSException):
    """The message is being written: `reset` it to read."""


class MessageNotWriteableException(JMSException):
    """The message was received: clear its body or its properties to write."""


class ResourceAllocationException(JMSException):
    """A bound was reached."""


class TransactionRolledBackException(JMSException):
    """The transaction did not happen, and will not."""


_DESTINATIONS = ("dest", "mailbox", "topic", "pattern")
"""Arguments of the client that a destination became."""
_CODES: dict[Code, type[JMSException]] = {
    Code.NO_MAILBOX: InvalidDestinationException,
    Code.IN_USE: IllegalStateException,
    Code.ABORTED: TransactionRolledBackException,
    Code.MAILBOX_FULL: ResourceAllocationException,
    Code.OVERLOADED: ResourceAllocationException,
    Code.CLUSTER_FULL: ResourceAllocationException,
    Code.OVERFLOWED: ResourceAllocationException,
}


def jms_error(error: CausewayError) -> JMSException:
    """The exception of JMS that an error of Causeway becomes; raise it `from` that error."""
    if isinstance(error, JMSException):
        return error
    kind = type(error).__name__
    text = str(error)
    match error:
        case Refused():
            return _CODES.get(error.code, JMSException)(text, error.code.name)
        case OutcomeUnknown() if error.code is not None:
            return JMSException(text, error.code.name)
        case SelectorError():
            return InvalidSelectorException(text, kind)
        case ConfigError() if error.field in _DESTINATIONS:
            return InvalidDestinationException(text, kind)
        case MessageFormatError():
            return MessageFormatException(text, kind)
        case LocalProtocolError():
            return IllegalStateException(text, kind)
    return JMSException(text, kind)


@contextmanager
def translated() -> Iterator[None]:
    """Whatever Causeway raises inside is raised as JMS calls it."""
    try:
        yield
    except JMSException:
        raise
    except CausewayError as error:
        raise jms_error(error) from error


def do_all(*steps: Callable[[], object]) -> None:
    """Do every step, even after one that fails, and raise what the first failure was, as JMS calls it."""
    first: BaseException | None = None
    for step in steps:
        try:
            step()
        except BaseException as error:
            first = first or error
    if first is not None:
        with translated():
            raise first
