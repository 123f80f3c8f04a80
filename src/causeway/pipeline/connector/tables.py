"""`CREATE TABLE ... USING causeway OPTIONS (...)`: where the options of a table are kept.

Spark asks a source for the columns of a new table and tells it the options then; but it does not tell them again when
the table is read or written (4.2 and 4.3). It keeps the columns, though, with what is attached to them: so one column
carries the options.

Owns: that attachment. Must not know: what options mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as t

_KEY: Final = "causeway.options"
_CARRIERS: Final = ("id", "offset", "body", "value")
"""The first of these columns that a table has; not one that is in every result, which would carry them on."""
_PREFIX: Final = "option."
"""So Spark names the options of a new table, beside properties of its own such as the provider."""


def told_of_table(options: Mapping[str, str]) -> dict[str, str] | None:
    """The options of the table that is created just now; None if it is no table that we are asked about."""
    if "provider" not in options:
        return None
    return {name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)}


def with_options(schema: t.StructType, options: Mapping[str, str]) -> t.StructType:
    """The columns, of which one carries the options."""
    names = schema.fieldNames()
    carrier = next((name for name in _CARRIERS if name in names), names[0])
    kept = {_KEY: json.dumps(dict(options), sort_keys=True)}
    return t.StructType(
        [
            t.StructField(field.name, field.dataType, metadata=kept) if field.name == carrier else field
            for field in schema
        ]
    )


def options_of(schema: t.StructType) -> dict[str, str]:
    """What the columns of a table carry; nothing for others."""
    for field in schema:
        kept = field.metadata.get(_KEY)
        if kept is not None:
            return {str(name): str(value) for name, value in json.loads(kept).items()}
    return {}
