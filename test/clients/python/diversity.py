"""Maximal marginal relevance over every kind of vector (C6.3)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from documents import vector
from multivectors import rows
from qdrant_client import models
from qdrant_client.models import PointStruct
from sparse import sparse

COUNT = 60


def compare_diversity(comparison: Comparison, seed: int) -> None:
    for distance in models.Distance:
        rng = random.Random(f"{seed} mmr {distance}")
        collection = f"mmr-{distance.value}"
        max_sim = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        comparison.both(
            lambda client: client.create_collection(
                collection,
                vectors_config={
                    "dense": models.VectorParams(size=6, distance=distance),
                    "multi": models.VectorParams(size=5, distance=distance, multivector_config=max_sim),
                },
                sparse_vectors_config={"sparse": models.SparseVectorParams()},
            )
        )
        points = [
            PointStruct(
                id=id,
                vector={"dense": vector(rng, 6), "multi": rows(rng), "sparse": sparse(rng, least=4)},
                payload={"third": id % 3},
            )
            for id in range(COUNT)
        ]
        comparison.both(lambda client: client.upsert(collection, points, wait=True))
        fields: dict[str, Any] = {
            "dense": lambda: vector(rng, 6),
            "multi": lambda: rows(rng),
            "sparse": lambda: sparse(rng, least=4),
        }
        chosen = models.Filter(must=[models.FieldCondition(key="third", match=models.MatchValue(value=1))])
        for n in range(12):
            name = list(fields)[n % 3]
            nearest = rng.choice([fields[name](), rng.randrange(COUNT)])
            mmr = models.Mmr(
                diversity=rng.choice([0.1, 0.35, 0.5, 0.8, None]), candidates_limit=rng.choice([12, 30, 100])
            )
            leaf = models.Prefetch(query=fields[name](), using=name, limit=40)
            arguments = {
                "query": models.NearestQuery(nearest=nearest, mmr=mmr),
                "using": name,
                "limit": rng.choice([3, 10]),
                "offset": rng.choice([None, 2]),
                "query_filter": chosen if n % 4 == 0 else None,
                "prefetch": leaf if n % 4 == 1 else None,
            }
            comparison.same(
                "query by mmr",
                f"{collection} {n} {arguments!r}",
                lambda client: client.query_points(collection, **arguments),
            )
