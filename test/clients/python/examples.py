"""Queries that are made of examples: for vectors of any kind, each example an id or a vector by chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from qdrant_client import models


def example_queries(rng: random.Random, ids: list[Any], new_vector: Callable[[], Any]) -> dict[str, Any]:
    """A query of each kind that has examples; no two examples are the same, or everything would score the same."""
    fresh = iter(rng.sample(ids, k=len(ids)))

    def example() -> Any:
        return rng.choice([next(fresh), new_vector()])

    def examples(least: int) -> list[Any]:
        return [example() for _ in range(rng.randint(least, 3))]

    pairs = [models.ContextPair(positive=example(), negative=example()) for _ in range(rng.randint(1, 3))]
    queries: dict[str, Any] = {
        strategy.value: models.RecommendQuery(
            recommend=models.RecommendInput(positive=examples(1), negative=examples(0), strategy=strategy)
        )
        for strategy in models.RecommendStrategy
    }
    queries["discover"] = models.DiscoverQuery(discover=models.DiscoverInput(target=example(), context=pairs))
    queries["context"] = models.ContextQuery(context=pairs)
    return queries


def feedback_query(rng: random.Random, ids: list[Any], new_vector: Callable[[], Any]) -> Any:
    """Relevance feedback on one to three examples."""
    fresh = iter(rng.sample(ids, k=len(ids)))

    def example() -> Any:
        return rng.choice([next(fresh), new_vector()])

    return models.RelevanceFeedbackQuery(
        relevance_feedback=models.RelevanceFeedbackInput(
            target=example(),
            feedback=[models.FeedbackItem(example=example(), score=rng.uniform(0, 1)) for _ in range(rng.randint(1, 3))],
            strategy=models.NaiveFeedbackStrategy(
                naive=models.NaiveFeedbackStrategyParams(a=rng.uniform(0.5, 1), b=rng.uniform(0, 2), c=rng.uniform(0.1, 1))
            ),
        )
    )


def negatives_only(rng: random.Random, ids: list[Any], new_vector: Callable[[], Any]) -> dict[str, Any]:
    """The two strategies that do without positive examples."""
    return {
        f"{strategy.value} of negatives": models.RecommendQuery(
            recommend=models.RecommendInput(negative=[rng.choice(ids), new_vector()], strategy=strategy)
        )
        for strategy in (models.RecommendStrategy.BEST_SCORE, models.RecommendStrategy.SUM_SCORES)
    }
