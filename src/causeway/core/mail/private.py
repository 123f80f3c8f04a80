"""Private mailboxes: of one life of one application (its replies). Owns: when such a mailbox has ended."""

from __future__ import annotations

from causeway.core.mail.box import Box
from causeway.limits import PRIVATE
from causeway.types import SECOND

PRIVATE_FOR = 60 * SECOND


def is_over(box: Box) -> bool:
    """Whether a private mailbox has lost its reader and holds nothing."""
    mailbox = box.mailbox
    return PRIVATE in mailbox.name and not mailbox.consumers() and mailbox.empty() and not box.done
