"""Runs one call on KithDB and on the in-memory reference, and remembers where the answers differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from qdrant_client import QdrantClient, models

# qdrant_client.models has another class of this name.
from qdrant_client.http.models import QueryResponse

Call = Callable[[QdrantClient], Any]

# The reference computes with numpy in f32 and in another order of additions. A score that is a difference is as exact
# as what was subtracted, which is of the order of 1 here.
RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-5

# Fields whose numbers are results of f32 arithmetic; all others must be equal to the last bit and in type.
COMPUTED_FIELDS = frozenset({"score", "vector"})

# The reference keeps no versions of points, numbers operations in its own way, and indexes nothing.
IGNORED_FIELDS = frozenset({"version", "operation_id", "shard_key"})


class Comparison:
    """Two clients, and a tally of what was compared."""

    def __init__(self, ours: QdrantClient, reference: QdrantClient) -> None:
        self.ours = ours
        self.reference = reference
        self.compared: dict[str, int] = {}
        self.differences: list[str] = []
        self.skipped: dict[str, str] = {}

    def same(self, group: str, name: str, call: Call) -> Any:
        """Both sides answer the same. Returns the answer of KithDB."""
        self.compared[group] = self.compared.get(group, 0) + 1
        try:
            answers = (plain(call(self.ours)), plain(call(self.reference)))
        except Exception as error:  # noqa: BLE001 - the report names it, the other comparisons go on
            self.differences.append(f"{group}: {name}: {type(error).__name__}: {error}")
            return None
        place = difference(*answers)
        if place is not None:
            self.differences.append(f"{group}: {name}: {place}")
        return answers[0]

    def both(self, call: Call) -> None:
        """Brings both sides into the same state."""
        call(self.ours)
        call(self.reference)

    def both_refuse(self, group: str, name: str, call: Call) -> None:
        """Both sides raise an error, each its own kind."""
        self.compared[group] = self.compared.get(group, 0) + 1
        for side, client in (("KithDB", self.ours), ("the reference", self.reference)):
            try:
                answer = call(client)
            except Exception:  # noqa: BLE001, S112 - any refusal will do
                continue
            self.differences.append(f"{group}: {name}: {side} answered {plain(answer)!r}")

    def differs_on_purpose(self, name: str, reason: str) -> None:
        """A difference that docs/compatibility.md lists: named here, compared nowhere."""
        self.skipped[name] = reason


def plain(answer: Any) -> Any:
    """An answer as dictionaries, lists and scalars, without the fields that only one side knows."""
    if isinstance(answer, QueryResponse):
        return [plain(point) for point in settled(answer.points)]
    if isinstance(answer, BaseModel):
        fields = {name: getattr(answer, name) for name in type(answer).model_fields}
        return {name: plain(value) for name, value in fields.items() if name not in IGNORED_FIELDS}
    if isinstance(answer, (list, tuple)):
        return [plain(item) for item in answer]
    if isinstance(answer, dict):
        return {name: plain(value) for name, value in answer.items()}
    return answer


def settled(points: list[models.ScoredPoint], scored: bool = False) -> list[models.ScoredPoint]:
    """
    Hits whose scores are nearer to each other than f32 arithmetic is exact, in the order of their ids: which of them
    comes first depends on the order of additions, and so on the processor. Where nothing is scored all have the score
    1, and the order is left as it is, unless they are known to be scored.
    """
    if not scored and all(point.score == 1 for point in points):
        return points
    keys: list[tuple[int, str]] = []
    run = 0
    for before, point in zip([points[0], *points], points):
        run += not math.isclose(before.score, point.score, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
        keys.append((run, str(point.id)))
    return [point for _, point in sorted(zip(keys, points), key=lambda pair: pair[0])]


def difference(ours: Any, reference: Any, path: str = "answer", computed: bool = False) -> str | None:
    """Where two plain answers differ first, or None."""
    if isinstance(ours, dict) and isinstance(reference, dict):
        if ours.keys() != reference.keys():
            return f"{path}: {sorted(ours)} instead of {sorted(reference)}"
        pairs = [(f"{path}.{name}", ours[name], reference[name], name in COMPUTED_FIELDS) for name in ours]
    elif isinstance(ours, list) and isinstance(reference, list):
        if len(ours) != len(reference):
            return f"{path}: {len(ours)} items instead of {len(reference)}: {brief(ours)} / {brief(reference)}"
        pairs = [(f"{path}[{i}]", a, b, False) for i, (a, b) in enumerate(zip(ours, reference))]
    elif computed and is_number(ours) and is_number(reference):
        close = math.isclose(ours, reference, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
        return None if close else f"{path}: {ours!r} instead of {reference!r}"
    else:
        same = type(ours) is type(reference) and ours == reference
        return None if same else f"{path}: {brief(ours)} instead of {brief(reference)}"
    for place, a, b, is_computed in pairs:
        found = difference(a, b, place, computed or is_computed)
        if found is not None:
            return found
    return None


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
