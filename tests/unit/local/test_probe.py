"""The probe's conversation, against scripted brokers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from causeway.client import pages
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Candidate,
    DomainJoined,
    Goodbye,
    Hello,
    JoinDomain,
    Locate,
    Located,
    Message,
    Ping,
    Pong,
    StatusReply,
    StatusRequest,
    StoryReply,
    StoryRequest,
    Welcome,
)
from causeway.errors import Code, DeadlineExceeded, Refused, RemoteProtocolError, TransportError
from causeway.local.health import not_handed_over, settled
from causeway.local.probe import Probe, nobody_answered
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND, Peer, key_of
from causeway.wire.codec import decode_frame, encode_frame
from causeway.wire.frame import FrameReader

ME = Peer(key_of("a"), "a", "127.0.0.1", 1, 7)
OTHER = Peer(key_of("b"), "b", "127.0.0.1", 2, 8)
WELCOME = encode_frame(Welcome(PROTOCOL_VERSION, ME, 1, others=(OTHER,)))

Answer = Callable[[Message], bytes]


@contextlib.asynccontextmanager
async def scripted_broker(answer: Answer) -> AsyncIterator[int]:
    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        frames = FrameReader()
        while data := await reader.read(65536):
            for frame in frames.feed(data):
                for head, _body in decode_frame(*frame):
                    writer.write(answer(head))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*(task for task in serving if task is not None))


def _polite(answers: dict[type[Message], bytes]) -> Answer:
    return lambda head: {Hello: WELCOME, **answers}.get(type(head), b"")


async def test_probe_reads_status_and_neighbours() -> None:
    reply = encode_frame(StatusReply(1), b'{"broker": "a", "active": true}')
    async with scripted_broker(_polite({StatusRequest: reply})) as port, Probe("127.0.0.1", port) as probe:
        assert await probe.status() == {"broker": "a", "active": True}
        assert probe.peer == ME
        assert probe.others == (OTHER,)


def _paged(head: Message) -> bytes:
    """A broker with three mailboxes that shows one at a time, and the directory's group with the first."""
    if not isinstance(head, StatusRequest):
        return WELCOME if isinstance(head, Hello) else b""
    number = int(head.after or 0) + 1
    groups = [{"name": "causeway/root", "members": ["a"]}] if number == 1 else []
    report = {
        "active": True,
        "groups": [*groups, {"name": str(number), "members": ["a"]}],
        "mailboxes": [{"name": str(number)}],
        "groups_truncated": 3 - number,
        "next": str(number) if number < 3 else None,
    }
    return encode_frame(StatusReply(1), msgspec.json.encode(report))


async def test_probe_asks_on_until_it_has_all_mailboxes() -> None:
    async with scripted_broker(_paged) as port, Probe("127.0.0.1", port) as probe:
        report = await probe.status()
    assert [group["name"] for group in report["groups"]] == ["causeway/root", "1", "2", "3"]
    assert [box["name"] for box in report["mailboxes"]] == ["1", "2", "3"]
    assert (report["groups_truncated"], report["next"]) == (0, None)
    assert not_handed_over("a", report, {"b": {}}) == ["1", "2", "3", "causeway/root"]


async def test_one_answer_is_enough_to_tell_whether_a_cluster_is_settled() -> None:
    async with scripted_broker(_paged) as port, Probe("127.0.0.1", port) as probe:
        report = await probe.status(whole=False)
    assert (len(report["mailboxes"]), report["groups_truncated"]) == (1, 2)
    assert settled({"a": report}, 1, 5)


async def test_probe_does_not_listen_for_ever_to_a_status_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STATUS_PAGES_MAX", 6)
    reply = encode_frame(StatusReply(1), b'{"groups": [{"name": "a"}], "next": "a"}')
    async with scripted_broker(_polite({StatusRequest: reply})) as port, Probe("127.0.0.1", port) as probe:
        assert len((await probe.status())["groups"]) == 6


async def test_probe_asks_where_to_go_and_measures_the_way() -> None:
    reply = encode_frame(Located(1, (Candidate(OTHER, True, True, 5, False, 2, 5, 0, 10, 1000, 1),)))
    script = _polite({Locate: reply})

    def answer(head: Message) -> bytes:
        return encode_frame(Pong(head.nonce)) if isinstance(head, Ping) else script(head)

    async with scripted_broker(answer) as port, Probe("127.0.0.1", port) as probe:
        assert [one.peer for one in (await probe.locate()).candidates] == [OTHER]
        assert 0 < await probe.round_trip() < 10 * SECOND


async def test_probe_reads_a_story() -> None:
    records = [TraceRecord(1, "a", Step.SENT, "orders", 1, "billing", 2, 1, 4)]
    reply = encode_frame(StoryReply(1), msgspec.msgpack.encode(records))
    async with scripted_broker(_polite({StoryRequest: reply})) as port, Probe("127.0.0.1", port) as probe:
        assert await probe.story(StoryRequest(1, "orders", 1, "billing", 2, 3)) == records


async def test_probe_answers_a_ping_before_the_broker_answers_it() -> None:
    pongs: list[int] = []

    def answer(head: Message) -> bytes:
        match head:
            case Hello():
                return WELCOME
            case StatusRequest():
                return encode_frame(Ping(5))
            case Pong(nonce=nonce):
                pongs.append(nonce)
                return encode_frame(StatusReply(1), b"{}")
        return b""

    async with scripted_broker(answer) as port, Probe("127.0.0.1", port) as probe:
        assert await probe.status() == {}
    assert pongs == [5]


async def test_probe_passes_on_why_a_broker_refused() -> None:
    farewell = encode_frame(Goodbye(Code.BAD_VERSION, "version 1 is not spoken here"))
    async with scripted_broker(lambda _head: farewell) as port:
        with pytest.raises(Refused, match="version 1 is not spoken here") as caught:
            async with Probe("127.0.0.1", port):
                pass
    assert caught.value.code is Code.BAD_VERSION


async def test_probe_survives_a_code_of_a_newer_release() -> None:
    async with scripted_broker(lambda _head: encode_frame(Goodbye(999, "news"))) as port:
        with pytest.raises(Refused, match="news"):
            async with Probe("127.0.0.1", port):
                pass


async def test_probe_gives_up_on_a_broker_that_never_answers() -> None:
    async with scripted_broker(lambda _head: b"") as port:
        with pytest.raises(DeadlineExceeded, match=f"127.0.0.1:{port} gave no answer to Hello"):
            async with Probe("127.0.0.1", port, seconds_max=0.05):
                pass


async def test_probe_names_the_address_where_nobody_listens() -> None:
    async with scripted_broker(lambda _head: b"") as port:
        pass
    with pytest.raises(TransportError, match=f"127.0.0.1:{port}.*is it running"):
        async with Probe("127.0.0.1", port):
            pass


@pytest.mark.parametrize("noise", [b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64)])
async def test_probe_calls_noise_a_broken_protocol(noise: bytes) -> None:
    async with scripted_broker(lambda _head: noise) as port:
        with pytest.raises(RemoteProtocolError):
            async with Probe("127.0.0.1", port):
                pass


async def test_probe_calls_a_status_that_is_no_json_a_broken_protocol() -> None:
    reply = encode_frame(StatusReply(1), b"{")
    async with scripted_broker(_polite({StatusRequest: reply})) as port, Probe("127.0.0.1", port) as probe:
        with pytest.raises(RemoteProtocolError, match="not JSON"):
            await probe.status()


async def test_join_is_asked_of_this_broker_and_a_refusal_names_the_cycle() -> None:
    def answer(message: Message) -> bytes:
        if isinstance(message, Hello):
            return WELCOME
        assert isinstance(message, JoinDomain)
        if message.domain == "south":
            return encode_frame(DomainJoined(message.token, (), int(Code.CYCLE), "b1 [north] b2 [south] b1"))
        return encode_frame(DomainJoined(message.token, ("north", "west")))

    async with scripted_broker(answer) as port, Probe("127.0.0.1", port) as probe:
        assert await probe.join("west") == ("north", "west")
        with pytest.raises(Refused, match=r"b1 \[north\] b2 \[south\] b1") as caught:
            await probe.join("south")
        assert caught.value.code == Code.CYCLE


def test_addresses_where_nobody_listens_are_named_together() -> None:
    silent = [f"broker 127.0.0.1:{port}: nobody listens there; is it running there?" for port in (1, 2)]
    said = str(nobody_answered([silent[0], "broker 127.0.0.1:3 did not answer; is the address right?", silent[1]]))
    assert "(nobody listens at 127.0.0.1:1, 127.0.0.1:2; broker 127.0.0.1:3 did not answer; is the address" in said
