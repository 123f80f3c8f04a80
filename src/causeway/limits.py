"""Every bound of the system in one place, with its unit and its reason; those of topics are in
`topics.limits`, those of causal order in `domains.limits`."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

NAME_BYTES_MAX: Final = 255
"""Names travel in every batch; a file name's length is enough for people."""

FRAME_BYTES_MAX: Final = 16 * MIB
"""A hostile length field may cost one connection this much memory, no more."""

HEAD_BYTES_MAX: Final = 60 * KIB
"""The head's length is 16 bits on the wire; heads hold names and ids, bulk belongs in the body."""

MESSAGE_BYTES_MAX: Final = 8 * MIB
"""One message; larger payloads belong in an object store, with a reference in the message."""

BATCH_COUNT_MAX: Final = 4096
"""Messages of one batch; a producer begins another one here, so that one batch never blocks a link for long."""

BATCH_BYTES_MAX: Final = 1 * MIB
"""Bodies of one batch, for the same reason; a single larger message is a batch of its own."""

OPERATION_BYTES_MAX: Final = FRAME_BYTES_MAX - 2 * MIB
"""Bodies of one batch, or of all parts of a transaction: with rows and envelopes around them they still fit a frame."""

ID_MAX: Final = (1 << 63) - 1
"""Greatest id, mailbox number or transaction number: 63 bits fit every store and language."""

TTL_NS_MAX: Final = 100 * 365 * 24 * 3600 * 1_000_000_000
"""A hundred years: added to the present it still fits 63 bits. For longer, send without a time to live."""

SPANS_MAX: Final = 4096
"""Ranges of numbers in one settlement; the rows it leads to must fit a frame."""

TRANSACTION_PARTS_MAX: Final = 1024
"""Parts of one transaction: runs of messages with one destination and equal properties, and mailboxes acknowledged."""

TRANSACTION_HEAD_BYTES_MAX: Final = HEAD_BYTES_MAX - 4 * KIB
"""All parts of a transaction, encoded: what is said about them to other brokers must fit a frame's head."""

HEADERS_BYTES_MAX: Final = 0xFFFF
"""Headers of one message, encoded: their length is 16 bits on the wire."""

SELECTOR_CHARS_MAX: Final = 1024
"""One message selector: it is evaluated for every message, and time grows with its length."""

SELECTOR_DEPTH_MAX: Final = 32
"""Parentheses, NOTs and signs inside each other in a selector: each costs some calls of the stack."""

SELECTOR_PATTERN_CHARS_MAX: Final = 128
"""All patterns of LIKE in a selector: a long piece with wildcards is compared at every place of a header's value."""

TRANSACTIONS_PER_CLIENT_MAX: Final = 1024
"""Transactions of one application that are not decided yet; one more is refused."""

TRANSACTION_BYTES_PER_CLIENT_MAX: Final = 32 * MIB
"""What the undecided transactions of one application cost in memory; one more is refused."""

TRANSACTION_FAILURES_KEPT_MAX: Final = 4096
"""Failed transactions one broker remembers: a repeated Commit that crossed its refusal must not begin anew."""

DETAIL_CHARS_MAX: Final = 500
"""Of a reason that another broker gave, passed on to a client."""

STREAMS_PER_CLIENT_MAX: Final = 10_000
"""Streams of one client with batches on their way through one broker; above it new streams are refused."""

CONSUMERS_PER_CONNECTION_MAX: Final = 1_000
"""Consumers of one connection, over all mailboxes; one more is refused."""

LOST_READERS_MAX: Final = 64
"""Readers per mailbox that were lost with their connections, and are known again when they come back."""

WAITING_BYTES_MAX: Final = 64 * MIB
"""All that waits at one broker for owners, directory answers or epochs."""

WAITING_PER_MAILBOX_MAX: Final = 4096
"""Messages and requests that wait for one mailbox: a lost mailbox must not crowd out the others."""

WAITING_PER_MAILBOX_BYTES_MAX: Final = 16 * MIB
"""Bytes that wait for one mailbox, of WAITING_BYTES_MAX, for the same reason."""

ITEM_OVERHEAD_BYTES: Final = 512
"""What is kept or waits counts for so much beside its body: many small ones must hit the bounds in bytes as well."""

NOTICES_PER_MAILBOX_MAX: Final = 1024
"""Delivery confirmations kept for an application that is away; the oldest is dropped, they are best effort."""

DECISIONS_KEPT_MAX: Final = 1024
"""Outcomes of one incarnation's transactions: a client that did not hear one asks again long before so many later
ones."""

NAMES_REMEMBERED_MAX: Final = 65_536
"""Names whose hash or soundness is remembered: they repeat in every batch."""

BROWSED_MESSAGES_MAX: Final = 16_384
"""Messages in one answer to Browse; the client asks on."""

BROWSED_BODY_BYTES_MAX: Final = 4 * MIB
"""Bodies in one answer to Browse (a single larger message is shown alone)."""

BROWSED_HEAD_BYTES_MAX: Final = 32 * KIB
"""What one answer to Browse says about its messages: it must fit a frame's head."""

SELECTED_MESSAGES_MAX: Final = 200
"""Messages that one answer to Browse looks at with a selector (the client asks on), or a broker in one turn for
consumers with selectors, counted for each selector (the next turn goes on)."""
SELECTED_BYTES_MAX: Final = 128 * KIB
"""Bodies that it looks at, or one message. The worst selector over the worst headers takes some 20 ms for that."""

SELECTORS_PER_MAILBOX_MAX: Final = 256
"""Different selectors of one mailbox's consumers: every message is looked at with each of them."""

SELECTORS_REMEMBERED_MAX: Final = 64
"""Selectors that a broker keeps compiled: the longest take 0.2 MB each."""

LOOKS_PER_CONNECTION_MAX: Final = 16
"""Browses of one connection that wait for the disk; one more is put off."""

LOOKS_PER_MAILBOX_MAX: Final = 256
"""Browses of one mailbox that wait for the disk; one more is put off. The mailbox reads for one of them at a time."""

BROWSED_TOPICS_MAX: Final = 32
"""Patterns of topics in one Browse: with it they must fit a frame's head."""

LOOK_BYTES: Final = 1 * MIB
"""Rows read at once for a browse, or to find what has expired on disk; a larger row is read alone."""

STATUS_ENTRIES_MAX: Final = 2_000
"""Mailboxes, clients or brokers in one status, which says how many it left out; mailboxes can be asked on."""

STATUS_PAGES_MAX: Final = 500
"""Answers put together for one status: ten times MAILBOXES_MAX; a broker whose status never ends is not heard for ever,
and the status says how many mailboxes it left out."""

MAILBOXES_MAX: Final = 100_000
"""Mailboxes of one cluster: the directory keeps some 500 bytes of each in memory. Above it no new one is begun."""

REPLY_SECONDS_MAX: Final = 600
"""An answer nobody takes for so long is dropped: its asker is gone, and the private mailbox may end."""

CONNECTIONS_MAX: Final = 10_000
"""Open connections of one broker; one more is refused."""

CAPABILITY_USUAL: Final = 1000
"""What a broker can compute, by definition of the unit: that of one core of an ordinary server of 2024."""

CAPABILITY_MAX: Final = 1_000_000
"""A thousand usual brokers: more is a mistake."""

CAPACITY_MAX: Final = 1_000_000_000
"""Messages per second that a broker may be said to sustain: no broker does, so more is a mistake."""

PROBES_MAX: Final = 32
"""Probes of one broker: each has a thread while it measures."""

SEATS_HELD_MAX: Final = 8
"""Seats that one broker holds: its own, and those it took from others that failed. They are told with signs of life."""

CANDIDATES_MAX: Final = 16
"""Brokers named in one answer to Locate: the best ones, as much as a frame's head takes with long names."""

LOCATE_ENTRIES_MAX: Final = 64
"""Brokers that one Locate excludes or has measured, and that a client remembers for it; what is beyond is ignored."""

LOCATE_PROBES_MAX: Final = 3
"""Brokers whose round trip a client measures at once before it moves: each costs a connection for a moment."""

FORMER_HOMES_MAX: Final = 4
"""Brokers that a client has left and still listens to for delivery confirmations; it moves on no further offer until
one of them has said everything."""

REFUGES_MAX: Final = 3
"""Brokers named to a client that is refused."""

CONNECTIONS_WAITING_MAX: Final = 1024
"""Connections the system completes before the broker takes them: a burst of clients after a failure fits."""

WRITE_BUFFER_BYTES_HIGH: Final = 4 * MIB
"""Above it a connection counts as clogged: nothing new is delivered to it."""

WRITE_BUFFER_BYTES_LOW: Final = 1 * MIB
"""A clogged connection that drains below it takes deliveries again."""

WRITE_BUFFER_BYTES_MAX: Final = 64 * MIB
"""A connection that still grows past this is closed: its peer has stopped reading."""

HELLO_SECONDS_MAX: Final = 5
"""A connection that says nothing for so long after opening is closed (half-open, port scans)."""

CREDIT_MAX: Final = 65_536
"""Messages one consumer may hold unsettled."""

OUTBOX_BYTES_PER_CLIENT_MAX: Final = 32 * MIB
"""Copies a source broker keeps for one client; above it the broker stops reading from that client."""

BURIALS_BYTES_MAX: Final = 32 * MIB
"""Dead letters on their way from one broker; above it further ones stay in their own mailboxes for the time being."""

BURIALS_PER_MAILBOX_BYTES_MAX: Final = 4 * MIB
"""Of one mailbox, of BURIALS_BYTES_MAX: a dead-letter mailbox that takes nothing leaves room for seven others."""

STREAM_BATCHES_MAX: Final = 512
"""Batches of one stream on their way at once; the rest waits at the source broker, so that an owner is never flooded
by one source."""

RESENT_AT_ONCE_MAX: Final = 64
"""Batches of one stream, or operations for one member, sent again at once: what follows may not be needed."""

MAILBOX_WINDOW_BYTES: Final = 16 * MIB
"""Bodies an owner keeps in memory per mailbox; what lies behind is paged from the store."""

STARVED_WINDOWS_MAX: Final = 4
"""Windows that a mailbox may fill while its consumers wait, but what is in memory is delayed or matches no selector;
what lies behind it on disk is not reached before some of it is consumed, and the mailbox's status says `starved`."""

MAILBOX_VOLATILE_BYTES_MAX: Final = 64 * MIB
"""Express bodies an owner holds in memory for a mailbox nobody reads; above it sends are refused."""

MAILBOX_STORED_BYTES_MAX: Final = 8 * 1024 * MIB
"""Stored bodies of one mailbox; above it sends are refused until somebody consumes."""

BURIED_RANGES_MAX: Final = 1024
"""Runs of numbers a mailbox remembers as dead letters, so that a late settlement of one is not confirmed."""

SEEN_RANGES_MAX: Final = 4096
"""Gaps remembered per stream of unordered messages before the oldest are forgotten."""

SEEN_INCARNATIONS_MAX: Final = 64
"""Incarnations of one source remembered per mailbox, and with its decided transactions; the least recently used is
forgotten (ADR 0006)."""

SEEN_STREAMS_MAX: Final = 65_536
"""Streams (source, incarnation, class) a mailbox remembers, 50 MB; if none can be forgotten, new ones are refused."""

SEEN_SECONDS_MIN: Final = 7 * 24 * 3600
"""A stream that sent nothing for so long may be forgotten: a sender with kept state comes back within a week."""

SEEN_SECONDS_MIN_CROWDED: Final = 600
"""The same in a mailbox at its bound of streams: no sender without kept state repeats itself for so long."""

SEEN_FORGOTTEN_MAX: Final = 1024
"""Streams forgotten at once: their rows go with the operation that found them, which must fit a frame."""

EPOCH_MAX: Final = 1 << 62
"""Greatest epoch, position or ballot of a group: nothing that is added to one overflows 64 bits."""

GROUP_MEMBERS_MAX: Final = 32
"""Brokers in one configuration: twice as many as a group ever has, and they fit a frame's head."""

WITNESSES_MAX: Final = 8
"""Brokers beside the copies that vote on who is in charge; with them a configuration stays well below its bound."""

ROW_KEY_BYTES_MAX: Final = 768
"""A row's key holds the names of a mailbox and of who sends to it, and some numbers."""

SHARDS: Final = 0
"""Replica groups that share the mailboxes of a cluster; with 0 each mailbox is a group of its own."""

SHARDS_MAX: Final = 1024
"""More would make each of them as small as a mailbox."""

SHARD_OPERATION_BYTES_MAX: Final = 1 * MIB
"""What the mailboxes of a shard write in a turn is one operation up to here, then the next one: it must fit a frame."""

GROUPS_SETTLED_MAX: Final = 64
"""Groups that one turn reconsiders when a broker comes or goes; the next turns go on: signs of life come between."""

GROUP_PENDING_MAX: Final = 4096
"""Operations of one replica group on their way to its copies."""

OPERATIONS_PER_FRAME_MAX: Final = 512
"""Operations of any groups in one frame to a copy, or confirmations in one back: its head must fit a frame."""

REPLICATED_BYTES_MAX: Final = 1 * MIB
"""What the operations of one such frame write (or one operation, if that is larger): traffic goes on in between."""

GROUPS_LEARNED_MAX: Final = 65_536
"""Configurations of groups a broker is no member of, remembered to send their traffic in one hop."""

LESSONS_REMEMBERED_MAX: Final = 4096
"""Pairs of a broker and a mailbox of ours of which we remember when we told the one where the other is."""

DIRECTORY_QUESTIONS_MAX: Final = 100_000
"""Mailboxes one broker asks the directory about at the same time; senders to further ones try again."""

CHUNK_BYTES_MAX: Final = 256 * KIB
"""One page of a group's rows on its way to a new member (or one row, if that is larger): traffic goes on in between."""

CHUNK_SINCE_BYTES_MAX: Final = 4 * MIB
"""Writes such a page is brought up to date with; both must fit a frame."""

FETCHED_ROWS_MAX: Final = 64
"""Damaged rows asked of a member at once: the question must fit a frame; the rest is asked for afterwards."""

FETCHED_BYTES_MAX: Final = 4 * MIB
"""Rows in the answer, which must fit a frame; the rest is asked for afterwards."""

GROUPS_LEFT_MAX: Final = 10_000
"""Private mailboxes that went on, or ended, without this broker and that it remembers; the oldest is forgotten. Others
are as many as MAILBOXES_MAX, because they never end."""

GROUPS_VOID_MAX: Final = 100_000
"""Groups of which this broker knows that it lost its membership; above it strangers' claims are not answered."""

LINK_QUEUE_FRAMES_MAX: Final = 1024
"""Frames that wait for a link to come up; what exceeds it is dropped, as if lost on the way."""

LINK_QUEUE_BYTES_MAX: Final = 4 * MIB
"""Bytes of those frames; what exceeds it is dropped in the same way."""

LINKS_KNOWN_MAX: Final = 16_384
"""Brokers whose address is remembered; above it one that is not connected is forgotten."""

BYPASSES_PER_LINK_MAX: Final = 2
"""Third brokers over which one broker is reached, or asked for, at once: the best, and one to fall back to."""

BYPASSES_MAX: Final = 1024
"""All such ways of one broker, those that others asked for included; above it a broken link stays broken."""

OTHERS_MAX: Final = 8
"""Further brokers named to a client, so that it has somewhere to turn."""

LEAVES_MAX: Final = 16
"""Leaf set: half of it on each side of a broker on the ring (Pastry's L)."""

NEIGHBOURS_MAX: Final = 16
"""Neighbourhood set: the brokers with the shortest round trip (Pastry's M)."""

JOINING_MAX: Final = 16
"""Brokers in the middle of their join that a broker remembers and tells others of."""

ROWS_TOLD_MAX: Final = 60
"""Routing entries gathered for one joiner: with a leaf set and a neighbourhood they still fit a frame's head."""

MISSING_MAX: Final = 64
"""Brokers that failed and are looked for, so that the halves of a partition find each other."""

CONTACTS_MAX: Final = 128
"""Brokers remembered for the next start."""

HAILS_REMEMBERED_MAX: Final = 1024
"""Brokers asked of late whether they are there; above it all are forgotten, and may be asked once more."""

FAILURES_REMEMBERED_MAX: Final = 256
"""Brokers that failed of late and are not believed to be back on hearsay; the oldest is forgotten."""

UNMEASURED_MAX: Final = 64
"""Brokers that wait for a first measured round trip; others are measured when they are met again."""

HOPS_REMEMBERED_MAX: Final = 4096
"""Next hops computed since the tables changed; above it they are computed anew."""

INTERNAL_HOPS_MAX: Final = 1_000_000
"""Internal events of one turn; more is a loop in our own code."""

ROUTE_HOPS_MAX: Final = 64
"""A routed message that needs more hops is lost in a broken overlay and is dropped, with a trace."""

PAGE_ROWS_MAX: Final = 65_536
"""Rows of one scanned page: many rows without a value must not add up to an unbounded page."""

JOURNAL_BYTES_MAX: Final = 16 * MIB
"""A file of the store's journal is folded into the table of rows at this size. There are two, and both in memory."""

JOURNAL_STEP_BYTES: Final = MIB
"""By so much a file of the journal grows."""

WAL_BYTES_MAX: Final = 16 * MIB
"""The write-ahead log is folded into the database at this size; a checkpoint then takes some ten milliseconds."""

STORE_CHECK_BYTES_MAX: Final = 1024 * MIB
"""A database up to this size is checked as a whole when it is opened (0.4 s per GiB); a larger one as it is read."""

STORE_CACHE_BYTES_MAX: Final = 2 * MIB
"""Pages SQLite keeps: owners have what they deliver in memory, so little is read but restarts and long backlogs."""

COMMIT_BYTES_MAX: Final = 8 * MIB
"""One group commit takes no more than this (or one Persist, if that is larger), so that its answers are not late."""

TURN_MESSAGES_MAX: Final = 512
"""Messages gathered for one turn of a machine before it is called without waiting for more."""

TURNS_IN_A_ROW_MAX: Final = 16
"""Turns a driver takes without letting the event loop breathe, when each turn's effects cause the next."""

DIAL_SECONDS_MAX: Final = 5
"""A connection that is not open after this has failed; whoever wants it tries again."""

CLOSE_SECONDS_MAX: Final = 5
"""A closed connection whose peer does not take what is buffered is cut after this."""

LEAVE_SECONDS_MAX: Final = 5
"""A broker told to leave (SIGUSR1) hands over for so long, then stops with what it still holds, and says so by its exit
code. One told to stop (SIGTERM) hands over nothing."""

LAKE_BYTES_MAX: Final = 1024 * MIB
"""What one writer of the trace lake may take on disk, unless it is told otherwise; beyond it its oldest go."""
LAKE_BYTES_MIN: Final = MIB
"""Less would not hold a single segment of a busy broker."""
TRACE_RECORDS_MAX: Final = 60_000
"""Recent trace records a broker keeps in memory to tell the story of a message (about 20 MB when full)."""

STORY_RECORDS_MAX: Final = 1_000
"""Records of one story; a message that was given back for ever must not fill a frame."""

DOUBLED_RANGES_MAX: Final = 65_536
"""Runs of ids a client remembers per stream that comes by two ways: so far one way may fall behind the other before the
oldest of what it still brings could be shown again. Ids that follow each other are one run."""

STREAMS_SEEN_MAX: Final = 16_384
"""Streams (source, incarnation, class) a client remembers per mailbox; the least recently used is forgotten."""

STREAMS_SENT_MAX: Final = 16_384
"""Destinations and classes a client numbers on their own; above it idle ones are retired."""

LANES_MAX: Final = 4096
"""Combinations of destination and properties a client remembers as checked."""

CONFIRMING_MAX: Final = 65_536
"""A client's batches that wait for a delivery confirmation; the oldest is forgotten, any of them may be lost anyway."""

ADDRESSES_LEARNED_MAX: Final = 256
"""Brokers a client remembers beyond those of its URL."""

SPANS_PER_FRAME_MAX: Final = 2048
"""Runs in one Settle or Return of a client, so that its head stays far below HEAD_BYTES_MAX."""

REPLIES_UNREAD_MAX: Final = 4096
"""Replies that may be on their way to one client; the rest waits in its reply mailbox."""
