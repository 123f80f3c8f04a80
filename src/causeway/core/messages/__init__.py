"""The vocabulary of the wire: every message two processes of Causeway can exchange.

Structs are arrays on the wire, tagged by a number; fields are only ever appended, with defaults (docs/wire.md).
"""

from causeway.core.messages.groups import (
    Accept,
    Adopted,
    Ballot,
    Chosen,
    Chunk,
    Chunked,
    Config,
    Copied,
    Enter,
    Entered,
    Fetch,
    Fetched,
    Inquire,
    Installed,
    Member,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
    Replicate,
    Resolve,
    Resolved,
)
from causeway.core.messages.links import (
    PROTOCOL_VERSION,
    Goodbye,
    Hello,
    Ping,
    Pong,
    Welcome,
)
from causeway.core.messages.mail import (
    Accepted,
    Attach,
    Attached,
    Browse,
    Browsed,
    BrowsedBatch,
    Commit,
    Confirmed,
    Deliver,
    Deposit,
    Detach,
    Find,
    Moved,
    Outcome,
    Rejected,
    Resend,
    Return,
    Routed,
    SendPart,
    Settle,
    Settled,
    SettlePart,
    StatusReply,
    StatusRequest,
    StoryReply,
    StoryRequest,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.core.messages.overlay import (
    Hail,
    JoinDenied,
    JoinReply,
    JoinRequest,
    Leave,
    Leaves,
    RowReply,
    RowRequest,
)

Message = (
    Prepare
    | Promised
    | Outbid
    | Outdated
    | Accept
    | Adopted
    | Chosen
    | Installed
    | Replicate
    | Copied
    | NotMember
    | Chunk
    | Chunked
    | Fetch
    | Fetched
    | Inquire
    | Resolve
    | Resolved
    | Enter
    | Entered
    | Hello
    | Welcome
    | Goodbye
    | Ping
    | Pong
    | Deposit
    | Accepted
    | Rejected
    | Resend
    | Confirmed
    | Attach
    | Attached
    | Moved
    | Detach
    | Deliver
    | Settle
    | Settled
    | Return
    | Browse
    | Browsed
    | Commit
    | Outcome
    | TxPrepare
    | TxPrepared
    | TxDecide
    | TxDone
    | TxAsk
    | StatusRequest
    | StatusReply
    | StoryRequest
    | StoryReply
    | Find
    | Routed
    | JoinRequest
    | JoinReply
    | JoinDenied
    | Leaves
    | Hail
    | Leave
    | RowRequest
    | RowReply
)
"""Any frame's head."""

__all__ = [
    "PROTOCOL_VERSION",
    "Accept",
    "Accepted",
    "Adopted",
    "Attach",
    "Attached",
    "Ballot",
    "Browse",
    "Browsed",
    "BrowsedBatch",
    "Chosen",
    "Chunk",
    "Chunked",
    "Commit",
    "Config",
    "Confirmed",
    "Copied",
    "Deliver",
    "Deposit",
    "Detach",
    "Enter",
    "Entered",
    "Fetch",
    "Fetched",
    "Find",
    "Goodbye",
    "Hail",
    "Hello",
    "Inquire",
    "Installed",
    "JoinDenied",
    "JoinReply",
    "JoinRequest",
    "Leave",
    "Leaves",
    "Member",
    "Message",
    "Moved",
    "NotMember",
    "Outbid",
    "Outcome",
    "Outdated",
    "Ping",
    "Pong",
    "Prepare",
    "Promised",
    "Rejected",
    "Replicate",
    "Resend",
    "Resolve",
    "Resolved",
    "Return",
    "Routed",
    "RowReply",
    "RowRequest",
    "SendPart",
    "Settle",
    "SettlePart",
    "Settled",
    "StatusReply",
    "StatusRequest",
    "StoryReply",
    "StoryRequest",
    "TxAsk",
    "TxDecide",
    "TxDone",
    "TxPrepare",
    "TxPrepared",
    "Welcome",
]
