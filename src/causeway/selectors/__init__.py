"""Message selectors: conditions on headers, in the language of JMS 2.0 section 3.8.1 (see docs/selectors.md).

    wanted = parse("region = 'EU' AND amount > 100")
    wanted.matches({"region": "EU", "amount": 250})   # True

Pure: text and headers in, a truth value out. Knows nothing of messages, mailboxes or the wire.
"""

from causeway.errors import SelectorError
from causeway.selectors.selector import Selector, parse

__all__ = ["Selector", "SelectorError", "parse"]
