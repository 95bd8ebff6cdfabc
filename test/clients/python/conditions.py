"""Random filters over the payloads of documents.py: every condition of the grammar, alone and combined."""

from __future__ import annotations

import random
from collections.abc import Callable

from documents import CITIES, TAGS, UUIDS, WORDS, place
from qdrant_client import models
from qdrant_client.models import FieldCondition, Filter

Condition = models.Condition
PATHS = ["city", "n", "price", "open", "when", "uid", "text", "place", "tags", "mixed", "items", "deep"]
INNER_PATHS = ["items[].qty", "items[0].name", "items[].parts[].k", "deep.a.b", "deep.a.c", 'deep."x.y"', "no.such"]


def match(key: str, value: models.Match) -> FieldCondition:
    return FieldCondition(key=key, match=value)


def value(rng: random.Random) -> Condition:
    key, found = rng.choice(
        [
            ("city", rng.choice(CITIES)),
            ("tags", rng.choice(TAGS)),
            ("n", rng.randint(-5, 5)),
            ("open", rng.random() < 0.5),
            ("uid", rng.choice(UUIDS)),
            ("mixed", rng.choice([1, True, "1", "true"])),
            ("items[].qty", rng.randint(0, 5)),
            ("items[0].name", rng.choice(CITIES)),
            ("deep.a.c", rng.choice(TAGS)),
            ("deep.a.c[1]", rng.choice(TAGS)),
            ('deep."x.y"', rng.randint(0, 3)),
        ]
    )
    return match(key, models.MatchValue(value=found))


def listed(rng: random.Random) -> Condition:
    key, values = rng.choice(
        [
            ("city", rng.sample(CITIES, k=rng.randint(0, 3))),
            ("tags", rng.sample(TAGS, k=2)),
            ("n", rng.sample(range(-5, 6), k=rng.randint(1, 4))),
            ("mixed", rng.choice([[1, 2], ["1", "x"]])),
            ("items[].qty", [1, 2]),
        ]
    )
    if rng.random() < 0.5:
        return match(key, models.MatchAny(any=values))
    return match(key, models.MatchExcept(**{"except": values}))


def text(rng: random.Random) -> Condition:
    words = " ".join(rng.choices(WORDS, k=rng.randint(1, 2)))
    spelled = rng.choice([words, words.upper(), f"  {words}! "])
    return rng.choice(
        [
            match("text", models.MatchText(text=spelled)),
            match("text", models.MatchTextAny(text_any=spelled)),
            match("text", models.MatchPhrase(phrase=spelled)),
            match("city", models.MatchText(text="paulo")),
            match("city", models.MatchPrefix(prefix=rng.choice(["B", "Ber", "be", "", "S"]))),
            match("tags", models.MatchPrefix(prefix="red")),
            match("city", models.MatchSubstring(substring=rng.choice(["er", "o P", "ER", "", "ão"]))),
            match(rng.choice(["tags", "uid", "n"]), models.MatchSubstring(substring=rng.choice(["e", "-4", "1"]))),
        ]
    )


def number_range(rng: random.Random) -> Condition:
    key = rng.choice(["n", "price", "items[].qty", "deep.a.b", "mixed", "city", "index"])
    low, high = sorted([rng.uniform(-6, 60), float(rng.randint(-6, 60))])
    bounds = rng.choice([{"gt": low}, {"gte": high}, {"lt": high}, {"lte": low}, {"gte": low, "lt": high}, {}])
    return FieldCondition(key=key, range=models.Range(**bounds))


def date_range(rng: random.Random) -> Condition:
    low, high = sorted(rng.sample(["2024-02-29T12:00:00Z", "2024-01-01T00:00:00Z", "2024-03-01T00:00:00Z"], k=2))
    bounds = rng.choice([{"gt": low}, {"gte": low}, {"lt": high}, {"lte": high}, {"gte": low, "lte": high}])
    return FieldCondition(key=rng.choice(["when", "when", "city"]), range=models.DatetimeRange(**bounds))


def geo(rng: random.Random) -> Condition:
    centre = models.GeoPoint(**place(rng))
    north, south = sorted([rng.uniform(-90, 90), rng.uniform(-90, 90)], reverse=True)
    box = models.GeoBoundingBox(
        top_left=models.GeoPoint(lat=north, lon=rng.uniform(-180, 180)),
        bottom_right=models.GeoPoint(lat=south, lon=rng.uniform(-180, 180)),
    )
    ring = [(-120.3, -60.1), (110.7, -70.2), (150.9, 50.3), (-20.4, 80.5), (-120.3, -60.1)]
    hole = [(-10.1, -20.2), (40.3, -20.2), (40.3, 30.4), (-10.1, -20.2)]
    lines = [models.GeoLineString(points=[models.GeoPoint(lon=x, lat=y) for x, y in line]) for line in (ring, hole)]
    holes = rng.choice([None, [lines[1]]])
    return FieldCondition(
        key="place",
        **rng.choice(
            [
                {"geo_radius": models.GeoRadius(center=centre, radius=rng.uniform(1e5, 1e7))},
                {"geo_bounding_box": box},
                {"geo_polygon": models.GeoPolygon(exterior=lines[0], interiors=holes)},
            ]
        ),
    )


def values_count(rng: random.Random) -> Condition:
    bounds = rng.choice([{"gt": 1}, {"gte": 1}, {"lt": 2}, {"lte": 0}, {"gte": 1, "lt": 3}])
    return FieldCondition(key=rng.choice(["tags", "items", "city", "mixed"]), values_count=models.ValuesCount(**bounds))


def presence(rng: random.Random) -> Condition:
    key = rng.choice(PATHS + INNER_PATHS)
    return rng.choice(
        [
            models.IsEmptyCondition(is_empty=models.PayloadField(key=key)),
            models.IsNullCondition(is_null=models.PayloadField(key=key)),
            FieldCondition(key=key, is_empty=rng.random() < 0.5),
            FieldCondition(key=key, is_null=rng.random() < 0.5),
        ]
    )


def identity(rng: random.Random) -> Condition:
    ids = [*rng.sample(range(100), k=20), 2**64 - 1, UUIDS[0]]
    return rng.choice(
        [
            models.HasIdCondition(has_id=ids),
            models.HasVectorCondition(has_vector=rng.choice(["image", "text", "none"])),
        ]
    )


def slices(rng: random.Random) -> Condition:
    total = rng.choice([1, 2, 7, 2**32 - 1])
    return models.SliceCondition(slice=models.Slice(total=total, index=rng.randrange(min(total, 8))))


def nested(rng: random.Random) -> Condition:
    quantity = FieldCondition(key="qty", range=models.Range(gte=rng.randint(0, 5)))
    name = match("name", models.MatchValue(value=rng.choice(CITIES)))
    part = models.NestedCondition(
        nested=models.Nested(key="parts", filter=Filter(must=[match("k", models.MatchAny(any=[1, 2]))]))
    )
    inner = rng.choice(
        [
            Filter(must=[quantity, name]),
            Filter(must=[quantity], must_not=[name]),
            Filter(should=[name, part]),
            Filter(must=[part]),
            Filter(must=[models.IsNullCondition(is_null=models.PayloadField(key="name"))]),
        ]
    )
    return models.NestedCondition(nested=models.Nested(key=rng.choice(["items", "items[]"]), filter=inner))


# What C7 lists, by the name under which a difference is reported.
KINDS: dict[str, Callable[[random.Random], Condition]] = {
    "match value": value,
    "match any, except": listed,
    "match text, text_any, phrase, prefix, substring": text,
    "range": number_range,
    "datetime range": date_range,
    "geo": geo,
    "values_count": values_count,
    "is_empty, is_null": presence,
    "has_id, has_vector": identity,
    "slice": slices,
    "nested": nested,
}


def combined(rng: random.Random, depth: int = 2) -> Filter:
    """A filter of up to four groups, with filters among its conditions."""

    def condition() -> Condition:
        if depth > 0 and rng.random() < 0.25:
            return combined(rng, depth - 1)
        return rng.choice(list(KINDS.values()))(rng)

    def conditions() -> list[Condition]:
        return [condition() for _ in range(rng.randint(1, 3))]

    groups = {}
    if rng.random() < 0.4:
        groups["must"] = rng.choice([conditions(), condition(), []])
    if rng.random() < 0.5:
        groups["should"] = rng.choice([conditions(), []])
    if rng.random() < 0.4:
        groups["must_not"] = conditions()
    if rng.random() < 0.3:
        groups["min_should"] = models.MinShould(conditions=conditions(), min_count=rng.randint(1, 3))
    return Filter(**groups)
