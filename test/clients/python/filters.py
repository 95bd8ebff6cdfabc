"""Filters: the same points are found on both sides, without and with payload indexes (C7)."""

from __future__ import annotations

import random

from comparison import Comparison
from conditions import KINDS, combined
from documents import rounds
from qdrant_client import QdrantClient, models
from qdrant_client.models import Filter

ALONE_PER_KIND = 12
COMBINED = 80

INDEXES = {
    "city": models.PayloadSchemaType.KEYWORD,
    "tags": models.PayloadSchemaType.KEYWORD,
    "mixed": models.PayloadSchemaType.KEYWORD,
    "n": models.PayloadSchemaType.INTEGER,
    "items[].qty": models.PayloadSchemaType.INTEGER,
    "price": models.PayloadSchemaType.FLOAT,
    "deep.a.b": models.PayloadSchemaType.FLOAT,
    "open": models.PayloadSchemaType.BOOL,
    "when": models.PayloadSchemaType.DATETIME,
    "uid": models.PayloadSchemaType.UUID,
    "place": models.PayloadSchemaType.GEO,
    "text": models.PayloadSchemaType.TEXT,
}


def compare_filters(comparison: Comparison, collection: str, seed: int) -> None:
    find_by_each(comparison, collection, seed, "filter without index")
    for field, schema in INDEXES.items():
        # The reference has no indexes, and warns of that.
        comparison.ours.create_payload_index(collection, field, schema, wait=True)
    find_by_each(comparison, collection, seed, "filter with index")
    described = comparison.ours.get_collection(collection).payload_schema
    if {field: info.data_type for field, info in described.items()} != INDEXES:
        comparison.differences.append(f"payload indexes: {described}")
    comparison.ours.delete_payload_index(collection, "city")
    comparison.differs_on_purpose(
        "uuid match in another spelling", "UUIDs compare as UUIDs, indexed or not; the reference compares text"
    )


def find_by_each(comparison: Comparison, collection: str, seed: int, group: str) -> None:
    rng = random.Random(seed)
    filters = [
        (f"{kind} {n}", Filter(must=[make(rng)]) if n % 2 else Filter(must_not=[make(rng)]))
        for kind, make in KINDS.items()
        for n in rounds(ALONE_PER_KIND)
    ]
    filters += [(f"combined {n}", combined(rng)) for n in rounds(COMBINED)]
    for name, chosen in filters:
        shown = f"{name} {chosen.model_dump_json(exclude_none=True)}"

        def ids(client: QdrantClient, chosen: Filter = chosen) -> list[models.ExtendedPointId]:
            records, _ = client.scroll(collection, scroll_filter=chosen, limit=1000, with_payload=False)
            return [record.id for record in records]

        found = comparison.same(group, shown, ids)
        if found is None:
            continue
        count = comparison.ours.count(collection, count_filter=chosen).count
        if count != len(found):
            comparison.differences.append(f"count and scroll disagree: {count}, {len(found)}: {shown}")
