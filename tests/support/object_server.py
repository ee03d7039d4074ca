"""An object server that speaks S3 (moto), on loopback a process of its own; and storages that tests look into."""

import os
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec

import pytest
from local_servers import ROOT, answers, free_port, stop
from waiting import until

from tasks.runtime import shared_store
from tasks.runtime.environment import home

LOGIN = {
    "AWS_ACCESS_KEY_ID": "hush",
    "AWS_SECRET_ACCESS_KEY": "of-no-worth",
    "AWS_DEFAULT_REGION": "us-east-1",
}
BUCKET = "shared"
needs_s3 = pytest.mark.skipif(
    find_spec("s3fs") is None or find_spec("moto") is None,
    reason="the extra `s3` or moto is not installed: pip install -e '.[test]'",
)


def use(monkeypatch, storage, root):
    """Have this process keep its objects in a storage, and all else in a HUSH_HOME that is made at `root`."""
    for name, value in {"HUSH_STORE": storage.address, "HUSH_HOME": str(root), **storage.environment}.items():
        monkeypatch.setenv(name, value)
    shared_store._place.cache_clear()
    home().create()


class ObjectServer:
    """A server that can be stopped; what it held is gone with it."""

    def __init__(self, port=None):
        self.port = port or free_port()
        self.environment = {**LOGIN, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}

    def start(self):
        self.child = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            cwd=ROOT, env={**os.environ, **LOGIN}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        until(lambda: answers(f"http://127.0.0.1:{self.port}/moto-api/data.json"), "the object server")
        self.client().create_bucket(Bucket=BUCKET)

    def client(self):
        import boto3

        return boto3.client(
            "s3", endpoint_url=self.environment["AWS_ENDPOINT_URL"], region_name="us-east-1",
            aws_access_key_id="hush", aws_secret_access_key="of-no-worth",
        )  # fmt: skip

    def stop(self):
        stop(self.child)


@contextmanager
def object_server():
    """A server with an empty bucket."""
    server = ObjectServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()


class InBucket:
    """What lies under a prefix of the server's bucket, as its owner sees it."""

    def __init__(self, server, prefix):
        self.server, self.prefix, self.environment = server, prefix, server.environment
        self.address = f"s3://{BUCKET}/{prefix}"

    def files(self):
        client = self.server.client()
        listed = client.list_objects_v2(Bucket=BUCKET, Prefix=self.prefix).get("Contents", ())
        return {
            one["Key"].removeprefix(self.prefix + "/"): client.get_object(Bucket=BUCKET, Key=one["Key"])[
                "Body"
            ].read()
            for one in listed
        }

    def put(self, name, data):
        self.server.client().put_object(Bucket=BUCKET, Key=f"{self.prefix}/{name}", Body=data)

    def delete(self, name):
        self.server.client().delete_object(Bucket=BUCKET, Key=f"{self.prefix}/{name}")


class InFolder:
    """What lies in a folder that is mounted everywhere."""

    environment = {}  # noqa: RUF012

    def __init__(self, root):
        self.root, self.address = root, root.as_uri()
        root.mkdir()

    def files(self):
        found = [path for path in self.root.rglob("*") if path.is_file()]
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}

    def put(self, name, data):
        (self.root / name).write_bytes(data)

    def delete(self, name):
        (self.root / name).unlink()
