"""
One flow through every endpoint group with whatever release of qdrant-client is on the path (C9.1, C1.1).

    python releases.py URL TOKEN DIALECT

Prints the release and the calls that were made. Fails where an answer cannot be read or is not the expected one.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import warnings
from typing import Any

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

COLLECTION = "releases"


class Flow:
    """The client, and the names of the methods that were called."""

    def __init__(self, client: QdrantClient) -> None:
        self.client = client
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.called.append(name)
        return getattr(self.client, name)

    def has(self, name: str) -> bool:
        return hasattr(self.client, name)


def equal(got: Any, expected: Any) -> None:
    if got != expected:
        raise AssertionError(f"{got!r} instead of {expected!r}")


def ids(points: Any) -> list[Any]:
    return [point.id for point in points]


def manage(flow: Flow) -> None:
    dense = models.VectorParams(size=2, distance=models.Distance.DOT)
    sparse = {"words": models.SparseVectorParams()}
    equal(flow.collection_exists(COLLECTION), False)
    equal(flow.create_collection(COLLECTION, {"v": dense}, sparse_vectors_config=sparse), True)
    equal([c.name for c in flow.get_collections().collections], [COLLECTION])
    hnsw = models.HnswConfigDiff(m=24)
    equal(flow.update_collection(COLLECTION, hnsw_config=hnsw), True)
    info = flow.get_collection(COLLECTION)
    equal((info.config.hnsw_config.m, info.config.params.vectors["v"].size, info.points_count), (24, 2, 0))
    keyword = models.PayloadSchemaType.KEYWORD
    equal(flow.create_payload_index(COLLECTION, "city", field_schema=keyword, wait=True).status, "completed")


def write(flow: Flow) -> None:
    def row(n: int) -> models.PointStruct:
        vector = {"v": [float(n), 1.0], "words": models.SparseVector(indices=[n], values=[1.0])}
        return models.PointStruct(id=n, vector=vector, payload={"n": n, "city": "Bern" if n % 2 else "Oslo"})

    equal(flow.upsert(COLLECTION, [row(n) for n in range(1, 4)], wait=True).status, "completed")
    flow.upload_points(COLLECTION, [row(n) for n in range(4, 9)], wait=True)
    equal(flow.count(COLLECTION).count, 8)
    flow.set_payload(COLLECTION, {"more": 1}, points=[1])
    flow.overwrite_payload(COLLECTION, {"n": 2}, points=[2])
    flow.delete_payload(COLLECTION, ["more"], points=[1])
    flow.clear_payload(COLLECTION, points_selector=[3])
    flow.update_vectors(COLLECTION, [models.PointVectors(id=8, vector={"v": [80.0, 1.0]})])
    flow.delete_vectors(COLLECTION, ["words"], points=[8])
    change = models.SetPayload(payload={"batch": True}, points=[4])
    results = flow.batch_update_points(COLLECTION, [models.SetPayloadOperation(set_payload=change)])
    equal([result.status for result in results], ["completed"])
    flow.delete(COLLECTION, points_selector=[7])


def read(flow: Flow) -> None:
    retrieved = flow.retrieve(COLLECTION, [2, 3, 8], with_vectors=["v"])
    equal([(r.id, r.payload, r.vector["v"]) for r in retrieved], [
        (2, {"n": 2}, [2.0, 1.0]), (3, {}, [3.0, 1.0]), (8, {"n": 8, "city": "Oslo"}, [80.0, 1.0]),
    ])  # fmt: skip
    page, following = flow.scroll(COLLECTION, limit=2)
    equal((ids(page), following), ([1, 2], 3))
    oslo = models.Filter(must=[models.FieldCondition(key="city", match=models.MatchValue(value="Oslo"))])
    equal(ids(flow.query_points(COLLECTION, [1.0, 0.0], using="v", query_filter=oslo).points), [8, 6, 4])
    fused = flow.query_points(
        COLLECTION,
        prefetch=[
            models.Prefetch(query=[1.0, 0.0], using="v", limit=2),
            models.Prefetch(query=models.SparseVector(indices=[5], values=[1.0]), using="words", limit=2),
        ],
        query=models.FusionQuery(fusion=models.Fusion.RRF),
    )
    equal(sorted(ids(fused.points)), [5, 6, 8])
    asked = models.QueryRequest(query=[1.0, 0.0], using="v", limit=1)
    equal([ids(answer.points) for answer in flow.query_batch_points(COLLECTION, [asked, asked])], [[8], [8]])
    if flow.has("search"):
        equal(ids(flow.search(COLLECTION, ("v", [1.0, 0.0]), limit=2)), [8, 6])
        one = models.SearchRequest(vector=models.NamedVector(name="v", vector=[1.0, 0.0]), limit=1)
        equal([ids(hits) for hits in flow.search_batch(COLLECTION, [one])], [[8]])


def grouped(flow: Flow) -> None:
    """What answers in the dialect `qdrant` alone: groups, aliases, snapshots, and the endpoints that older releases call."""
    found = flow.query_points_groups(COLLECTION, group_by="city", query=[1.0, 0.0], using="v", limit=2, group_size=2)
    equal([(group.id, ids(group.hits)) for group in found.groups], [("Oslo", [8, 6]), ("Bern", [5, 1])])
    if flow.has("search_groups"):
        found = flow.search_groups(COLLECTION, ("v", [1.0, 0.0]), group_by="city", limit=1, group_size=1)
        equal([ids(group.hits) for group in found.groups], [[8]])
    if flow.has("recommend"):
        equal(ids(flow.recommend(COLLECTION, positive=[8], negative=[1], using="v", limit=2)), [6, 5])
        one = models.RecommendRequest(positive=[8], using="v", limit=1)
        equal([ids(hits) for hits in flow.recommend_batch(COLLECTION, [one])], [[6]])
        found = flow.recommend_groups(COLLECTION, group_by="city", positive=[8], using="v", limit=1, group_size=1)
        equal([ids(group.hits) for group in found.groups], [[6]])
    if flow.has("discover"):
        equal(len(flow.discover(COLLECTION, target=8, using="v", limit=2)), 2)
        one = models.DiscoverRequest(target=8, using="v", limit=1)
        equal([len(hits) for hits in flow.discover_batch(COLLECTION, [one])], [1])
    equal(flow.retrieve(COLLECTION, [77]), [])

    create = models.CreateAlias(collection_name=COLLECTION, alias_name="latest")
    change = [models.CreateAliasOperation(create_alias=create)]
    equal(flow.update_collection_aliases(change_aliases_operations=change), True)
    equal([(a.alias_name, a.collection_name) for a in flow.get_aliases().aliases], [("latest", COLLECTION)])
    equal([alias.alias_name for alias in flow.get_collection_aliases(COLLECTION).aliases], ["latest"])
    equal(flow.count("latest").count, flow.count(COLLECTION).count)

    made = flow.create_snapshot(COLLECTION)
    equal([(one.name, one.size) for one in flow.list_snapshots(COLLECTION)], [(made.name, made.size)])
    before = flow.count(COLLECTION).count
    flow.delete(COLLECTION, points_selector=[1, 2])
    equal(flow.recover_snapshot(COLLECTION, f"file:///snapshots/{made.name}"), True)
    equal(flow.count(COLLECTION).count, before)
    equal(flow.delete_snapshot(COLLECTION, made.name), True)
    full = flow.create_full_snapshot()
    equal([one.name for one in flow.list_full_snapshots()], [full.name])
    equal(flow.delete_full_snapshot(full.name), True)


def refused(flow: Flow, dialect: str) -> None:
    """Errors come back as errors, not as answers that cannot be read."""
    dense = models.VectorParams(size=2, distance=models.Distance.DOT)
    calls = [
        (409, lambda: flow.create_collection(COLLECTION, dense)),
        (404, lambda: flow.get_collection("absent")),
        (400, lambda: flow.query_points(COLLECTION, [1.0], using="v")),
    ]
    if dialect == "specification":
        calls += [
            (404, lambda: flow.retrieve(COLLECTION, [77])),
            (501, lambda: flow.get_aliases()),
            (501, lambda: flow.create_snapshot(COLLECTION)),
            (501, lambda: flow.query_points_groups(COLLECTION, group_by="city", query=[1.0, 0.0], using="v")),
        ]
    for status, call in calls:
        try:
            call()
        except UnexpectedResponse as error:
            equal(error.status_code, status)
        else:
            raise AssertionError(f"a call was answered that must be a {status}")


def end(flow: Flow) -> None:
    equal(flow.delete_payload_index(COLLECTION, "city").status, "completed")
    equal(flow.delete_collection(COLLECTION), True)
    flow.close()


def main(url: str, token: str, dialect: str) -> None:
    # A client that finds the server's version incompatible says so by a warning, and so do deprecated methods.
    warnings.simplefilter("ignore")
    # Seconds; the client would give up after 5, and this machine may be busy.
    flow = Flow(QdrantClient(url=url, api_key=token, timeout=60))
    manage(flow)
    write(flow)
    read(flow)
    if dialect == "qdrant":
        grouped(flow)
    refused(flow, dialect)
    end(flow)
    print(json.dumps({"release": importlib.metadata.version("qdrant-client"), "calls": len(flow.called)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
