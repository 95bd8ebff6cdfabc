"""Fusions with weights, and random trees of prefetches with filters, thresholds and limits at every node (C6.3)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from conditions import combined
from documents import points, rounds, vector
from qdrant_client import models
from qdrant_client.models import Filter

SIZES = {"image": 5, "text": 8}
COUNT = 130
PLAIN = (models.Distance.COSINE, models.Distance.DOT)


def compare_fusions(comparison: Comparison, seed: int) -> None:
    for distance in models.Distance:
        rng = random.Random(f"{seed} fusions {distance}")
        collection = f"fusions-{distance.value}"
        config = {name: models.VectorParams(size=size, distance=distance) for name, size in SIZES.items()}
        comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
        rows = points(rng, COUNT, SIZES)
        comparison.both(lambda client: client.upsert(collection, rows, wait=True))
        ids = [row.id for row in rows if len(row.vector) == len(SIZES)]
        for n in rounds(14):
            sources = [node(rng, distance, ids, 2) for _ in range(rng.randint(2, 3))]
            arguments: dict[str, Any] = {
                "prefetch": sources,
                **inner_query(rng, distance, len(sources)),
                "query_filter": chosen(rng),
                "limit": rng.choice([4, 200]),
                "offset": rng.choice([None, 0, 3]),
            }
            comparison.same(
                "trees of prefetches",
                f"{collection} {n} {arguments!r}",
                lambda client: client.query_points(collection, **arguments),
            )
        for n in range(4):
            sources = [leaf(rng, distance, ids) for _ in range(3)]
            weights = [rng.uniform(0.3, 4), rng.choice([0.0, 1.0]), rng.uniform(0.3, 4)]
            fusion = models.RrfQuery(rrf=models.Rrf(k=rng.choice([None, 1, 60]), weights=weights))
            comparison.same(
                "weighted rrf",
                f"{collection} {n} {fusion!r}",
                lambda client: client.query_points(collection, prefetch=sources, query=fusion, limit=200),
            )
        sources = [leaf(rng, distance, ids) for _ in range(2)]
        for kind, fusion in fusions(rng, distance, 2).items():
            for threshold in (0.02, 0.3, 0.6):
                comparison.same(
                    "fusions with a threshold",
                    f"{collection} {kind} {threshold}",
                    lambda client: client.query_points(
                        collection, prefetch=sources, query=fusion, limit=200, score_threshold=threshold
                    ),
                )
    comparison.differs_on_purpose(
        "`should` in nested prefetches", "a filter holds as a whole; the reference makes one list of all levels"
    )
    comparison.differs_on_purpose("`dbsf` over distances", "the nearest wins here, the farthest in the reference")


def chosen(rng: random.Random) -> Filter | None:
    """One filter in two; whole under `must`, because the reference makes one `should` of those of all levels."""
    return rng.choice([None, Filter(must=[Filter(must_not=[combined(rng)])])])


def leaf(rng: random.Random, distance: models.Distance, ids: list[Any]) -> models.Prefetch:
    name = rng.choice(list(SIZES))
    # Under each distance some hits are better than this threshold and some are worse.
    threshold = 0.0 if distance in PLAIN else 0.6 * SIZES[name]
    return models.Prefetch(
        query=vector(rng, SIZES[name]) if rng.random() < 0.6 else rng.choice(ids),
        using=name,
        filter=chosen(rng),
        limit=rng.randint(5, 40),
        score_threshold=rng.choice([None, None, threshold]),
        params=models.SearchParams(exact=True),
    )


def node(rng: random.Random, distance: models.Distance, ids: list[Any], depth: int) -> models.Prefetch:
    if depth == 0 or rng.random() < 0.4:
        return leaf(rng, distance, ids)
    below = [node(rng, distance, ids, depth - 1) for _ in range(rng.randint(1, 3))]
    return models.Prefetch(
        prefetch=below, **inner_query(rng, distance, len(below)), filter=chosen(rng), limit=rng.randint(5, 40)
    )


def inner_query(rng: random.Random, distance: models.Distance, lists: int) -> dict[str, Any]:
    """What is made of prefetches: a fusion, or a new order by a vector."""
    if rng.random() < 0.6:
        return {"query": rng.choice(list(fusions(rng, distance, lists).values()))}
    name = rng.choice(list(SIZES))
    return {"query": vector(rng, SIZES[name]), "using": name}


def fusions(rng: random.Random, distance: models.Distance, lists: int) -> dict[str, Any]:
    """Fusions whose scores do not tie, so that a limit cuts the same on both sides."""
    weights = [rng.uniform(0.5, 3) for _ in range(lists)]
    found: dict[str, Any] = {"weights": models.RrfQuery(rrf=models.Rrf(k=rng.choice([None, 7]), weights=weights))}
    if distance in PLAIN:
        found["dbsf"] = models.FusionQuery(fusion=models.Fusion.DBSF)
    return found
