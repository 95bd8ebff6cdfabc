"""Multi-vectors under every distance: queries of each kind, directly and over prefetches (C2.3, C6.3)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from documents import vector
from examples import example_queries, negatives_only
from qdrant_client import QdrantClient, models
from qdrant_client.models import FieldCondition, Filter, PointStruct, PointVectors

COUNT = 50
SIZE = 5
LOW = Filter(must=[FieldCondition(key="index", range=models.Range(lt=30))])


def rows(rng: random.Random) -> list[list[float]]:
    return [vector(rng, SIZE) for _ in range(rng.randint(1, 4))]


def compare_multivectors(comparison: Comparison, seed: int) -> None:
    for distance in models.Distance:
        rng = random.Random(f"{seed} multi {distance}")
        collection = f"multi-{distance.value}"
        max_sim = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        config = {
            "tokens": models.VectorParams(size=SIZE, distance=distance, multivector_config=max_sim),
            "whole": models.VectorParams(size=SIZE, distance=distance),
        }
        comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
        points = [
            PointStruct(
                id=id,
                vector={"whole": vector(rng, SIZE), **({"tokens": rows(rng)} if id % 8 else {})},
                payload={"index": id},
            )
            for id in range(COUNT)
        ]
        comparison.both(lambda client: client.upsert(collection, points, wait=True))
        comparison.same(
            "multi-vectors",
            f"{collection} read back",
            lambda client: client.scroll(collection, limit=COUNT, with_vectors=["tokens"]),
        )
        ids = [id for id in range(COUNT) if id % 8]
        compare_each(comparison, rng, collection, ids)

        moved = [PointVectors(id=id, vector={"tokens": rows(rng)}) for id in ids[:5]]
        comparison.both(lambda client: client.update_vectors(collection, moved))
        comparison.both(lambda client: client.delete_vectors(collection, ["tokens"], ids[5:9]))
        query = rows(rng)
        comparison.same(
            "multi-vectors",
            f"{collection} after changes",
            lambda client: client.query_points(collection, query=query, using="tokens", limit=COUNT, with_vectors=True),
        )


def compare_each(comparison: Comparison, rng: random.Random, collection: str, ids: list[int]) -> None:
    def found(client: QdrantClient, **arguments: Any) -> Any:
        return client.query_points(collection, using="tokens", **arguments)

    for n in range(4):
        queries: dict[str, Any] = {
            "rows": rows(rng),
            "one row": [vector(rng, SIZE)],
            "an id": rng.choice(ids),
            **example_queries(rng, ids, lambda: rows(rng)),
            **negatives_only(rng, ids, lambda: rows(rng)),
        }
        few = {"limit": rng.choice([4, 100]), "query_filter": LOW if n % 2 else None}
        for kind, query in queries.items():
            # A context gives many points the same score: all of them then.
            chosen = {**few, "limit": 100} if kind == "context" else few
            comparison.same(
                f"multi {kind}", f"{collection} {n} {query!r}", lambda client: found(client, query=query, **chosen)
            )
        leaf = models.Prefetch(query=vector(rng, SIZE), using="whole", limit=20, filter=few["query_filter"])
        query = rows(rng)
        comparison.same(
            "multi-vectors",
            f"{collection} {n} rescored",
            lambda client: found(client, prefetch=leaf, query=query, limit=7, offset=n),
        )
