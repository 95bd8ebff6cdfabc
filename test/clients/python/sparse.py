"""Sparse vectors, with and without `idf`: queries of each kind, before and after changes of the points (C2.3, C6.3)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from examples import example_queries, negatives_only
from qdrant_client import QdrantClient, models
from qdrant_client.models import FieldCondition, Filter, PointStruct, PointVectors, SparseVector

COUNT = 80
TERMS = 24
EVEN = Filter(must=[FieldCondition(key="even", match=models.MatchValue(value=True))])


def sparse(rng: random.Random, least: int = 1) -> SparseVector:
    """Positive weights, so that no score is a difference of nearly equal sums; indices in any order, up to 2³² - 1."""
    terms = rng.sample([*range(TERMS - 1), 2**32 - 1], k=rng.randint(least, 7))
    return SparseVector(indices=terms, values=[rng.uniform(0.1, 2) for _ in terms])


def compare_sparse(comparison: Comparison, seed: int) -> None:
    for modifier in models.Modifier:
        rng = random.Random(f"{seed} sparse {modifier}")
        collection = f"sparse-{modifier.value}"
        comparison.both(
            lambda client: client.create_collection(
                collection,
                vectors_config={"dense": models.VectorParams(size=3, distance=models.Distance.DOT)},
                sparse_vectors_config={
                    name: models.SparseVectorParams(modifier=modifier) for name in ("words", "letters")
                },
            )
        )
        # One in ten lacks the vector, and one has a vector without terms: neither is ever found by it.
        rows = [
            PointStruct(
                id=id,
                vector={
                    "dense": [rng.uniform(-1, 1) for _ in range(3)],
                    **({"words": sparse(rng)} if id % 10 else {}),
                    **({"letters": sparse(rng)} if id % 3 else {}),
                },
                payload={"even": id % 2 == 0},
            )
            for id in range(COUNT)
        ]
        rows.append(PointStruct(id=COUNT, vector={"words": SparseVector(indices=[], values=[])}))
        comparison.both(lambda client: client.upsert(collection, rows, wait=True))
        comparison.same(
            "sparse vectors",
            f"{collection} read back",
            lambda client: client.retrieve(collection, ids=list(range(COUNT + 1)), with_vectors=True),
        )
        ids = [id for id in range(COUNT) if id % 10]
        compare_each(comparison, rng, collection, ids)

        # The frequencies that idf weighs by follow every change at once.
        changes: list[Any] = [
            lambda client: client.delete(collection, points_selector=EVEN),
            lambda client: client.update_vectors(
                collection,
                [PointVectors(id=id, vector={"words": SparseVector(indices=[1, 2 + id], values=[1, 2])}) for id in (1, 3, 5)],
            ),
            lambda client: client.delete_vectors(collection, ["words"], [7, 9]),
            lambda client: client.upsert(collection, [PointStruct(id=11, vector={"words": sparse(random.Random(1))})]),
        ]
        for n, change in enumerate(changes):
            comparison.both(change)
            query = sparse(rng, least=4)
            comparison.same(
                "sparse vectors",
                f"{collection} after change {n}",
                lambda client: client.query_points(collection, query=query, using="words", limit=COUNT),
            )


def compare_each(comparison: Comparison, rng: random.Random, collection: str, ids: list[int]) -> None:
    def found(client: QdrantClient, **arguments: Any) -> Any:
        return client.query_points(collection, using="words", **arguments)

    for n in range(6):
        few = {"limit": rng.choice([3, 200]), "offset": rng.choice([None, 2]), "query_filter": EVEN if n % 2 else None}
        nearest = {"a vector": sparse(rng), "an id": rng.choice(ids)}
        for kind, query in nearest.items():
            comparison.same(
                "sparse vectors",
                f"{collection} {n} nearest to {kind} {query} {few}",
                lambda client: found(client, query=query, **few),
            )
        several = {
            **example_queries(rng, ids, lambda: sparse(rng)),
            **negatives_only(rng, ids, lambda: sparse(rng)),
        }
        for kind, query in several.items():
            comparison.same(
                f"sparse {kind}",
                f"{collection} {n} {query!r}",
                # All of them: many points share no term with any example, and so have the same score.
                lambda client: found(client, query=query, limit=200, query_filter=few["query_filter"]),
            )
    if collection == "sparse-idf":
        query = sparse(rng, least=5)
        odd = Filter(must_not=EVEN.must)
        for corpus in (EVEN, odd, Filter(must=[*EVEN.must, odd]), Filter()):
            params = models.SearchParams(idf=models.IdfCorpusParams(corpus=corpus))
            for condition in (None, EVEN):
                comparison.same(
                    "sparse idf corpus",
                    f"{corpus!r} of {condition!r}",
                    lambda client: found(client, query=query, search_params=params, query_filter=condition, limit=200),
                )
    query = sparse(rng, least=5)
    for threshold in (-1.0, 0.8, 2.5):
        comparison.same(
            "sparse vectors",
            f"{collection} score_threshold {threshold}",
            lambda client: found(client, query=query, score_threshold=threshold, limit=200),
        )
    for n in range(3):
        leaves = [
            models.Prefetch(query=sparse(rng, least=5), using="words", limit=25),
            models.Prefetch(query=[rng.uniform(-1, 1) for _ in range(3)], using="dense", limit=25),
            models.Prefetch(query=sparse(rng, least=5), using="letters", filter=EVEN, limit=25),
        ]
        weights = [rng.uniform(0.5, 3) for _ in leaves]
        hybrids: dict[str, Any] = {
            "rrf": models.RrfQuery(rrf=models.Rrf(weights=weights)),
            "dbsf": models.FusionQuery(fusion=models.Fusion.DBSF),
        }
        for kind, query in hybrids.items():
            comparison.same(
                "sparse and dense",
                f"{collection} {n} {kind}",
                lambda client: client.query_points(collection, prefetch=leaves, query=query, limit=20),
            )
        rescored = sparse(rng, least=4)
        comparison.same(
            "sparse and dense",
            f"{collection} {n} rescored",
            lambda client: found(client, prefetch=leaves[1], query=rescored, limit=20),
        )
