# Generated from client/_async/receipt.py by tools/unasync.py: edit that file, then run `make generate`.
"""What a send returns: the message's id, its acknowledgement, and its delivery confirmation."""

from __future__ import annotations

from causeway.client.batches import SentBatch, Ticket
from causeway.errors import ConfigError, DeadlineExceeded
from causeway.types import Flag

_CONFIRM = int(Flag.CONFIRM)


class Receipt(Ticket, frozen=True, gc=False):
    """One sent message; wait for it to be acknowledged with `receipt`."""

    @property
    def id(self) -> str:
        """Identifies the message in the whole cluster; known once it has left."""
        return str(self.message_id)

    @property
    def delivered(self) -> bool:
        """Whether the acknowledgement came from the receiving application itself."""
        return self.batch.delivered

    def wait(self) -> Receipt:
        """Until the message is acknowledged with the meaning of its class. Raises why it was not.

        Raises:
            Refused: brokers do not take it: it does not arrive.
            OutcomeUnknown: its time was over; it may have arrived, or arrive still.
            DeadlineExceeded: its time was over before it could be sent: it does not arrive.
        """
        self._wait(self.batch)
        if self.batch.echo is not None:
            self._wait(self.batch.echo)
        return self

    def _wait(self, batch: SentBatch) -> None:
        host = batch.handler
        if not batch.over:
            host.hear(batch, self.index)
            try:
                host.wait_for(lambda: batch.over, batch)
            except BaseException:
                host.turn_away(batch, self.index)
                raise
        error = batch.error_of(self.index)
        if error is not None:
            host.hear(batch, self.index)
            raise error

    def confirmed(self, timeout: float | None = None) -> bool:
        """Until the receiving application has settled the message (sent with `confirm=True`); then True.

        Raises DeadlineExceeded after `timeout` seconds: a confirmation can be lost, the message is not.
        """
        batch = self.batch
        if not batch.lane.flags & _CONFIRM:
            raise ConfigError("confirm", False, "send the message with confirm=True to have its delivery confirmed")
        self.wait()
        if not batch.handler.wait_for(lambda: batch.confirmed, batch, seconds=timeout):
            raise DeadlineExceeded(f"the delivery of {self.id} was not confirmed within {timeout:g} s")
        return True

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<Receipt {self.id}>"
