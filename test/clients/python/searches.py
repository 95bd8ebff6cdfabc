"""Search, query, scroll, order and selectors: the same points in the same order with the same scores (C2.4, C6)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from conditions import combined
from documents import points, vector
from qdrant_client import QdrantClient, models
from qdrant_client.models import OrderBy

SIZES = {"image": 12, "text": 24}
EXACT = models.SearchParams(exact=True)
SELECTORS: list[Any] = [
    True,
    False,
    ["city", "items[].qty", "deep.a"],
    ["items.qty", "deep", "no.such"],
    models.PayloadSelectorInclude(include=['deep."x.y"', "items[].parts[].k"]),
    models.PayloadSelectorExclude(exclude=["text", "items[].name", "deep.a.b"]),
]


def compare_distances(comparison: Comparison, seed: int) -> None:
    """The four distances, each over two named vectors and with filters."""
    for distance in models.Distance:
        rng = random.Random(f"{seed} {distance}")
        collection = f"distance-{distance.value}"
        config = {name: models.VectorParams(size=size, distance=distance) for name, size in SIZES.items()}
        rows = points(rng, 150, SIZES)
        comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
        comparison.both(lambda client: client.upsert(collection, rows, wait=True))
        group = f"search by {distance.value}"
        for n in range(12):
            name = rng.choice(list(SIZES))
            arguments = {
                "query": rng.choice([vector(rng, SIZES[name]), 1, 2]),
                "using": name,
                "query_filter": combined(rng) if n % 2 else None,
                "limit": rng.choice([1, 10, 500]),
                "offset": rng.choice([None, 0, 3]),
                "with_payload": rng.choice(SELECTORS),
                "with_vectors": rng.choice([True, False, ["image"]]),
            }
            if not has_vector(comparison.ours, collection, arguments["query"], name):
                arguments["query"] = vector(rng, SIZES[name])
            comparison.same(
                group, f"{n} {arguments}", lambda client: client.query_points(collection, search_params=EXACT, **arguments)
            )
        query = vector(rng, SIZES["text"])
        for threshold in (-2.0, 0.15, 3.5, 14.0):
            comparison.same(
                group,
                f"score_threshold {threshold}",
                lambda client: client.query_points(
                    collection, query=query, using="text", score_threshold=threshold, search_params=EXACT, limit=500
                ),
            )
        batch = [models.QueryRequest(query=vector(rng, 12), using="image", limit=n, params=EXACT) for n in (1, 3)]
        comparison.same(group, "batch", lambda client: client.query_batch_points(collection, requests=batch))
    comparison.differs_on_purpose("score_threshold met exactly", "kept here, dropped by the reference")


def has_vector(client: QdrantClient, collection: str, query: Any, name: str) -> bool:
    if isinstance(query, list):
        return True
    [record] = client.retrieve(collection, ids=[query], with_vectors=True)
    return name in (record.vector or {})


def compare_reading(comparison: Comparison, collection: str, seed: int) -> None:
    """Retrieve, scroll by id and by value, plain query and payload selectors."""
    rng = random.Random(seed)
    records, _ = comparison.ours.scroll(collection, limit=1000)
    ids = [record.id for record in records]
    for n, selector in enumerate(SELECTORS):
        comparison.same(
            "selectors",
            f"scroll {n}",
            lambda client: client.scroll(collection, limit=1000, with_payload=selector, with_vectors=n % 2 == 0),
        )
        some = rng.sample(ids, k=15)
        comparison.same(
            "selectors", f"retrieve {n}", lambda client: client.retrieve(collection, ids=some, with_payload=selector)
        )
    comparison.differs_on_purpose("retrieve of an absent id", "404 here, left out by the reference")

    for size in (7, 50, 1000):
        chosen = combined(rng) if size == 50 else None
        comparison.same("scroll", f"pages of {size}", lambda client: pages(client, collection, size, chosen))
    comparison.same("scroll", "from an id", lambda client: client.scroll(collection, offset=50, limit=5))
    comparison.same("scroll", "from a uuid", lambda client: client.scroll(collection, offset=ids[-3], limit=5))
    for n in range(6):
        chosen = combined(rng)
        comparison.same(
            "scroll",
            f"query without a query {n}",
            lambda client: client.query_points(collection, query_filter=chosen, limit=20, offset=n),
        )

    orders: list[OrderBy] = [
        OrderBy(key=key, direction=direction, start_from=start)
        for key, start in [
            ("index", None),
            ("index", 40),
            ("n", None),
            ("n", -2.5),
            ("price", 30),
            ("when", None),
            ("when", "2024-02-29T12:00:00Z"),
            ("items[].qty", 2),
            ("tags", None),
        ]
        for direction in models.Direction
    ]
    for order in orders:
        shown = order.model_dump_json(exclude_none=True)
        comparison.same("order_by", f"all by {shown}", lambda client: ordered(client, collection, order))
    for limit in (1, 9):
        by_index = OrderBy(key="index", direction=models.Direction.DESC)
        comparison.same(
            "order_by",
            f"query, {limit}",
            lambda client: client.query_points(
                collection, query=models.OrderByQuery(order_by=by_index), limit=limit, offset=2
            ),
        )
    comparison.differs_on_purpose("order of ties", "id ascending here, any order in the reference: ties are sorted first")
    sample = comparison.ours.query_points(collection, query=models.SampleQuery(sample="random"), limit=20).points
    if len({point.id for point in sample}) != 20:
        comparison.differences.append(f"sample: {sample}")


def pages(client: QdrantClient, collection: str, size: int, chosen: models.Filter | None) -> list[Any]:
    """Every page of a scroll: its ids, and where the next one begins."""
    found: list[Any] = []
    offset = None
    while True:
        records, offset = client.scroll(collection, scroll_filter=chosen, limit=size, offset=offset)
        found.append(([record.id for record in records], offset))
        if offset is None:
            return found


def ordered(client: QdrantClient, collection: str, order: OrderBy) -> list[Any]:
    """All points in an order, equal values by id."""
    records, following = client.scroll(collection, order_by=order, limit=1000, with_payload=False)
    values = [record.order_value for record in records]
    if values != sorted(values, reverse=order.direction == models.Direction.DESC) or following is not None:
        raise AssertionError(f"not in order: {values}, {following}")
    return sorted(((record.order_value, str(record.id)) for record in records), key=lambda row: (row[0], row[1]))
