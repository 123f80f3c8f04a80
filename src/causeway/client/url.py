"""Reads the one setting a client needs: causeway://host[:port][,host[:port]...]."""

from __future__ import annotations

from typing import Final

from causeway.client.settings import Address
from causeway.errors import ConfigError

SCHEME: Final = "causeway"
PORT_DEFAULT: Final = 7400
FORM: Final = "write causeway://host:port or causeway://host:port,host:port (IPv6 hosts in [brackets])"


def parse_url(url: str) -> tuple[Address, ...]:
    """Every broker address of a URL, in its order, each once."""
    if not isinstance(url, str):
        raise ConfigError("url", url, f"must be str, not {type(url).__name__}; {FORM}")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() != SCHEME:
        raise ConfigError("url", url, FORM)
    rest = rest.removesuffix("/")
    if not rest:
        raise ConfigError("url", url, f"names no broker; {FORM}")
    if "://" in rest:
        raise ConfigError("url", url, f"names the scheme more than once; {FORM}")
    if any(mark in rest for mark in "/?#@"):
        raise ConfigError("url", url, f"has a path, query or user, which mean nothing here; {FORM}")
    return tuple(dict.fromkeys(_address(url, part.strip()) for part in rest.split(",")))


def _address(url: str, part: str) -> Address:
    if part.startswith("["):
        host, bracket, tail = part[1:].partition("]")
        if not bracket or (tail and not tail.startswith(":")):
            raise ConfigError("url", url, f"{part!r} is not an address; {FORM}")
        port = tail[1:] if tail else str(PORT_DEFAULT)
    else:
        host, colon, port = part.partition(":")
        if not colon:
            port = str(PORT_DEFAULT)
    if not host or any(character.isspace() for character in host):
        raise ConfigError("url", url, f"{part!r} has no host; {FORM}")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise ConfigError("url", url, f"port {port!r} must be a number in 1..65535; {FORM}")
    return host, int(port)


def format_url(addresses: tuple[Address, ...]) -> str:
    """The URL of these addresses."""
    parts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in addresses)
    return f"{SCHEME}://{','.join(parts)}"
