"""A broker's status from its pages. Owns: how they are put together, and when there are enough. Must not know: how they
are asked for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from causeway.errors import Code, RemoteProtocolError
from causeway.limits import STATUS_PAGES_MAX

_LISTS = ("groups", "mailboxes")


class StatusPages:
    """The pages of one broker, first to last."""

    __slots__ = ("after", "count", "report")

    def __init__(self) -> None:
        self.after = ""
        """What the next page is to come after."""
        self.count = 0
        self.report: dict[str, Any] = {}
        """What the first page said, with the lists of all; `groups_truncated` and `next` are those of the last."""

    def add(self, body: bytes) -> bool:
        """Take the page that was asked for; true when no other is needed. Raises RemoteProtocolError."""
        try:
            page = msgspec.json.decode(body, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RemoteProtocolError(Code.BAD_FRAME, f"status is not JSON: {error}") from error
        for name in _LISTS:
            if not isinstance(page.get(name, []), list):
                raise RemoteProtocolError(Code.BAD_FRAME, f"status: {name} is {page[name]!r:.100}, not a list")
        if self.count:
            for name in _LISTS:
                self.report.setdefault(name, []).extend(page.get(name, []))
            self.report["groups_truncated"], self.report["next"] = page.get("groups_truncated", 0), page.get("next")
        else:
            self.report = page
        self.count += 1
        after = page.get("next")
        if not isinstance(after, str) or self.count >= STATUS_PAGES_MAX:
            return True
        self.after = after
        return False
