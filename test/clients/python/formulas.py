"""Formulas: every expression alone, and random trees of them over several prefetches (docs/formula.md)."""

from __future__ import annotations

import random
from typing import Any

from comparison import Comparison, settled
from documents import place, rounds, vector
from qdrant_client import models
from qdrant_client.models import DecayParamsExpression, FieldCondition, PointStruct

COUNT = 70
SIZE = 4
ORIGIN = models.GeoPoint(lat=52.52, lon=13.405)
DATES = ["2024-02-29T12:00:00Z", "2024-03-01", "2023-12-31T23:59:59.25+02:00", "2025-06-01 08:30:00"]
DEFAULTS: dict[str, Any] = {
    "n": 2.5,
    "deep.a": -1,
    "$score": 0.25,
    "$score[1]": 0.5,
    "place": {"lat": 10.0, "lon": 20.0},
    "when": "2024-01-01T00:00:00Z",
}


def payload(rng: random.Random, index: int) -> dict[str, Any]:
    """What formulas read: a quarter of the values is missing or an empty array, some are arrays of one."""
    result: dict[str, Any] = {"index": index, "price": round(rng.uniform(0, 100), 2), "tag": rng.choice("abc")}
    values = {
        "n": rng.randint(-5, 5),
        "deep": {"a": rng.uniform(-3, 3)},
        "place": place(rng),
        "when": rng.choice(DATES),
    }
    for name, value in values.items():
        chance = rng.random()
        if chance < 0.6:
            result[name] = value
        elif chance < 0.75:
            result[name] = [value] if name != "deep" else {"a": [value["a"]]}
        elif chance < 0.85:
            result[name] = []
    return result


def condition(rng: random.Random) -> Any:
    tag = FieldCondition(key="tag", match=models.MatchAny(any=rng.sample("abcd", k=2)))
    cheap = FieldCondition(key="price", range=models.Range(lt=rng.uniform(20, 80)))
    return rng.choice(
        [
            tag,
            cheap,
            models.Filter(must=[tag], must_not=[cheap]),
            models.Filter(should=[tag, cheap]),
            models.HasIdCondition(has_id=rng.sample(range(COUNT), k=20)),
            models.IsEmptyCondition(is_empty=models.PayloadField(key="n")),
            models.IsEmptyCondition(is_empty=models.PayloadField(key="place")),
            models.HasVectorCondition(has_vector="b"),
        ]
    )


def leaves(rng: random.Random) -> dict[str, Any]:
    """Every expression without an operand."""
    return {
        "a number": rng.choice([0, 1, -2, 0.75]),
        "$score": "$score",
        "$score[1]": "$score[1]",
        "a score of no prefetch": "$score[7]",
        "a path": rng.choice(["n", "deep.a", "price"]),
        "a condition": condition(rng),
        "a distance": models.MultExpression(
            mult=[1e-4, models.GeoDistance(geo_distance=models.GeoDistanceParams(origin=ORIGIN, to="place"))]
        ),
        "dates": models.DivExpression(
            div=models.DivParams(
                left=models.SumExpression(
                    sum=[
                        models.DatetimeKeyExpression(datetime_key="when"),
                        models.NegExpression(neg=models.DatetimeExpression(datetime="2024-02-01T00:00:00Z")),
                    ]
                ),
                right=1e6,
            )
        ),
    }


def decays(rng: random.Random, x: Any) -> dict[str, Any]:
    params = DecayParamsExpression(
        x=x,
        target=rng.choice([None, 0.5, "deep.a"]),
        scale=rng.choice([None, 0.8, 3.0]),
        midpoint=rng.choice([None, 0.2, 0.9]),
    )
    return {
        "lin_decay": models.LinDecayExpression(lin_decay=params),
        "exp_decay": models.ExpDecayExpression(exp_decay=params),
        "gauss_decay": models.GaussDecayExpression(gauss_decay=params),
    }


def operations(rng: random.Random, operand: Any, others: list[Any]) -> dict[str, Any]:
    """Every expression over operands, guarded so that the values stay where they are defined."""
    size = models.AbsExpression(abs=operand)
    above_one = models.SumExpression(sum=[1.0, size])
    small = models.LinDecayExpression(lin_decay=DecayParamsExpression(x=operand, scale=10.0))
    return {
        "sum": models.SumExpression(sum=[operand, *others]),
        "mult": models.MultExpression(mult=[operand, *others]),
        "sum of none": models.SumExpression(sum=[]),
        "mult of none": models.MultExpression(mult=[]),
        "neg": models.NegExpression(neg=operand),
        "abs": size,
        "sqrt": models.SqrtExpression(sqrt=size),
        "exp": models.ExpExpression(exp=small),
        "ln": models.LnExpression(ln=above_one),
        "log10": models.Log10Expression(log10=above_one),
        "pow": models.PowExpression(pow=models.PowParams(base=above_one, exponent=rng.choice([-1.5, 0.5, 2]))),
        "div": models.DivExpression(div=models.DivParams(left=operand, right=above_one)),
        "div by zero": models.DivExpression(
            div=models.DivParams(left=operand, right=condition(rng), by_zero_default=rng.choice([0.0, 3.5]))
        ),
        **decays(rng, operand),
    }


def tree(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(list(leaves(rng).values()))
    others = [tree(rng, depth - 1) for _ in range(rng.randint(1, 2))]
    return rng.choice(list(operations(rng, tree(rng, depth - 1), others).values()))


def compare_formulas(comparison: Comparison, seed: int) -> None:
    for distance in models.Distance:
        rng = random.Random(f"{seed} formulas {distance}")
        collection = f"formulas-{distance.value}"
        config = {name: models.VectorParams(size=SIZE, distance=distance) for name in ("a", "b")}
        comparison.both(lambda client: client.create_collection(collection, vectors_config=config))
        points = [
            PointStruct(
                id=id,
                vector={"a": vector(rng, SIZE), **({"b": vector(rng, SIZE)} if id % 4 else {})},
                payload=payload(rng, id),
            )
            for id in range(COUNT)
        ]
        comparison.both(lambda client: client.upsert(collection, points, wait=True))
        sources = [
            models.Prefetch(query=vector(rng, SIZE), using="a", limit=30),
            models.Prefetch(query=vector(rng, SIZE), using="b", limit=20),
        ]

        def same(group: str, formula: Any, **arguments: Any) -> None:
            comparison.same(
                group,
                f"{collection} {formula!r} {arguments}",
                lambda client: settled(
                    client.query_points(
                        collection,
                        prefetch=sources,
                        query=models.FormulaQuery(formula=formula, defaults=DEFAULTS),
                        **{"limit": 100, **arguments},
                    ).points,
                    scored=True,
                ),
            )

        if distance == models.Distance.COSINE:
            for name, formula in leaves(rng).items():
                same(f"formula of {name}", formula)
            for name, formula in operations(rng, "$score", ["n", "deep.a"]).items():
                same(f"formula with {name}", formula)
            compare_refusals(comparison, collection, sources)
        for _ in rounds(20):
            same("formula of several", tree(rng, 3))
        # All prices differ, so the cut is the same on both sides.
        unequal = models.SumExpression(sum=["$score", models.MultExpression(mult=[0.01, "price"])])
        same("formula with limits", unequal, limit=5)
        same("formula with limits", unequal, limit=5, offset=3, with_payload=False)
        same("formula with limits", unequal, score_threshold=0.9)
        same("formula with limits", unequal, query_filter=models.Filter(must=[condition(rng)]))
        nested = models.Prefetch(
            prefetch=sources, query=models.FormulaQuery(formula=unequal, defaults=DEFAULTS), limit=12
        )
        query = vector(rng, SIZE)
        comparison.same(
            "formula with limits",
            f"{collection} as a prefetch",
            lambda client: client.query_points(collection, prefetch=nested, query=query, using="a", limit=20),
        )


    comparison.differs_on_purpose("`null` in a formula", "no value, like a missing one; the reference refuses it")


def compare_refusals(comparison: Comparison, collection: str, sources: list[models.Prefetch]) -> None:
    """Formulas that have no answer for some point, and such as are none."""
    refused: dict[str, Any] = {
        "a path without value or default": "no.such",
        "a text where a number belongs": "tag",
        "the root of less than zero": models.SqrtExpression(sqrt=-1.0),
        "the logarithm of zero": models.LnExpression(ln=0.0),
        "a division by zero": models.DivExpression(div=models.DivParams(left=1.0, right=0.0)),
        "a power beyond all numbers": models.PowExpression(pow=models.PowParams(base=1e300, exponent=3.0)),
        "e to a large power": models.ExpExpression(exp=1e6),
        "a number beyond 32 bits": 1e300,
        "a distance to a number": models.GeoDistance(
            geo_distance=models.GeoDistanceParams(origin=ORIGIN, to="price")
        ),
        "a date that is none": models.DatetimeExpression(datetime="soon"),
        "a variable that is none": "$score[x]",
        "a scale of zero": models.ExpDecayExpression(exp_decay=DecayParamsExpression(x=1.0, scale=0.0)),
        "a midpoint of one": models.GaussDecayExpression(gauss_decay=DecayParamsExpression(x=1.0, midpoint=1.0)),
    }
    for name, formula in refused.items():
        comparison.both_refuse(
            "formulas refused",
            name,
            lambda client: client.query_points(
                collection, prefetch=sources, query=models.FormulaQuery(formula=formula), limit=100
            ),
        )
