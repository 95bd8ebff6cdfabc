"""Facets and distance matrices: the same values, counts, pairs and scores on both sides (C6.8, C6.9)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from conditions import combined
from documents import points, rounds
from filters import INDEXES
from qdrant_client import QdrantClient, models

POINTS = 200
SIZES = {"image": 8, "text": 5}

# Strings, integers, booleans, floats, arrays, values of several kinds, values in arrays of objects, and none.
FIELDS = [
    "city",
    "n",
    "open",
    "uid",
    "tags",
    "tags[]",
    "mixed",
    "index",
    "when",
    "text",
    "price",
    "place",
    "items[].name",
    "items[].qty",
    "items[0].name",
    "deep.a.b",
    "deep.a.c",
    "deep.a.c[]",
    'deep."x.y"',
    "no.such",
]


def compare_facets(comparison: Comparison, seed: int) -> None:
    """Every kind of field, of all points and of those that a filter finds, exactly and not, first without indexes."""
    collection = "facets"
    config = {name: models.VectorParams(size=size, distance=models.Distance.DOT) for name, size in SIZES.items()}
    rows = points(random.Random(f"{seed} facets"), POINTS, SIZES)
    comparison.both(lambda client: client.create_collection(collection, config))
    comparison.both(lambda client: client.upsert(collection, rows, wait=True))
    for group in ("facets without index", "facets with index"):
        rng = random.Random(f"{seed} {group}")
        if group == "facets with index":
            for field, schema in INDEXES.items():
                # The reference has no indexes, and warns of that.
                comparison.ours.create_payload_index(collection, field, schema, wait=True)
        for field in FIELDS:
            for n in rounds(9):
                arguments: dict[str, Any] = {
                    "key": field,
                    "facet_filter": combined(rng) if n % 3 else None,
                    "limit": rng.choice([1, 3, 10, 1000]),
                    "exact": rng.random() < 0.5,
                }
                comparison.same(group, f"{n} {arguments}", lambda client: client.facet(collection, **arguments))
    comparison.both_refuse("facets with index", "limit 0", lambda client: client.facet(collection, "n", limit=0))
    comparison.both_refuse("facets with index", "absent", lambda client: client.facet("absent", "n"))
    comparison.both(lambda client: client.delete_collection(collection))


def compare_matrices(comparison: Comparison, seed: int) -> None:
    """Each distance, with samples of all points that match, which both sides draw alike, and of some of them."""
    for distance in models.Distance:
        rng = random.Random(f"{seed} matrix {distance}")
        collection = f"matrix-{distance.value}"
        config = {name: models.VectorParams(size=size, distance=distance) for name, size in SIZES.items()}
        rows = points(rng, 60, SIZES)
        comparison.both(lambda client: client.create_collection(collection, config))
        comparison.both(lambda client: client.upsert(collection, rows, wait=True))
        for n in rounds(12):
            arguments: dict[str, Any] = {
                "using": rng.choice(list(SIZES)),
                "query_filter": combined(rng) if n % 3 else None,
                "limit": rng.choice([1, 3, 7, 100]),
            }
            for sample in (100, 6, 2):
                compare = whole if sample == 100 else drawn
                comparison.same(
                    f"matrix by {distance.value}",
                    f"{n} {sample} {arguments}",
                    lambda client: compare(client, collection, sample, arguments),
                )
        comparison.both(lambda client: client.delete_collection(collection))


def rows_of(client: QdrantClient, collection: str, sample: int, arguments: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Pairs, and the same of the offsets, each by its rows."""
    pairs = client.search_matrix_pairs(collection, sample=sample, **arguments).pairs
    offsets = client.search_matrix_offsets(collection, sample=sample, **arguments)
    by_offsets = [
        models.SearchMatrixPair(a=offsets.ids[row], b=offsets.ids[column], score=score)
        for row, column, score in zip(offsets.offsets_row, offsets.offsets_col, offsets.scores, strict=True)
    ]
    return offsets.ids, [pairs, by_offsets]


def whole(client: QdrantClient, collection: str, sample: int, arguments: dict[str, Any]) -> Any:
    """The ids in their order, the pairs of each row best first, and whether both forms say the same."""
    ids, forms = rows_of(client, collection, sample, arguments)
    # Scores as near as f32 arithmetic is exact have no order.
    pairs, by_offsets = (sorted(form, key=lambda pair: (str(pair.a), str(pair.b))) for form in forms)
    return ids, pairs, by_offsets, [pair.a for pair in forms[0]], is_best_first(forms[0], collection)


def drawn(client: QdrantClient, collection: str, sample: int, arguments: dict[str, Any]) -> Any:
    """What does not depend on which points were drawn."""
    using, chosen = arguments["using"], arguments["query_filter"]
    with_vector = models.Filter(must=[models.HasVectorCondition(has_vector=using)])
    both = models.Filter(must=[with_vector, *([] if chosen is None else [chosen])])
    records, _ = client.scroll(collection, scroll_filter=both, limit=100, with_payload=False)
    among = {record.id for record in records}
    ids, forms = rows_of(client, collection, sample, arguments)
    known = all({pair.a, pair.b} <= among and pair.a != pair.b for form in forms for pair in form)
    return len(ids), len(set(ids)), [len(form) for form in forms], known, is_best_first(forms[0], collection)


def is_best_first(pairs: list[models.SearchMatrixPair], collection: str) -> bool:
    sign = -1 if collection.endswith(("Euclid", "Manhattan")) else 1
    following = zip(pairs, pairs[1:])
    return all(one.a != next_.a or sign * (one.score - next_.score) > -1e-4 for one, next_ in following)
