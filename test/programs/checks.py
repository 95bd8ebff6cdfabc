"""What the programs of this folder share: embeddings that need no model, and a record of what was checked."""

from __future__ import annotations

import json
import re
import sys
import types
import zlib
from array import array
from collections.abc import Callable, Iterator

LETTERS = "abcdefghijklmnopqrstuvwxyz"

# Seconds; the client would give up after 5, and this machine may be busy.
REQUEST_TIMEOUT = 60


def letters(text: str) -> list[float]:
    """How often each letter occurs: texts of the same letters are near."""
    return [float(text.lower().count(letter)) for letter in LETTERS]


def words(text: str) -> tuple[list[int], list[float]]:
    """How often each word occurs, as indices and values of a sparse vector: texts with the same words are near."""
    counts: dict[int, float] = {}
    for word in re.findall(r"\w+", text.lower()):
        index = zlib.crc32(word.encode())
        counts[index] = counts.get(index, 0) + 1
    return list(counts), list(counts.values())


class WordEmbedding:
    """What fastembed's sparse encoders are to a program, without a model that would have to be fetched."""

    def __init__(self, model_name: str) -> None:
        self.model_name = model_name

    def embed(self, texts: list[str]) -> Iterator[object]:
        for text in texts:
            indices, values = words(text)
            vector = {"indices": array("L", indices), "values": array("d", values)}
            as_object = {"indices": indices, "values": values}
            yield types.SimpleNamespace(**vector, as_object=lambda made=as_object: made)


def stand_in_for_fastembed() -> None:
    """Qdrant's client looks for fastembed too: import it before."""
    sys.modules["fastembed"] = types.SimpleNamespace(SparseTextEmbedding=WordEmbedding)


class Checks:
    """What was checked, and which of it was wrong."""

    def __init__(self) -> None:
        self.steps = 0
        self.failures: list[str] = []

    def equal(self, what: str, call: Callable[[], object], expected: object) -> None:
        """One call of the program. One that fails does not end the others."""
        self.steps += 1
        try:
            found = call()
        except Exception as error:  # what a program lets through is what its user sees
            self.failures.append(f"{what}: {type(error).__name__}: {error}")
            return
        if found != expected:
            self.failures.append(f"{what}: {found!r} instead of {expected!r}")

    def done(self, what: str, call: Callable[[], object]) -> None:
        """One call whose answer says nothing."""
        self.equal(what, lambda: call() and None, None)

    def report(self) -> None:
        """Prints one JSON object: how many things were checked, and which of them were wrong."""
        print(json.dumps({"steps": self.steps, "failures": self.failures}))
