"""Seeded points whose payloads hold every kind of value that a filter can meet, the awkward ones included."""

from __future__ import annotations

import os
import random
import uuid
from typing import Any

from qdrant_client import models

# A normal run takes a sixth of each kind of random case; `npm run test:long -- cases` takes all.
ONE_IN = 1 if "ALL_CASES" in os.environ else 6

CITIES = ["Bern", "Oslo", "Rome", "São Paulo", "Bergamo", ""]
WORDS = ["quick", "brown", "Fox", "jumps", "over", "LAZY", "dog", "near", "river-bank", "café"]
TAGS = ["red", "green", "blue", "redder"]
UUIDS = [str(uuid.UUID(int=(7919 * n) << 64 | n, version=4)) for n in range(1, 6)]

# Formats of section RFC 3339 and the shorter ones that both sides read; the last is no date.
DATES = [
    "2024-02-29T12:00:00Z",
    "2024-02-29T13:00:00+01:00",
    "2024-03-01 00:00:00",
    "2024-03-01",
    "2023-12-31T23:59:59.999999Z",
    "2025-06-01T08:30",
    "soon",
]


def rounds(full: int) -> range:
    """Of so many random cases of a kind those that run."""
    return range(-(-full // ONE_IN))


def point_ids(count: int) -> list[int | str]:
    """Integers and UUIDs by turns, the largest integer that every client keeps exact among them."""
    ids: list[int | str] = [n if n % 3 else str(uuid.UUID(int=n * 104729 << 60)) for n in range(count - 1)]
    return [*ids, 2**64 - 1]


def vector(rng: random.Random, size: int) -> list[float]:
    return [rng.uniform(-1, 1) for _ in range(size)]


def payload(rng: random.Random, index: int) -> dict[str, Any]:
    """A payload in which each field is, by chance, of its usual type, of another, an array, null or missing."""
    fields = {
        "city": lambda: rng.choice(CITIES),
        "n": lambda: rng.choice([rng.randint(-5, 5), float(rng.randint(-5, 5))]),
        "price": lambda: round(rng.uniform(0, 100), 2),
        "open": lambda: rng.random() < 0.5,
        "when": lambda: rng.choice(DATES),
        "uid": lambda: rng.choice(UUIDS),
        "text": lambda: " ".join(rng.choices(WORDS, k=rng.randint(0, 6))),
        "place": lambda: place(rng),
        "tags": lambda: rng.sample(TAGS, k=rng.randint(0, 3)),
        "mixed": lambda: rng.choice([1, 1.0, True, "1", "true", None, [], [None], [None, 1], {}, [[1], 2]]),
        "items": lambda: [item(rng) for _ in range(rng.randint(0, 3))],
        "deep": lambda: {"a": {"b": rng.randint(0, 3), "c": rng.sample(TAGS, k=2)}, "x.y": rng.randint(0, 3)},
    }
    result: dict[str, Any] = {"index": index}
    for name, make in fields.items():
        chance = rng.random()
        if chance < 0.65:
            result[name] = make()
        elif chance < 0.80:
            result[name] = [make() for _ in range(rng.randint(0, 3))]
        elif chance < 0.85:
            result[name] = None
        elif chance < 0.88:
            result[name] = rng.choice([7, "other", False, {"lon": 1}, [None]])
    return result


def place(rng: random.Random) -> dict[str, float]:
    return {"lon": rng.uniform(-180, 180), "lat": rng.uniform(-90, 90)}


def item(rng: random.Random) -> Any:
    return rng.choice(
        [
            {"name": rng.choice(CITIES), "qty": rng.randint(0, 5)},
            {"name": rng.choice(CITIES), "qty": rng.randint(0, 5), "parts": [{"k": rng.randint(0, 3)}]},
            {"qty": [rng.randint(0, 5), rng.randint(0, 5)], "name": None},
            rng.randint(0, 3),
        ]
    )


def points(rng: random.Random, count: int, sizes: dict[str, int]) -> list[models.PointStruct]:
    """Points with the named vectors of `sizes`, each of which a tenth of the points lacks."""
    return [
        models.PointStruct(
            id=id,
            vector={name: vector(rng, size) for name, size in sizes.items() if rng.random() < 0.9},
            payload=payload(rng, index),
        )
        for index, id in enumerate(point_ids(count))
    ]
