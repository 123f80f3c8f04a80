"""The factory of JMS connections. Owns: what all connections it makes have in common."""

from __future__ import annotations

from pathlib import Path

from causeway.jms.connection import Connection
from causeway.jms.context import JMSContext


class ConnectionFactory:
    """Makes connections to one cluster.

    Args:
        url: as of `causeway.connect`.
        client_id: the application's name; needed for durable subscriptions. Can be set on the connection instead.
        object_messages: whether object messages may be written and read: reading one runs code of its sender.
        prefetch: how many messages a consumer holds unacknowledged; so many can a transaction receive from it.
        timeout: seconds that a send, a commit or a question may take.
        connect_timeout: seconds until a broker must have answered.
        state: as of `causeway.connect`: exactly once over restarts of the application; for one connection at a time.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str | None = None,
        object_messages: bool = False,
        prefetch: int = 1024,
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        state: str | Path | None = None,
    ) -> None:
        self.url = url
        self.client_id = client_id
        self.object_messages = object_messages
        self.prefetch = prefetch
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.state = state

    def create_connection(self) -> Connection:
        """A connection, stopped as yet."""
        return Connection(self)

    def create_context(self, session_mode: int = JMSContext.AUTO_ACKNOWLEDGE) -> JMSContext:
        """A connection and a session in one."""
        return JMSContext(Connection(self), session_mode)

    # As JMS spells it.
    createConnection = create_connection
    createContext = create_context
