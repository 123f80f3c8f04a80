"""Errors are one line for people, one object for programs, and an exit code."""

from __future__ import annotations

import json

import pytest

from causeway.cli.output import EXIT_FAILED, EXIT_USAGE, code_name, describe, fail, fail_usage
from causeway.errors import Code, ConfigError, Refused, TransportError


def test_config_error_names_field_value_and_remedy() -> None:
    described = describe(ConfigError("ttl", -1, "must not be negative"))
    assert described["kind"] == "ConfigError"
    assert (described["field"], described["value"], described["remedy"]) == ("ttl", -1, "must not be negative")


def test_refusal_names_its_code_and_what_to_do() -> None:
    described = describe(Refused(Code.NO_QUORUM, "billing: 1 of 3 copies"))
    assert described["code"] == "no_quorum"
    assert described["retriable"] is True
    assert "restore the unreachable brokers" in described["remedy"]


def test_value_that_is_no_json_is_shown_as_text() -> None:
    assert describe(ConfigError("data", b"\xff", "x"))["value"] == "b'\\xff'"


def test_code_of_a_newer_release_has_a_name() -> None:
    assert code_name(999) == "code-999"


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("url", "x", "y"), EXIT_USAGE), (TransportError("gone"), EXIT_FAILED)],
)
def test_fail_tells_usage_from_failure(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert fail(error, as_json=False) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_fail_adds_the_remedy_of_a_refusal_to_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    fail(Refused(Code.MAILBOX_FULL, "billing holds 8 GiB"), as_json=False)
    assert capsys.readouterr().err == (
        "error: mailbox_full: billing holds 8 GiB (consume from it, or restart brokers with "
        "--set stored_bytes_max (express: volatile_bytes_max))\n"
    )


def test_fail_does_not_let_markup_in_an_error_vanish(capsys: pytest.CaptureFixture[str]) -> None:
    fail(TransportError("odd [bold]name[/bold]\nsecond line"), as_json=False)
    assert capsys.readouterr().err == "error: odd [bold]name[/bold] second line\n"


def test_fail_as_json_puts_the_error_on_standard_output_too(capsys: pytest.CaptureFixture[str]) -> None:
    fail(ConfigError("port", 99999, "must lie in 0..65535"), as_json=True)
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["field"] == "port"
    assert "99999" in err


def test_usage_failure_points_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail_usage("No such option: --x", where="causeway up", as_json=True) == EXIT_USAGE
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["kind"] == "UsageError"
    assert "'causeway up --help'" in err
