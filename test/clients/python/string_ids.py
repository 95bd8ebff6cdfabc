"""String ids (C21) through the client: `string_ids.py URL KEY COLLECTION`, of which the collection is there."""

from __future__ import annotations

import sys

from qdrant_client import QdrantClient, models


def main(url: str, key: str, collection: str) -> None:
    client = QdrantClient(url, api_key=key, timeout=60)
    points = [("doc/1", [1.0, 0.0]), ("7", [0.0, 1.0]), (7, [1.0, 1.0])]
    client.upsert(collection, [models.PointStruct(id=id, vector=vector) for id, vector in points])
    client.upload_points(collection, [models.PointStruct(id="uploaded", vector=[0.5, 0.0])], wait=True)
    client.upload_collection(collection, vectors=[[0.25, 0.0]], ids=["column"], wait=True)
    first, offset = client.scroll(collection, limit=3)
    rest, _ = client.scroll(collection, limit=3, offset=offset)
    assert [point.id for point in first + rest] == [7, "7", "column", "doc/1", "uploaded"], first + rest
    assert [point.id for point in client.retrieve(collection, ids=["7", 7])] == ["7", 7]
    near = client.query_points(collection, query="doc/1", limit=1).points
    assert [point.id for point in near] == [7], near
    client.set_payload(collection, payload={"k": 1}, points=["7"])
    has_id = models.Filter(must=[models.HasIdCondition(has_id=["7", "doc/1"])])
    assert client.count(collection, count_filter=has_id).count == 2
    client.delete(collection, points_selector=["7", "column"])
    assert client.count(collection).count == 3


main(*sys.argv[1:])
