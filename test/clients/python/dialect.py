"""
Compares what only the dialect `qdrant` has, grouped queries and aliases, with the in-memory mode of qdrant-client.

    python dialect.py URL TOKEN [SEED]

The server has the dialect `qdrant`. Prints what compare.py prints. Exit code 1 if anything differs.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from typing import Any

from comparison import Comparison
from conditions import combined
from documents import UUIDS, points, vector
from qdrant_client import QdrantClient, models
from qdrant_client.models import (
    CreateAlias,
    CreateAliasOperation,
    DeleteAlias,
    DeleteAliasOperation,
    PointStruct,
    RenameAlias,
    RenameAliasOperation,
)

POINTS = 200
SIZES = {"image": 8, "text": 6}
EXACT = models.SearchParams(exact=True)
REQUEST_TIMEOUT = 60

# Fields to group by, and the index that is declared later.
FIELDS: dict[str, models.PayloadSchemaType] = {
    "city": models.PayloadSchemaType.KEYWORD,
    "n": models.PayloadSchemaType.INTEGER,
    "mixed": models.PayloadSchemaType.KEYWORD,
    "uid": models.PayloadSchemaType.UUID,
    "tags": models.PayloadSchemaType.KEYWORD,
    "tags[]": models.PayloadSchemaType.KEYWORD,
    "deep.a.b": models.PayloadSchemaType.INTEGER,
    "items[].name": models.PayloadSchemaType.KEYWORD,
    "index": models.PayloadSchemaType.INTEGER,
    "price": models.PayloadSchemaType.FLOAT,
    "absent": models.PayloadSchemaType.KEYWORD,
}


def compare_groups(comparison: Comparison, collection: str, seed: int) -> None:
    """Queries of every kind that scores, over each field, filtered and with look-ups, first without indexes."""
    rng = random.Random(seed)
    lookups: list[Any] = [
        None,
        "groups",
        models.WithLookup(collection="groups", with_payload=["title"], with_vectors=True),
        models.WithLookup(collection="groups", with_payload=False),
    ]
    for round_name in ("without indexes", "with indexes"):
        if round_name == "with indexes":
            for field, schema in FIELDS.items():
                comparison.ours.create_payload_index(collection, field, schema)
        for field in FIELDS:
            for n in range(6):
                arguments = {
                    "group_by": field,
                    "query": query(rng),
                    "using": "image",
                    "query_filter": combined(rng) if n % 3 == 0 else None,
                    "limit": rng.choice([1, 2, 5, 10, 100]),
                    "group_size": rng.choice([1, 2, 3, 10]),
                    "with_payload": rng.choice([True, False, ["city", "n"]]),
                    "with_vectors": rng.choice([False, ["text"]]),
                    "score_threshold": 0.2 if n == 5 else None,
                    "with_lookup": rng.choice(lookups),
                }
                comparison.same(
                    f"groups {round_name}",
                    f"{field} {n} {arguments}",
                    lambda client: client.query_points_groups(collection, search_params=EXACT, **arguments),
                )
    prefetch = [models.Prefetch(query=vector(rng, size), using=name, limit=POINTS) for name, size in SIZES.items()]
    for field in FIELDS:
        comparison.same(
            "groups of prefetches",
            field,
            lambda client: client.query_points_groups(
                collection,
                group_by=field,
                prefetch=prefetch,
                query=vector(random.Random(seed), SIZES["image"]),
                using="image",
                search_params=EXACT,
            ),
        )
    comparison.differs_on_purpose("groups: prefetches", "limit times group_size here, without limit in the reference")
    comparison.both_refuse(
        "groups", "an absent collection", lambda client: client.query_points_groups("absent", group_by="n")
    )


def query(rng: random.Random) -> Any:
    """A query whose scores are all different."""
    vectors = [vector(rng, SIZES["image"]) for _ in range(3)]
    best = models.RecommendStrategy.BEST_SCORE
    return rng.choice(
        [
            vectors[0],
            models.RecommendQuery(recommend=models.RecommendInput(positive=vectors[:2], negative=vectors[2:])),
            models.RecommendQuery(recommend=models.RecommendInput(positive=vectors[:2], strategy=best)),
        ]
    )


def compare_aliases(comparison: Comparison) -> None:
    """Every action, alone and in batches that are refused as a whole."""

    def create(alias: str, collection: str) -> CreateAliasOperation:
        return CreateAliasOperation(create_alias=CreateAlias(alias_name=alias, collection_name=collection))

    def delete(alias: str) -> DeleteAliasOperation:
        return DeleteAliasOperation(delete_alias=DeleteAlias(alias_name=alias))

    def rename(old: str, new: str) -> RenameAliasOperation:
        return RenameAliasOperation(rename_alias=RenameAlias(old_alias_name=old, new_alias_name=new))

    config = models.VectorParams(size=2, distance=models.Distance.DOT)
    for name in ("first", "second"):
        comparison.both(lambda client: client.create_collection(name, config))
        rows = [PointStruct(id=n, vector=[n, 1], payload={"of": name}) for n in range(len(name))]
        comparison.both(lambda client: client.upsert(name, rows, wait=True))
    steps: list[tuple[bool, list[Any]]] = [
        (True, [create("a", "first"), create("b", "first")]),
        (True, [create("a", "second"), rename("b", "c")]),
        (True, [delete("absent"), delete("a"), create("a", "first"), rename("a", "c")]),
        (False, [delete("c"), create("x", "absent")]),
        (False, [delete("c"), create("first", "second")]),
        (False, [create("x", "first"), rename("c", "second")]),
        (False, [create("x", "c")]),
        (False, [rename("absent", "x")]),
        (True, []),
        (True, [create("c", "second"), create("d", "first"), create("e", "second")]),
    ]
    for at, (succeeds, actions) in enumerate(steps):
        compare = comparison.same if succeeds else comparison.both_refuse
        compare("aliases", f"step {at}", lambda client: client.update_collection_aliases(actions))
        comparison.same("aliases", f"state {at}", aliases)
    for name in ("c", "d", "second"):
        comparison.same("aliases", f"count of {name}", lambda client: client.count(name))
        comparison.same("aliases", f"points of {name}", lambda client: client.scroll(name)[0])
    rows = [PointStruct(id=99, vector=[1, 1])]
    comparison.same("aliases", "upsert", lambda client: client.upsert("d", rows, wait=True).status)
    comparison.same("aliases", "read", lambda client: client.retrieve("first", [99], with_vectors=True))
    comparison.both_refuse("aliases", "a collection of that name", lambda client: client.create_collection("d", config))
    comparison.same("aliases", "deletion by an alias", lambda client: client.delete_collection("d"))
    comparison.same("aliases", "deletion", lambda client: client.delete_collection("second"))
    comparison.same("aliases", "what is left", aliases)
    comparison.both_refuse("aliases", "an alias of what is deleted", lambda client: client.count("c"))


def aliases(client: QdrantClient) -> Any:
    """All aliases, and those of each collection, in an order that both sides have."""

    def sort(found: models.CollectionsAliasesResponse) -> list[tuple[str, str]]:
        return sorted((one.alias_name, one.collection_name) for one in found.aliases)

    names = [name for name in ("first", "second") if client.collection_exists(name)]
    return [sort(client.get_aliases()), [sort(client.get_collection_aliases(name)) for name in names]]


def main(url: str, token: str, seed: int) -> int:
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
    warnings.filterwarnings("ignore", message="Local mode performs exact")
    comparison = Comparison(
        QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT), QdrantClient(":memory:")
    )
    distances = zip(SIZES.items(), (models.Distance.COSINE, models.Distance.EUCLID))
    config = {name: models.VectorParams(size=size, distance=distance) for (name, size), distance in distances}
    rows = points(random.Random(seed), POINTS, SIZES)
    comparison.both(lambda client: client.create_collection("documents", config))
    comparison.both(lambda client: client.upsert("documents", rows, wait=True))
    single = models.VectorParams(size=1, distance=models.Distance.DOT)
    shown = [PointStruct(id=id, vector=[1.0], payload={"title": f"{id}", "n": 1}) for id in [*UUIDS, *range(6)]]
    comparison.both(lambda client: client.create_collection("groups", single))
    comparison.both(lambda client: client.upsert("groups", shown, wait=True))
    compare_groups(comparison, "documents", seed)
    compare_aliases(comparison)
    report = {
        "seed": seed,
        "compared": comparison.compared,
        "differences": comparison.differences,
        "skipped": comparison.skipped,
    }
    print(json.dumps(report, indent=2, ensure_ascii=False))
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1))
