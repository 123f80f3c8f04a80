"""`model.json`: means and covariance of items at peak, which the job `rates` writes and the job `risk` reads.

It is a description that `causeway plan placement` reads too (`placement/tables.py`), with the brokers that wrote about
the items and who owned them. Owns: the file. Must not know: how rates were measured, what is computed from them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from causeway.errors import ConfigError
from causeway.lake.locations import locate

MODEL_FILE: Final = "model.json"
"""In the folder of the job `rates`."""


class MeasuredModel(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in the file."""

    items: list[str]
    means: list[float]
    """By item, messages per second."""
    covariance: list[list[float]]
    """A row per item."""
    brokers: dict[str, float] = {}
    """Broker -> messages per second that it sustains."""
    present: dict[str, list[str]] = {}
    """Item -> its owner."""


def write_model(folder: str, model: MeasuredModel) -> str:
    """Write it; the file's name."""
    (locate(folder) / MODEL_FILE).write(msgspec.json.encode(model) + b"\n")
    return MODEL_FILE


def read_model(folder: str) -> MeasuredModel:
    """What the job `rates` wrote. Raises ConfigError."""
    if not folder:
        raise ConfigError("set rates", folder, "give the folder that `causeway pipeline rates --out` has written")
    path = locate(folder) / MODEL_FILE
    try:
        return msgspec.json.decode(path.read(), type=MeasuredModel)
    except OSError as error:
        remedy = f"cannot be read ({error.strerror}); run `causeway pipeline rates --out {folder}` first"
        raise ConfigError("set rates", str(path), remedy) from error
    except msgspec.MsgspecError as error:
        raise ConfigError("set rates", str(path), f"was not written by the job rates ({error})") from error
