"""An object store for tests: S3's protocol on loopback, with one empty bucket."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

BUCKET = "s3a://traces"


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """A store with the bucket, and the variables that lead there."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it tells of every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        for method, page in (
            ("POST", "moto-api/reset"),
            ("PUT", "traces"),
        ):  # it remembers what this process had before
            urllib.request.urlopen(urllib.request.Request(f"{url}/{page}", method=method)).close()
        yield {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.stop()
