"""The command line as people use it: real processes, real clusters, found without being named."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from causeway.local import runfile
from causeway.local.pids import identify, is_running, send_signal
from causeway.local.runfile import BrokerEntry, RunFile
from tests.integration.processes import causeway, environment, eventually, json_lines

COMMANDS = (
    "broker",
    "up",
    "down",
    "leave",
    "status",
    "locate",
    "join",
    "domains",
    "why-held",
    "send",
    "receive",
    "browse",
    "mailbox",
    "story",
    "sim",
    "demo",
)


class Shell:
    """One user's shell: commands share a data directory and the memory of which cluster was started last."""

    def __init__(self, root: Path) -> None:
        self.data = root / "cluster"
        self.environ = environment(root)

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return causeway(*arguments, environ=self.environ, text=text)

    def json(self, *arguments: str, text: str | None = None, code: int = 0) -> list[dict[str, Any]]:
        done = self.run(*arguments, "--json", text=text)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return json_lines(done.stdout)

    def up(self, *arguments: str) -> dict[str, Any]:
        [answer] = self.json("up", "--data", str(self.data), "--port", "0", "--detach", *arguments)
        return answer


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.run("down", "--data", str(shell.data))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A cluster that tests share; each uses mailboxes of its own."""
    shell = Shell(tmp_path_factory.mktemp("cli"))
    shell.up("--brokers", "3")
    yield shell
    shell.run("down")


def _bodies(messages: list[dict[str, Any]]) -> list[str]:
    return [message["body"] for message in messages]


# Messages ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("service", ["express", "recoverable", "transactional"])
def test_messages_sent_are_received_once(started: Shell, service: str) -> None:
    mailbox = f"box-{service}"
    [sent] = started.json("send", mailbox, "one", "two", "--service", service)
    assert (sent["sent"], sent["acknowledged"], len(sent["ids"])) == (2, 2, 2)
    received = started.json("receive", mailbox, "--count", "2")
    assert _bodies(received) == ["one", "two"]
    assert [message["id"] for message in received] == sent["ids"]
    assert {message["service"] for message in received} == {service}
    assert started.json("receive", mailbox, "--timeout", "0.5") == []


def test_unreliable_messages_are_sent_without_acknowledgement(started: Shell) -> None:
    [sent] = started.json("send", "box-unreliable", "one", "--service", "unreliable")
    assert (sent["sent"], sent["acknowledged"]) == (1, 0)
    assert _bodies(started.json("receive", "box-unreliable", "--count", "1")) == ["one"]


def test_browse_shows_everything_and_takes_nothing(started: Shell) -> None:
    started.json("send", "box-browse", "one", "two", "three")
    assert _bodies(started.json("browse", "box-browse")) == ["one", "two", "three"]
    assert _bodies(started.json("browse", "box-browse", "--count", "2")) == ["one", "two"]
    assert _bodies(started.json("browse", "box-browse", "--selector", "JMSPriority = 4", "--count", "1")) == ["one"]
    assert _bodies(started.json("browse", "box-browse", "--selector", "amount > 4")) == []
    assert _bodies(started.json("receive", "box-browse", "--count", "3")) == ["one", "two", "three"]
    assert started.json("browse", "box-browse") == []


def test_looking_makes_no_mailbox(started: Shell) -> None:
    assert started.json("browse", "box-misspelt") == []
    assert "box-misspelt" not in started.run("status", "--json").stdout


def test_mailbox_is_purged_and_deleted(started: Shell) -> None:
    started.json("send", "box-deleted", "one", "two", "--service", "transactional")
    refused = started.run("mailbox", "purge", "box-deleted")
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    [purged] = started.json("mailbox", "purge", "box-deleted", "--yes")
    assert purged == {"mailbox": "box-deleted", "action": "purge", "done": True}
    assert started.json("browse", "box-deleted") == []
    started.json("send", "box-deleted", "three")
    [deleted] = started.json("mailbox", "delete", "box-deleted", "--yes")
    assert deleted["done"]
    asyncio.run(eventually(lambda: "box-deleted" not in started.run("status", "--json").stdout, "it ends", 40))
    [error] = started.json("mailbox", "delete", "box-deleted", "--yes", code=1)
    assert error["error"]["code"] == "no_mailbox"
    started.json("send", "box-deleted", "four")
    assert _bodies(started.json("receive", "box-deleted", "--count", "1")) == ["four"]


def test_receive_without_acknowledgement_leaves_the_messages(started: Shell) -> None:
    started.json("send", "box-no-ack", "one")
    assert _bodies(started.json("receive", "box-no-ack", "--no-ack", "--timeout", "1")) == ["one"]
    [again] = started.json("receive", "box-no-ack", "--count", "1")
    assert (again["body"], again["deliveries"]) == ("one", 0), "who leaves gives nothing back"


def test_receive_fails_when_the_count_does_not_come(started: Shell) -> None:
    started.json("send", "box-count", "one")
    assert _bodies(started.json("receive", "box-count", "--count", "2", "--timeout", "0.5", code=1)) == ["one"]


def test_lines_of_standard_input_are_messages(started: Shell) -> None:
    [sent] = started.json("send", "box-lines", "--stdin-lines", text="a\nb\n\nd")
    assert sent["acknowledged"] == 4
    assert _bodies(started.json("receive", "box-lines", "--count", "4")) == ["a", "b", "", "d"]


def test_file_is_one_message_and_bytes_survive(started: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)))
    started.json("send", "box-file", "--file", str(tmp_path / "file"))
    [message] = started.json("receive", "box-file", "--count", "1")
    assert message["body"] is None
    assert msgspec.convert(message["body_base64"], bytes, strict=False) == bytes(range(256))


def test_higher_priority_comes_first(started: Shell) -> None:
    started.json("send", "box-priority", "low", "--priority", "1")
    started.json("send", "box-priority", "high", "--priority", "9")
    received = started.json("receive", "box-priority", "--count", "2")
    assert [(message["body"], message["priority"]) for message in received] == [("high", 9), ("low", 1)]


def test_count_repeats_the_message(started: Shell) -> None:
    [sent] = started.json("send", "box-many", "x", "--count", "2500", "--service", "transactional")
    assert sent["acknowledged"] == 2500
    received = started.json("receive", "box-many", "--count", "2500")
    assert [int(message["id"].rpartition(":")[2]) for message in received] == list(range(1, 2501))


def test_plain_receive_prints_bodies_alone_on_standard_output(started: Shell) -> None:
    started.json("send", "box-plain", "one", "two")
    done = started.run("receive", "box-plain", "--count", "2")
    assert done.stdout == "one\ntwo\n"


def test_story_follows_a_message_across_brokers_until_its_reader_has_acknowledged_it(started: Shell) -> None:
    started.json("send", "box-story", "begin")
    [status] = started.json("status")
    [owner] = [box["owner"] for box in status["mailboxes"] if box["name"] == "box-story"]
    away = next(f"causeway://{one['address']}" for one in status["brokers"] if one["name"] != owner)
    [sent] = started.json("send", "box-story", "one", "--service", "transactional", "--url", away)
    *steps, last = started.json("story", sent["ids"][0])
    assert [place["state"] for place in last["now"]] == ["waiting"]
    started.json("receive", "box-story", "--count", "2")
    *steps, last = started.json("story", sent["ids"][0])
    names = [step["step"] for step in steps]
    assert [name for name in names if name != "acknowledged"] == ["sent", "forwarded", "stored", "delivered", "settled"]
    assert len({step["broker"] for step in steps}) == 2
    assert [step["at"] for step in steps] == sorted(step["at"] for step in steps)
    [stored] = [step for step in steps if step["step"] == "stored"]
    assert len(stored["peers"]) == 3
    assert [(place["mailbox"], place["state"]) for place in last["now"]] == [("box-story", "acknowledged")]
    shown = started.run("story", sent["ids"][0]).stdout
    assert "forwarded" in shown
    assert shown.splitlines()[-1] == "now: causeway-cli has acknowledged it; it is no longer in box-story"


def test_story_of_an_express_message_ends_when_it_is_acknowledged(started: Shell) -> None:
    [sent] = started.json("send", "box-express", "one", "--service", "express")
    started.json("receive", "box-express", "--count", "1")
    *_steps, last = started.json("story", sent["ids"][0])
    assert [place["state"] for place in last["now"]] == ["acknowledged"]


def test_story_of_a_message_nobody_knows_fails(started: Shell) -> None:
    assert started.json("story", "nobody:1:nowhere:t:1", code=1) == []
    [answer] = started.json("story", "nonsense", code=2)
    assert answer["error"]["field"] == "id"


def test_status_shows_brokers_and_mailboxes(started: Shell) -> None:
    started.json("send", "box-status", "one", "two")
    [status] = started.json("status")
    assert status["healthy"] is True
    assert [broker["state"] for broker in status["brokers"]] == ["active"] * 3
    assert [broker["id"] for broker in status["brokers"]] == sorted(broker["id"] for broker in status["brokers"])
    [box] = [box for box in status["mailboxes"] if box["name"] == "box-status"]
    assert box["stored"] == 2
    assert sorted(box["members"]) == ["broker-1", "broker-2", "broker-3"]
    assert (status["data"], status["others"]) == (str(started.data), [])
    assert status["url"].startswith("causeway://127.0.0.1:")
    shown = started.run("status")
    assert shown.stderr == f"cluster in {started.data}, {status['url']}\n"
    table = shown.stdout
    assert "box-status" in table
    assert all(len(line) <= 80 for line in table.splitlines())


def test_locate_asks_whichever_seed_lives_and_explains_its_choice(started: Shell) -> None:
    address = started.json("status")[0]["brokers"][0]["address"]
    url = f"causeway://127.0.0.1:1,{address}"
    [found] = started.json("locate", url)
    assert found["asked"] == address
    assert list(found["skipped"]) == ["127.0.0.1:1"]
    assert sorted(one["broker"] for one in found["candidates"]) == ["broker-1", "broker-2", "broker-3"]
    assert all(one["alive"] and one["measured"] and one["capability"] > 0 for one in found["candidates"])
    assert found["chosen"] == found["candidates"][0]["broker"]
    assert found["why"].startswith(f"{found['chosen']}: ")
    [status] = started.json("status")
    assert {broker["connections_max"] for broker in status["brokers"]} == {10_000}
    table = started.run("locate").stdout
    assert "score = room x ease x nearness" in table


def test_url_wins_over_the_cluster_started_last(started: Shell, tmp_path: Path) -> None:
    url = started.json("status")[0]["brokers"][0]["address"]
    elsewhere = Shell(tmp_path)
    [status] = elsewhere.json("status", "--url", f"causeway://{url}")
    assert len(status["brokers"]) == 3, "one address is enough to find all"
    elsewhere.environ["CAUSEWAY_URL"] = f"causeway://{url}"
    [sent] = elsewhere.json("send", "box-url", "one")
    assert sent["acknowledged"] == 1


# Clusters ---------------------------------------------------------------------------------------------------------
def test_up_on_a_running_cluster_is_refused(started: Shell) -> None:
    [answer] = started.json("up", "--data", str(started.data), "--detach", code=2)
    assert answer["error"]["field"] == "data"
    assert "already up" in answer["error"]["remedy"]


def test_cluster_resumes_with_everything_after_all_its_brokers_were_killed(shell: Shell) -> None:
    before = shell.up("--brokers", "3")
    shell.json("send", "inbox", "one", "two", "--service", "transactional")
    for broker in before["brokers"]:
        process = identify(broker["pid"])
        assert process is not None
        assert send_signal(process, signal.SIGKILL)
    assert shell.run("status").returncode == 1
    after = shell.up()
    assert after["url"] == before["url"], "brokers keep their ports"
    assert {broker["pid"] for broker in after["brokers"]}.isdisjoint(broker["pid"] for broker in before["brokers"])
    assert _bodies(shell.json("receive", "inbox", "--count", "2", "--timeout", "10")) == ["one", "two"]


def test_cluster_resumes_with_everything_after_down(shell: Shell) -> None:
    shell.up("--brokers", "3")
    shell.json("send", "inbox", "one")
    [down] = shell.json("down")
    assert (sorted(down["stopped"]), down["killed"]) == (["broker-1", "broker-2", "broker-3"], [])
    shell.up()
    assert _bodies(shell.json("receive", "inbox", "--count", "1", "--timeout", "10")) == ["one"]


def test_up_starts_only_the_brokers_that_are_missing(shell: Shell) -> None:
    before = {broker["name"]: broker["pid"] for broker in shell.up("--brokers", "3")["brokers"]}
    process = identify(before["broker-2"])
    assert process is not None
    assert send_signal(process, signal.SIGKILL)
    after = {broker["name"]: broker["pid"] for broker in shell.up()["brokers"]}
    assert after["broker-2"] != before["broker-2"]
    assert (after["broker-1"], after["broker-3"]) == (before["broker-1"], before["broker-3"])


def test_cluster_in_memory_serves_and_begins_anew(shell: Shell) -> None:
    assert shell.up("--brokers", "3", "--durability", "memory")["durability"] == "memory"
    shell.json("send", "inbox", "one")
    assert _bodies(shell.json("browse", "inbox")) == ["one"]
    shell.json("down")
    shell.up()
    assert shell.json("browse", "inbox") == []


def _watched(status: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Seats, failed and flapping brokers of the one domain."""
    [domain] = status["agents"]
    return sorted(seat["seat"] for seat in domain["seats"]), domain["failed"], domain["flapping"]


@pytest.mark.slow
def test_broker_that_leaves_hands_over_and_is_not_started_again(shell: Shell) -> None:
    pids = {broker["name"]: broker["pid"] for broker in shell.up("--brokers", "4")["brokers"]}
    for number in range(4):
        shell.json("send", f"box-{number}", "one", "two", "--service", "transactional")
    [left] = shell.json("leave", "broker-1")
    stay = ["broker-2", "broker-3", "broker-4"]
    assert left == {"event": "left", "name": "broker-1", "data": str(shell.data / "broker-1"), "brokers": stay}
    assert identify(pids["broker-1"]) is None
    [status] = shell.json("status")
    assert status["healthy"] is True
    assert sorted(broker["name"] for broker in status["brokers"]) == stay
    assert len(status["mailboxes"]) == 4
    assert all("broker-1" not in box["members"] for box in status["mailboxes"])
    assert _watched(status) == (stay, [], [])
    [main] = shell.json("domains")[0]["domains"]
    assert (sorted(main["seats"]), main["left"]) == (stay, ["broker-1"])
    for number in range(4):
        assert _bodies(shell.json("receive", f"box-{number}", "--count", "2", "--timeout", "10")) == ["one", "two"]
    shell.json("down")
    again = shell.up()
    assert [broker["name"] for broker in again["brokers"]] == stay, "the founder is not needed any more"
    grown = shell.up("--brokers", "4")
    assert [broker["name"] for broker in grown["brokers"]] == [*stay, "broker-5"]


def test_leave_refuses_what_would_lose_messages(shell: Shell) -> None:
    [process] = [identify(broker["pid"]) for broker in shell.up("--brokers", "1")["brokers"]]
    for name, remedy in (("broker-1", "causeway down"), ("broker-9", "is not one of broker-1")):
        [answer] = shell.json("leave", name, code=2)
        assert answer["error"]["field"] == "broker"
        assert remedy in answer["error"]["remedy"]
    assert is_running(process)


async def test_up_in_the_foreground_stops_its_brokers_when_interrupted(shell: Shell) -> None:
    arguments = ["up", "--brokers", "2", "--data", str(shell.data), "--port", "0", "--json"]
    up = subprocess.Popen(
        [sys.executable, "-P", "-m", "causeway", *arguments], env=shell.environ, stdout=subprocess.PIPE, text=True
    )
    assert up.stdout is not None
    try:
        [ready] = json_lines(up.stdout.readline())
        pids = [broker["pid"] for broker in ready["brokers"]]
        assert all(identify(pid) for pid in pids)
        victim = identify(pids[1])
        assert victim is not None
        assert send_signal(victim, signal.SIGKILL)
        [ended] = json_lines(up.stdout.readline())
        assert ended == {"event": "exited", "name": "broker-2", "code": -signal.SIGKILL}
        up.send_signal(signal.SIGINT)
        [down] = json_lines(up.stdout.readline())
        assert down == {"event": "down", "killed": []}
        await eventually(lambda: up.poll() is not None, "up ends")
        assert up.returncode == 0
        assert not any(identify(pid) for pid in pids)
    finally:
        up.kill()
        up.wait()
        up.stdout.close()


async def test_command_that_waits_ends_by_ctrl_c_without_a_traceback(started: Shell) -> None:
    def reads(mailbox: str) -> bool:
        boxes = started.json("status")[0]["mailboxes"]
        return any(box["consumers"] for box in boxes if box["name"] == mailbox)

    for arguments in (["receive", "box-waits", "--follow"], ["subscribe", "topic/waits"]):
        command = [sys.executable, "-P", "-m", "causeway", *arguments]
        with subprocess.Popen(command, env=started.environ, stderr=subprocess.PIPE, text=True) as waiting:
            assert waiting.stderr is not None
            try:
                if arguments[0] == "receive":
                    await eventually(lambda: reads("box-waits"), "it reads", 60.0)
                else:
                    assert "subscribed" in waiting.stderr.readline()
                waiting.send_signal(signal.SIGINT)
                _out, said = waiting.communicate(timeout=60)
            finally:
                waiting.kill()
        assert (waiting.returncode, "Traceback" in said) == (130, False), arguments


def test_down_does_not_touch_a_process_that_only_has_the_number(shell: Shell) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        process = identify(stranger.pid)
        assert process is not None
        earlier = msgspec.structs.replace(process, started=process.started - 1)
        shell.data.mkdir()
        runfile.save(shell.data, RunFile([BrokerEntry("broker-1", port=1, process=earlier)]))
        [down] = shell.json("down", "--data", str(shell.data))
        assert down["stopped"] == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_busy_port_ends_the_first_up_with_the_reason_and_leaves_nothing(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        asked = ["up", "--brokers", "1", "--data", str(shell.data), "--detach"]
        [answer] = shell.json(*asked, "--port", str(port), code=2)
    assert (answer["error"]["field"], answer["error"]["value"]) == ("port", port)
    assert "in use by another program" in answer["error"]["message"]
    assert "another port" in answer["error"]["remedy"]
    assert not shell.data.exists()


def test_broker_that_cannot_start_ends_the_first_up_which_leaves_only_its_log(shell: Shell) -> None:
    (shell.data / "broker-1").mkdir(parents=True)
    (shell.data / "broker-1" / "store.db").mkdir()
    done = shell.run("up", "--brokers", "1", "--data", str(shell.data), "--port", "0", "--detach")
    assert done.returncode != 0
    assert "broker-1" in done.stderr
    assert sorted(path.name for path in shell.data.iterdir()) == ["broker-1", "logs"]
    assert list((shell.data / "broker-1").iterdir()), "what was there before is not ours to remove"


def test_up_with_another_port_than_the_cluster_has_is_refused(started: Shell) -> None:
    [answer] = started.json("up", "--data", str(started.data), "--port", "1", "--detach", code=2)
    assert answer["error"]["field"] == "port"
    assert "leave --port out" in answer["error"]["remedy"]


def test_cluster_that_grows_goes_on_after_its_own_ports(shell: Shell) -> None:
    before = shell.up("--brokers", "1")["brokers"][0]["port"]
    [answer] = shell.json("up", "--data", str(shell.data), "--brokers", "2", "--detach")
    assert [broker["port"] for broker in answer["brokers"]] == [before, before + 1]


def test_command_that_finds_another_one_at_work_may_be_tried_again(started: Shell) -> None:
    with runfile.lock(started.data):
        [answer] = started.json("up", "--data", str(started.data), "--detach", code=1)
    assert answer["error"]["retriable"] is True
    assert "another causeway command" in answer["error"]["message"]


def test_settings_hold_at_the_brokers_and_over_restarts(shell: Shell) -> None:
    shell.up("--brokers", "1", "--set", "mailboxes_max=1")
    shell.json("send", "first", "one")
    [refused] = shell.json("send", "second", "two", code=1)
    assert refused["error"]["code"] == "cluster_full"
    shell.json("down")
    shell.up()
    [refused] = shell.json("send", "second", "two", code=1)
    assert refused["error"]["code"] == "cluster_full"
    shell.json("down")
    shell.up("--set", "mailboxes_max=2")
    shell.json("send", "second", "two")


def test_setting_that_does_not_exist_is_refused_with_those_that_do(shell: Shell) -> None:
    for command in (
        ["up", "--data", str(shell.data)],
        ["broker", "--name", "a", "--founder", "--durability", "memory"],
    ):
        [answer] = shell.json(*command, "--set", "colour=red", code=2)
        assert (answer["error"]["field"], answer["error"]["value"]) == ("set", "colour=red")
        assert "stored_bytes_max" in answer["error"]["remedy"]


# Help and errors ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_teaches_by_examples(command: str) -> None:
    done = causeway(command, "--help")
    assert done.returncode == 0
    assert f"$ causeway {command}" in done.stdout
    assert "--json" in done.stdout


def test_help_lists_every_command() -> None:
    done = causeway("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in COMMANDS)


def test_command_line_that_cannot_be_parsed_is_one_line_and_code_two() -> None:
    for arguments in (["nonsense"], ["up", "--nonsense"], ["send"], ["up", "--brokers", "x"]):
        done = causeway(*arguments, "--json")
        assert done.returncode == 2, arguments
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        assert json_lines(done.stdout)[0]["error"]["kind"] == "UsageError"


def test_count_does_not_repeat_standard_input(shell: Shell) -> None:
    done = shell.run("send", "inbox", "--stdin-lines", "--count", "2", text="a\n")
    assert done.returncode == 2
    assert "count=2" in done.stderr
    assert "--stdin-lines" in done.stderr


def test_command_without_a_cluster_says_how_to_start_one(shell: Shell) -> None:
    for command in (["status"], ["down"], ["leave", "broker-1"], ["send", "inbox", "x"], ["receive", "inbox"]):
        done = shell.run(*command)
        assert done.returncode == 2
        assert "causeway up" in done.stderr


def test_command_for_a_stopped_cluster_says_at_once_how_to_start_it(shell: Shell) -> None:
    shell.up("--brokers", "2")
    shell.json("down")
    data = ["--data", str(shell.data)]
    bus = (["send", "a", "x"], ["publish", "a", "x"], ["receive", "a"], ["subscribe", "a"], ["browse", "a"])
    for command in (*bus, ["unsubscribe", "a"], ["locate", "--topic", "a"]):
        done = shell.run(*command, *data)
        assert done.returncode == 1, command
        assert done.stderr.startswith("error: nobody listens at 127.0.0.1:"), command
        assert "causeway up --data" in done.stderr
        assert done.stderr.count("\n") == 1
    for command in (["domains"], ["join", "north"], ["locate"], ["why-held", "--all"], ["status"]):
        done = shell.run(*command, *data)
        assert done.returncode == 1, command
        assert "causeway up" in done.stdout + done.stderr, command


def test_reader_that_has_seen_enough_is_no_error(started: Shell) -> None:
    started.json("send", "box-pipe", "x" * 1000, "--count", "200")
    command = f"{sys.executable} -P -m causeway receive box-pipe --count 200 | head -1"
    done = subprocess.run(
        ["bash", "-c", command], env=started.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "x" * 1000 + "\n"
    assert "Traceback" not in done.stderr
    assert os.path.exists(started.data)
