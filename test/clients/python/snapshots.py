"""Snapshots through the client, against a server of the dialect `qdrant` (C12): `snapshots.py URL KEY`."""

from __future__ import annotations

import sys

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse


def main(url: str, key: str) -> None:
    client = QdrantClient(url, api_key=key, timeout=60)
    client.create_collection("py", vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT))
    client.upsert("py", [models.PointStruct(id=1, vector=[1.0, 2.0], payload={"a": 1})])
    made = client.create_snapshot("py")
    assert made is not None and made.size > 0 and made.checksum, made
    assert client.list_snapshots("py") == [made]
    client.delete("py", models.PointIdsList(points=[1]))
    assert client.recover_snapshot("py", f"file:///qdrant/snapshots/py/{made.name}", checksum=made.checksum)
    assert client.count("py").count == 1
    assert client.delete_snapshot("py", made.name)
    assert client.list_snapshots("py") == []
    full = client.create_full_snapshot()
    assert full is not None
    assert client.list_full_snapshots() == [full]
    assert client.delete_full_snapshot(full.name)
    for location, status in [("http://127.0.0.1:1/x", 400), (made.name, 404)]:
        try:
            client.recover_snapshot("py", location)
        except UnexpectedResponse as error:
            assert error.status_code == status, error
        else:
            raise AssertionError(location)


main(*sys.argv[1:])
