"""The address a broker serves: which are allowed, how one is bound, and what to say when it cannot be.

Owns: ConfigErrors about host and port. Must not know: what is served there.
"""

from __future__ import annotations

import errno
import ipaddress
import socket

from causeway.errors import ConfigError
from causeway.limits import CONNECTIONS_WAITING_MAX


def bind(host: str, port: int, *, allow_network: bool) -> socket.socket:
    """A bound socket for the first address that `host` stands for."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError("host", host, f"cannot be resolved ({error}); give an address such as 127.0.0.1") from error
    family, kind, protocol, _, address = found[0]
    _check_address(host, str(address[0]), allow_network=allow_network)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind(address)
        listener.listen(CONNECTIONS_WAITING_MAX)
    except OSError as error:
        listener.close()
        raise _explain(host, port, error) from error
    return listener


def _check_address(host: str, numeric: str, *, allow_network: bool) -> None:
    address = ipaddress.ip_address(numeric.partition("%")[0])
    if address.is_unspecified:
        raise ConfigError("host", host, "must be an address that other brokers can dial, not a wildcard")
    if not address.is_loopback and not allow_network:
        raise ConfigError(
            "host", host, "TLS and authentication are not available yet, so only loopback addresses are served"
        )


def _explain(host: str, port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError("port", port, "is in use by another program; stop it or choose another port (0: any)")
    if error.errno == errno.EACCES:
        return ConfigError("port", port, "needs special rights; choose one above 1023 (0: any free one)")
    if error.errno == errno.EADDRNOTAVAIL:
        return ConfigError("host", host, "is not an address of this machine; give one that is, such as 127.0.0.1")
    return ConfigError("host", host, f"cannot be served ({error.strerror or error}); give another address")
