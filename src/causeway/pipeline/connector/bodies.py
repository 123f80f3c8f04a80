"""What is inside of bodies: columns from JSON, Avro, protobuf and CloudEvents, and back.

    events.select(json_body("street string, speed double").alias("it")).select("it.*")

Each takes and gives columns, so that Spark's optimiser sees through it. Avro and protobuf are decoded by packages of
Spark that do not come with PySpark: start the session with spark.jars.packages (`--packages`) as `AVRO` and `PROTOBUF`.
A body that does not fit becomes null; with `strict` it stops the query.

Owns: these columns. Must not know: the bus.
"""

from __future__ import annotations

from typing import Any, Final

import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as t

from causeway.errors import ConfigError

BODY: Final = "body"
PROPERTIES: Final = "properties"

AVRO: Final = f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}"
PROTOBUF: Final = f"org.apache.spark:spark-protobuf_2.13:{pyspark.__version__}"

SPEC_VERSION: Final = "1.0"
_PREFIXES: Final = ("ce_", "ce-", "cloudEvents:")
"""Of headers, by the bindings of CloudEvents to Kafka, HTTP and AMQP. We write the first."""
_ATTRIBUTES: Final = ("id", "source", "type", "specversion", "subject", "time", "datacontenttype", "dataschema")
_CONTENT_TYPE: Final = ("content-type", "content_type")


Schema = str | t.StructType | t.ArrayType | t.MapType


def json_body(schema: Schema, body: str | Column = BODY, *, strict: bool = False) -> Column:
    """The body, which is JSON, as a struct."""
    return F.from_json(_text(body), schema, {"mode": _mode(strict=strict)})


def avro_body(schema: str, body: str | Column = BODY, *, strict: bool = False) -> Column:
    """The body, which is one Avro datum without a header; `schema` is Avro's, as JSON."""
    from pyspark.sql.avro.functions import from_avro

    return from_avro(_column(body), schema, {"mode": _mode(strict=strict)})


def protobuf_body(message: str, descriptor: str | bytes, body: str | Column = BODY, *, strict: bool = False) -> Column:
    """The body, which is a protobuf message of this name; `descriptor` is what `protoc --include_imports
    --descriptor_set_out=FILE` writes: the file's path, or its content."""
    from pyspark.sql.protobuf.functions import from_protobuf

    how = {"mode": _mode(strict=strict)}
    return from_protobuf(_column(body), message, options=how, **_descriptor(descriptor))


def as_json(value: Column) -> Column:
    """A struct, an array or a map as a body."""
    return F.to_json(value)


def as_avro(value: Column, schema: str = "") -> Column:
    """A column as one Avro datum; without a schema of Avro, by the one that Spark makes of its type."""
    from pyspark.sql.avro.functions import to_avro

    return to_avro(value, schema)


def as_protobuf(value: Column, message: str, descriptor: str | bytes) -> Column:
    """A struct as a protobuf message."""
    from pyspark.sql.protobuf.functions import to_protobuf

    return to_protobuf(value, message, **_descriptor(descriptor))


def cloud_event(body: str | Column = BODY, properties: str | Column = PROPERTIES) -> Column:
    """The CloudEvent of a message, as a struct of its attributes and `data` (binary); null if it is none.

    In binary mode attributes are headers, and the body is the data; in structured mode the body is JSON with all.
    """
    headers = _column(properties)
    told = F.from_json(_text(body), t.MapType(t.StringType(), t.StringType()))
    binary = F.coalesce(*(headers[f"{prefix}specversion"] for prefix in _PREFIXES))
    in_headers = F.struct(
        *(_header(headers, name).alias(name) for name in _ATTRIBUTES), _column(body).cast("binary").alias("data")
    )
    data = F.coalesce(F.unbase64(told["data_base64"]), told["data"].cast("binary"))
    in_body = F.struct(*(told[name].alias(name) for name in _ATTRIBUTES), data.alias("data"))
    return F.when(binary.isNotNull(), in_headers).when(told["specversion"].isNotNull(), in_body)


def as_cloud_event(data: Column, **attributes: Column | str) -> list[Column]:
    """The columns `properties` and `body` of a CloudEvent in binary mode, for `select`.

    Its attributes are texts or columns. It must have an `id`, which no other event of its `source` has, and a `type`.
    """
    for name in ("id", "source", "type"):
        if name not in attributes:
            raise ConfigError(name, None, "every CloudEvent has one; give a text or a column")
    said = {"specversion": SPEC_VERSION, **attributes}
    pairs = [
        part
        for name, value in said.items()
        for part in (F.lit(f"ce_{name}"), value.cast("string") if isinstance(value, Column) else F.lit(value))
    ]
    return [F.create_map(*pairs).alias(PROPERTIES), data.alias(BODY)]


def _header(headers: Column, name: str) -> Column:
    """Whatever binding it came by; the type of the content has a header of its own."""
    own = _CONTENT_TYPE if name == "datacontenttype" else ()
    return F.coalesce(*(headers[one] for one in (*(f"{prefix}{name}" for prefix in _PREFIXES), *own)))


def _column(column: str | Column) -> Column:
    return F.col(column) if isinstance(column, str) else column


def _text(column: str | Column) -> Column:
    return _column(column).cast("string")


def _mode(*, strict: bool) -> str:
    return "FAILFAST" if strict else "PERMISSIVE"


def _descriptor(descriptor: str | bytes) -> dict[str, Any]:
    return {"binaryDescriptorSet": descriptor} if isinstance(descriptor, bytes) else {"descFilePath": descriptor}
