"""The universal query: several examples, prefetches and what is made of them (C6.3)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from documents import points, rounds, vector
from examples import example_queries, feedback_query
from qdrant_client import QdrantClient, models

SIZES = {"image": 6, "text": 10}
COUNT = 120
EXACT = models.SearchParams(exact=True)


def compare_queries(comparison: Comparison, seed: int) -> None:
    """Every kind of query under every distance, directly and over prefetches."""
    for distance in models.Distance:
        rng = random.Random(f"{seed} queries {distance}")
        collection = f"queries-{distance.value}"
        config = {name: models.VectorParams(size=size, distance=distance) for name, size in SIZES.items()}
        comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
        # Every point has every vector: the reference has its own ways with examples that lack one.
        rows = [row for row in points(rng, COUNT, SIZES) if isinstance(row.id, int) and row.id < 2**63]
        for row in rows:
            row.vector = {name: vector(rng, size) for name, size in SIZES.items()}
        comparison.both(lambda client: client.upsert(collection, rows, wait=True))
        ids = [row.id for row in rows]
        for n in rounds(6):
            compare_examples(comparison, collection, rng, ids, n)
            compare_prefetches(comparison, collection, rng, ids, n, distance)
    comparison.differs_on_purpose("feedback on sparse and multi-vectors", "answered; the reference refuses it")
    comparison.differs_on_purpose(
        "feedback examples, below prefetches", "left out, as with other queries; candidates in the reference"
    )


def compare_examples(comparison: Comparison, collection: str, rng: random.Random, ids: list[Any], n: int) -> None:
    name = rng.choice(list(SIZES))
    limit, offset = rng.choice([5, 30, 500]), rng.choice([None, 2])
    chosen = models.Filter(must=[models.FieldCondition(key="index", range=models.Range(lt=70))])
    queries = example_queries(rng, ids, lambda: vector(rng, SIZES[name]))
    queries["relevance feedback"] = feedback_query(rng, ids, lambda: vector(rng, SIZES[name]))
    for kind, query in queries.items():
        comparison.same(
            f"query by {kind}",
            f"{collection} {n} {query!r}",
            lambda client: client.query_points(
                collection,
                query=query,
                using=name,
                query_filter=chosen if n % 2 else None,
                # A context gives many points the same score: all of them then, since a limit would cut among equal scores.
                limit=500 if kind == "context" else limit,
                offset=None if kind == "context" else offset,
                search_params=EXACT,
            ),
        )


def compare_prefetches(
    comparison: Comparison,
    collection: str,
    rng: random.Random,
    ids: list[Any],
    n: int,
    distance: models.Distance,
) -> None:
    def leaf(limit: int) -> models.Prefetch:
        name = rng.choice(list(SIZES))
        chosen = models.Filter(must=[models.FieldCondition(key="index", range=models.Range(gte=rng.randint(0, 60)))])
        query = vector(rng, SIZES[name])
        return models.Prefetch(query=query, using=name, filter=rng.choice([None, chosen]), limit=limit, params=EXACT)

    leaves = [leaf(limit) for limit in (20, 12, 7)]
    fusions: dict[str, Any] = {
        "rrf": models.FusionQuery(fusion=models.Fusion.RRF),
        "rrf with k": models.RrfQuery(rrf=models.Rrf(k=rng.randint(1, 60))),
    }
    if distance in (models.Distance.COSINE, models.Distance.DOT):
        fusions["dbsf"] = models.FusionQuery(fusion=models.Fusion.DBSF)
    for kind, query in fusions.items():
        comparison.same(
            f"query by {kind}",
            f"{collection} {n}",
            lambda client: client.query_points(collection, prefetch=leaves, query=query, limit=500),
        )
    name = rng.choice(list(SIZES))
    # Weights without a common measure: no two places in the lists score the same, so the limit cuts the same points.
    unequal = models.RrfQuery(rrf=models.Rrf(weights=[rng.uniform(0.5, 3) for _ in leaves]))
    nested = models.Prefetch(prefetch=leaves, query=unequal, limit=15)
    rescored: dict[str, Any] = {
        "nearest": vector(rng, SIZES[name]),
        **example_queries(rng, ids, lambda: vector(rng, SIZES[name])),
    }
    for kind, query in rescored.items():
        for sources in (leaves, nested):
            comparison.same(
                "query over prefetches",
                f"{collection} {n} {kind}",
                lambda client: client.query_points(collection, prefetch=sources, query=query, using=name, limit=500),
            )


def compare_lookups(comparison: Comparison, seed: int) -> None:
    """Examples from another collection."""
    rng = random.Random(f"{seed} lookups")
    for collection, size in (("lookup-here", 6), ("lookup-there", 6)):
        config = {"v": models.VectorParams(size=size, distance=models.Distance.COSINE)}
        comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
        rows = [models.PointStruct(id=id, vector={"v": vector(rng, size)}) for id in range(30)]
        comparison.both(lambda client: client.upsert(collection, rows, wait=True))
    there = models.LookupLocation(collection="lookup-there", vector="v")

    def found(client: QdrantClient, query: Any) -> Any:
        return client.query_points("lookup-here", query=query, using="v", lookup_from=there, limit=40)

    for n in range(5):
        query = models.RecommendQuery(recommend=models.RecommendInput(positive=[n, n + 1], negative=[n + 7]))
        comparison.same("lookup_from", f"{n}", lambda client: found(client, n))
        comparison.same("lookup_from", f"recommend {n}", lambda client: found(client, query))
