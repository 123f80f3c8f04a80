from __future__ import annotations

import socket

import pytest

from causeway.drivers.aio.listener import bind
from causeway.errors import ConfigError


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.5"])
def test_loopback_addresses_are_served(host: str) -> None:
    with bind(host, 0, allow_network=False) as listener:
        assert listener.getsockname()[1] > 0


def test_busy_port_names_the_field_and_the_remedy() -> None:
    with bind("127.0.0.1", 0, allow_network=False) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(ConfigError, match="choose another port") as caught:
            bind("127.0.0.1", port, allow_network=False)
        assert (caught.value.field, caught.value.value) == ("port", port)


def test_port_of_a_connection_that_just_ended_can_be_bound_again() -> None:
    listener = bind("127.0.0.1", 0, allow_network=False)
    address = listener.getsockname()
    client = socket.create_connection(address)
    listener.setblocking(True)
    served, _ = listener.accept()
    served.close()
    client.close()
    listener.close()
    bind("127.0.0.1", address[1], allow_network=False).close()


def test_address_of_the_network_is_refused_until_there_is_tls() -> None:
    with pytest.raises(ConfigError, match="TLS and authentication are not available yet, so only loopback") as caught:
        bind("192.0.2.1", 0, allow_network=False)
    assert caught.value.field == "host"


def test_network_address_of_another_machine_is_refused_even_when_networks_are_allowed() -> None:
    with pytest.raises(ConfigError, match="not an address of this machine"):
        bind("192.0.2.1", 0, allow_network=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_wildcard_is_refused_because_nobody_can_dial_it(host: str) -> None:
    with pytest.raises(ConfigError, match="not a wildcard"):
        bind(host, 0, allow_network=True)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "", "a" * 300, "\ud800"])
def test_name_that_is_none_is_refused(host: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bind(host, 0, allow_network=False)
    assert caught.value.field == "host"
