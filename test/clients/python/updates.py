"""Changes of points: after each one the whole collection is the same on both sides (C5)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Call, Comparison
from conditions import combined
from documents import payload, points, vector
from qdrant_client import QdrantClient, models
from qdrant_client.models import FieldCondition, Filter, PointStruct, PointVectors

SIZES = {"image": 3, "text": 4}

# Every kind of path: existing and not, through objects, arrays and scalars.
KEYS = ["deep", "deep.a", "deep.a.b", "items[]", "items[0]", "items[9]", "items[].parts[]", "city", "city.name"]
KEYS += ["city[]", "new.path.here", 'deep."x.y"', "tags[0].t", "mixed[].m", "items[0].parts[0].k.z"]

DELETED = [["city"], ["deep.a.b", "tags"], ["items[].name"], ["items[]"], ["items[0]"], ["items[0].qty"]]
DELETED += [['deep."x.y"'], ["no.such", "n"], ["mixed[].m", "deep.a.c[]"]]


def compare_updates(comparison: Comparison, seed: int) -> None:
    rng = random.Random(seed)
    collection = "updates"
    config = {name: models.VectorParams(size=size, distance=models.Distance.DOT) for name, size in SIZES.items()}
    comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
    rows = points(rng, 60, SIZES)
    everything = [row.id for row in rows]
    comparison.both(lambda client: client.upload_points(collection, rows, wait=True, batch_size=16))

    def changed(group: str, name: str, change: Call) -> None:
        """The change is answered alike, and leaves the same points."""
        comparison.same(group, f"{name}: answer", lambda client: update_status(change(client)))
        comparison.same(group, f"{name}: state", lambda client: state(client, collection))

    changed("upsert", "uploaded", lambda client: None)

    def some() -> Any:
        """A selector: ids, or a filter, by chance."""
        return rng.choice([rng.sample(everything, k=8), combined(rng)])

    for n, key in enumerate([None, None, *KEYS]):
        fields: Any = rng.choice([{"t": n}, {"t": None, "u": [n]}, {"b": {"c": n}, "city": "Bern"}, {}])
        selector = some()
        changed(
            "set payload",
            f"key {key} {fields} {selector}",
            lambda client: client.set_payload(collection, payload=fields, points=selector, key=key, wait=True),
        )
    for n, keys in enumerate(DELETED):
        selector = everything if n % 2 else some()
        changed(
            "delete payload",
            f"{keys} {selector}",
            lambda client: client.delete_payload(collection, keys=keys, points=selector, wait=True),
        )
    for n in range(4):
        fields, selector = payload(rng, n), some()
        changed(
            "overwrite payload",
            f"{fields} {selector}",
            lambda client: client.overwrite_payload(collection, payload=fields, points=selector, wait=True),
        )
    selector = rng.sample(everything, k=3)
    changed("clear payload", "ids", lambda client: client.clear_payload(collection, points_selector=selector))
    chosen = combined(rng)
    changed("clear payload", "filter", lambda client: client.clear_payload(collection, points_selector=chosen))
    comparison.differs_on_purpose(
        "overwrite payload with key", "replaces what is at the key; the reference replaces the whole payload"
    )

    new = {
        "dense": models.DenseVectorNameConfig(dense=models.DenseVectorConfig(size=2, distance=models.Distance.DOT)),
        "sparse": models.SparseVectorNameConfig(sparse=models.SparseVectorConfig(modifier=models.Modifier.IDF)),
    }
    given: dict[str, Any] = {"dense": [0.5, -2.0], "sparse": models.SparseVector(indices=[1, 9], values=[1.0, 2.0])}
    for kind, definition in new.items():
        changed(
            "vector names",
            f"added, {kind}",
            lambda client: client.create_vector_name(collection, "later", definition, wait=True),
        )
        rows_with = [PointVectors(id=id, vector={"later": given[kind]}) for id in everything[:5]]
        changed("vector names", f"written, {kind}", lambda client: client.update_vectors(collection, rows_with))
        comparison.same(
            "vector names",
            f"queried, {kind}",
            lambda client: client.query_points(collection, query=given[kind], using="later", limit=3),
        )
        changed(
            "vector names", f"removed, {kind}", lambda client: client.delete_vector_name(collection, "later", wait=True)
        )

    for n in range(4):
        replaced = points(rng, 60, SIZES)[n * 9 : n * 9 + 9]
        mode = rng.choice([None, *models.UpdateMode])
        condition = combined(rng) if n % 2 else None
        changed(
            "upsert",
            f"{n} mode {mode} if {condition}",
            lambda client: client.upsert(collection, replaced, update_filter=condition, update_mode=mode),
        )
    columns = models.Batch(
        ids=[1, 2, 500],
        vectors={name: [vector(rng, size) for _ in range(3)] for name, size in SIZES.items()},
        payloads=[{"batch": 1}, {}, {"batch": None}],
    )
    changed("upsert", "columns", lambda client: client.upsert(collection, columns))

    for n in range(3):
        moved = [PointVectors(id=id, vector={"image": vector(rng, 3)}) for id in rng.sample(everything, k=5)]
        changed("vectors", f"update {n}", lambda client: client.update_vectors(collection, moved))
    for chosen in (rng.sample(everything, k=4), combined(rng)):
        changed("vectors", f"delete {chosen}", lambda client: client.delete_vectors(collection, ["text"], chosen))
    few = Filter(must=[FieldCondition(key="index", range=models.Range(lt=9))])
    for chosen in (rng.sample(everything, k=4), [10**9], few):
        changed("delete", f"{chosen}", lambda client: client.delete(collection, points_selector=chosen))

    # Points that are still there: absent ones are a 404 here that undoes the whole batch.
    present = [record.id for record in state(comparison.ours, collection)][:4]
    batch: list[models.UpdateOperation] = [
        models.UpsertOperation(
            upsert=models.PointsList(points=[PointStruct(id=900, vector={"text": vector(rng, 4)}, payload={"a": 1})])
        ),
        models.SetPayloadOperation(set_payload=models.SetPayload(payload={"b": 2}, points=[900, *present])),
        models.SetPayloadOperation(
            set_payload=models.SetPayload(payload={"c": 3}, key="a.x", filter=Filter(must=models.HasIdCondition(has_id=[900])))
        ),
        models.OverwritePayloadOperation(overwrite_payload=models.SetPayload(payload={"o": None}, points=present[:1])),
        models.DeletePayloadOperation(delete_payload=models.DeletePayload(keys=["b"], points=present[1:2])),
        models.ClearPayloadOperation(clear_payload=models.PointIdsList(points=present[2:3])),
        models.UpdateVectorsOperation(
            update_vectors=models.UpdateVectors(points=[PointVectors(id=900, vector={"image": vector(rng, 3)})])
        ),
        models.DeleteVectorsOperation(delete_vectors=models.DeleteVectors(vector=["text"], points=[900])),
        models.DeleteOperation(delete=models.PointIdsList(points=present[3:])),
    ]
    changed("batch", "every operation", lambda client: client.batch_update_points(collection, batch))
    changed(
        "delete", "everything", lambda client: client.delete(collection, points_selector=models.FilterSelector(filter=Filter()))
    )
    comparison.differs_on_purpose(
        "an empty list of ids", "an update of no points does nothing; the reference refuses it"
    )
    comparison.differs_on_purpose(
        "partial effects", "an update that names an absent point changes nothing; the reference changes the others"
    )


def compare_refusals(comparison: Comparison) -> None:
    """What neither side takes."""
    collection = "refusals"
    config = models.VectorParams(size=2, distance=models.Distance.DOT)
    comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
    comparison.both(lambda client: client.upsert(collection, [PointStruct(id=1, vector=[1, 2], payload={"a": 1})]))
    refused: dict[str, Call] = {
        "an absent collection": lambda client: client.get_collection("absent"),
        "points of an absent collection": lambda client: client.count("absent"),
        "an existing collection": lambda client: client.create_collection(collection, vectors_config=config),
        "a short vector": lambda client: client.upsert(collection, [PointStruct(id=2, vector=[1])]),
        "a long query": lambda client: client.query_points(collection, query=[1, 2, 3]),
        "an unknown vector name": lambda client: client.query_points(collection, query=[1, 2], using="image"),
        "an absent example": lambda client: client.query_points(collection, query=77),
        "a word as id": lambda client: client.upsert(collection, [PointStruct(id="one", vector=[1, 2])]),
        "payload of an absent point": lambda client: client.set_payload(collection, {"b": 1}, points=[77]),
        "vectors of an absent point": lambda client: client.update_vectors(
            collection, [PointVectors(id=77, vector=[1, 2])]
        ),
        "an offset with an order": lambda client: client.scroll(collection, offset=1, order_by="a"),
        "a bad path": lambda client: client.set_payload(collection, {"b": 1}, key="a..b", points=[1]),
        "min_count of nothing": lambda client: client.count(
            collection, Filter(min_should=models.MinShould(conditions=[], min_count=0))
        ),
    }
    for name, call in refused.items():
        comparison.both_refuse("refusals", name, call)
    comparison.same("refusals", "nothing has changed", lambda client: state(client, collection))


def update_status(answer: Any) -> Any:
    """The statuses of an update's answer; operation ids belong to each side."""
    if isinstance(answer, list):
        return [update_status(one) for one in answer]
    return None if answer is None else answer.status


def state(client: QdrantClient, collection: str) -> list[models.Record]:
    """Every point with all that it holds."""
    records, _ = client.scroll(collection, limit=1000, with_payload=True, with_vectors=True)
    return records
