"""What else a query may hold: batches, samples, orders, other collections' examples, missing vectors, datatypes."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison
from documents import points, vector
from qdrant_client import QdrantClient, models
from qdrant_client.models import FieldCondition, Filter, OrderBy, PointStruct

SIZES = {"image": 4, "text": 6}
LOW = Filter(must=[FieldCondition(key="index", range=models.Range(lt=40))])


def compare_forms(comparison: Comparison, seed: int) -> None:
    rng = random.Random(f"{seed} forms")
    collection, elsewhere = "forms", "forms-elsewhere"
    config = {name: models.VectorParams(size=size, distance=models.Distance.EUCLID) for name, size in SIZES.items()}
    for name in (collection, elsewhere):
        comparison.both(lambda client: client.create_collection(name, vectors_config=config))
        rows = points(rng, 90, SIZES)
        comparison.both(lambda client: client.upsert(name, rows, wait=True))
    compare_samples(comparison, collection)
    compare_orders(comparison, rng, collection)
    compare_missing(comparison, rng, collection)
    compare_lookups(comparison, rng, collection, elsewhere)
    compare_datatypes(comparison, rng)


def compare_samples(comparison: Comparison, collection: str) -> None:
    """A sample of as many as there are is all of them; a smaller one is some of them, and no point twice."""
    query = models.SampleQuery(sample=models.Sample.RANDOM)

    def ids(client: QdrantClient, **arguments: Any) -> list[str]:
        return sorted(str(point.id) for point in client.query_points(collection, query=query, **arguments).points)

    found = comparison.same("sample", "all", lambda client: ids(client, limit=500))
    comparison.same("sample", "all that match", lambda client: ids(client, limit=500, query_filter=LOW))
    leaf = models.Prefetch(query=[0.1, 0.2, 0.3, 0.4], using="image", limit=15)
    comparison.same("sample", "all that were prefetched", lambda client: ids(client, limit=500, prefetch=leaf))
    some = ids(comparison.ours, limit=20)
    if len(set(some)) != 20 or not set(some) <= set(found or []):
        comparison.differences.append(f"sample: 20 of the points: {some}")


def compare_orders(comparison: Comparison, rng: random.Random, collection: str) -> None:
    """`order_by` in a query, from a value on, over a filter or prefetches; no two points have the same index."""
    leaf = models.Prefetch(query=vector(rng, SIZES["text"]), using="text", limit=30)
    for direction in models.Direction:
        for start in (None, 25, 60.5):
            order = models.OrderByQuery(order_by=OrderBy(key="index", direction=direction, start_from=start))
            for n, source in enumerate([None, leaf]):
                comparison.same(
                    "query by order",
                    f"{direction} from {start}, source {n}",
                    lambda client: client.query_points(
                        collection, query=order, prefetch=source, query_filter=LOW if n else None, limit=11, offset=2 * n
                    ),
                )


def compare_missing(comparison: Comparison, rng: random.Random, collection: str) -> None:
    """Points that lack a vector are not found by it, and are examples of nothing."""
    records, _ = comparison.ours.scroll(collection, limit=500, with_vectors=True)
    lacking = [record.id for record in records if "image" not in (record.vector or {})]
    having = [record.id for record in records if "image" in (record.vector or {})]
    for name in (*SIZES, "none"):
        condition = models.HasVectorCondition(has_vector=name)
        for chosen in (Filter(must=[condition]), Filter(must_not=[condition])):
            comparison.same(
                "has_vector",
                f"{chosen!r}",
                lambda client: client.scroll(collection, scroll_filter=chosen, limit=500, with_vectors=True),
            )
    query = vector(rng, SIZES["image"])
    comparison.same(
        "missing vectors",
        "not found",
        lambda client: client.query_points(collection, query=query, using="image", limit=500, with_vectors=["text"]),
    )
    text = models.Prefetch(query=vector(rng, SIZES["text"]), using="text", limit=500)
    comparison.same(
        "missing vectors",
        "not rescored",
        lambda client: client.query_points(collection, prefetch=text, query=query, using="image", limit=500),
    )
    pair = models.ContextPair(positive=lacking[0], negative=having[0])
    refused: dict[str, Any] = {
        "nearest": lacking[0],
        "discover": models.DiscoverQuery(discover=models.DiscoverInput(target=lacking[0], context=[])),
        "context": models.ContextQuery(context=[pair]),
        "recommend, no example left": models.RecommendQuery(recommend=models.RecommendInput(positive=lacking[:2])),
    }
    for name, example in refused.items():
        comparison.both_refuse(
            "missing vectors",
            name,
            lambda client: client.query_points(collection, query=example, using="image"),
        )
    comparison.differs_on_purpose(
        "recommend by a point without the vector", "left out, as on Qdrant's server; the reference refuses it"
    )


def compare_lookups(comparison: Comparison, rng: random.Random, collection: str, elsewhere: str) -> None:
    """Examples of another collection, of another vector, in a prefetch, and in a batch with everything else."""
    records, _ = comparison.ours.scroll(elsewhere, limit=500, with_vectors=True)
    ids = [record.id for record in records if len(record.vector or {}) == 2]
    there = models.LookupLocation(collection=elsewhere)
    image = models.LookupLocation(collection=elsewhere, vector="image")
    requests: list[models.QueryRequest] = []
    for n in range(6):
        first, second, third = rng.sample(ids, k=3)
        pair = models.ContextPair(positive=first, negative=second)
        queries: dict[str, Any] = {
            "nearest": first,
            "recommend": models.RecommendQuery(
                recommend=models.RecommendInput(
                    positive=[first, second], negative=[third], strategy=rng.choice(list(models.RecommendStrategy))
                )
            ),
            "discover": models.DiscoverQuery(discover=models.DiscoverInput(target=third, context=[pair])),
            "mmr": models.NearestQuery(nearest=second, mmr=models.Mmr(diversity=0.4, candidates_limit=20)),
        }
        for kind, query in queries.items():
            location = rng.choice([there, image])
            comparison.same(
                "lookup_from",
                f"{n} {kind} of {location!r}",
                lambda client: client.query_points(
                    collection, query=query, using="image", lookup_from=location, limit=20, query_filter=LOW
                ),
            )
            requests.append(models.QueryRequest(query=query, using="image", lookup_from=location, limit=n + 1))
        leaf = models.Prefetch(query=first, using="image", lookup_from=there, limit=20)
        again = vector(rng, SIZES["text"])
        comparison.same(
            "lookup_from",
            f"{n} in a prefetch",
            lambda client: client.query_points(collection, prefetch=[leaf], query=again, using="text", limit=20),
        )
    requests += [
        models.QueryRequest(filter=LOW, limit=5, with_payload=["index"]),
        models.QueryRequest(query=models.OrderByQuery(order_by="index"), limit=4, offset=1, with_vector=["text"]),
        models.QueryRequest(
            prefetch=[models.Prefetch(query=vector(rng, 4), using="image", limit=9)],
            query=models.FormulaQuery(formula=models.NegExpression(neg="$score")),
            limit=6,
            with_payload=models.PayloadSelectorExclude(exclude=["text"]),
        ),
        models.QueryRequest(query=vector(rng, 6), using="text", limit=3, score_threshold=1.9, with_payload=True),
    ]
    rng.shuffle(requests)
    for n, batch in enumerate([requests[:7], requests[7:], requests]):
        comparison.same(
            "batches of queries",
            f"{n}",
            lambda client: client.query_batch_points(collection, requests=batch),
        )


def compare_datatypes(comparison: Comparison, rng: random.Random) -> None:
    """Values that the stored type holds exactly: the reference keeps all vectors in 32 bits."""
    made: dict[models.Datatype, Any] = {
        models.Datatype.UINT8: lambda: [float(rng.randint(0, 255)) for _ in range(5)],
        models.Datatype.FLOAT16: lambda: [rng.randint(-256, 256) / 64 for _ in range(5)],
    }
    for datatype, new_vector in made.items():
        for distance in models.Distance:
            if distance == models.Distance.COSINE and datatype == models.Datatype.FLOAT16:
                continue  # Normalised values do not fit in 16 bits.
            collection = f"{datatype.value}-{distance.value}"
            config = models.VectorParams(size=5, distance=distance, datatype=datatype)
            comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
            rows = [PointStruct(id=id, vector=new_vector()) for id in range(40)]
            comparison.both(lambda client: client.upsert(collection, rows, wait=True))
            for n in range(3):
                query = rng.choice([new_vector(), [rng.uniform(0, 90) for _ in range(5)], rng.randrange(40)])
                # Cosine is read back as it was sent from a uint8 collection, and normalised from the reference.
                reads = distance != models.Distance.COSINE
                comparison.same(
                    "datatypes",
                    f"{collection} {n} {query}",
                    lambda client: client.query_points(collection, query=query, limit=40, with_vectors=reads),
                )
            if not reads:
                continue  # The average of vectors that are normalised is another one.
            recommend = models.RecommendQuery(recommend=models.RecommendInput(positive=[1, 2], negative=[3]))
            comparison.same(
                "datatypes",
                f"{collection} recommend",
                lambda client: client.query_points(collection, query=recommend, limit=40),
            )
    comparison.differs_on_purpose("`uint8` under Cosine", "kept and read back as sent; the reference normalises")
