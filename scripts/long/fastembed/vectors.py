"""Writes texts of each language with the vectors that fastembed's BM25 makes of them: vectors.py MODEL OUT.

MODEL is a folder with the lists of stop words, LANGUAGE.txt, as the model Qdrant/bm25 has them. The words of the texts are
those of the package wordfreq, the most frequent of each language.
"""

import gzip
import importlib.util
import json
import random
import sys
from pathlib import Path

import msgpack
from fastembed.sparse.bm25 import Bm25

CODES = {
    "arabic": "ar", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr",
    "german": "de", "greek": "el", "hungarian": "hu", "italian": "it", "norwegian": "nb",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "turkish": "tr",
}  # fmt: skip
WORDS = 9_000
WORDS_OF_TEXT = 60


def words_of(code: str) -> list[str]:
    """The most frequent words of a language, which are in lists of words that are about as frequent."""
    data = Path(importlib.util.find_spec("wordfreq").origin).parent / "data" / f"small_{code}.msgpack.gz"
    with gzip.open(data) as file:
        _, *buckets = msgpack.load(file, raw=False)
    return [word for bucket in buckets for word in bucket][:WORDS]


def texts_of(words: list[str]) -> list[str]:
    """Texts that have all of the words, some of them twice, some with a capital, and what stands between words."""
    choice = random.Random(7)
    texts = []
    for start in range(0, len(words), WORDS_OF_TEXT):
        some = words[start : start + WORDS_OF_TEXT]
        some += choice.sample(some, len(some) // 6)
        shown = [word.capitalize() if choice.random() < 0.2 else word for word in some]
        texts.append("".join(word + choice.choice([" ", " ", ", ", ". ", "-", " (", "\n"]) for word in shown))
    return texts


def main(model: str, out: str) -> None:
    found = {}
    for language, code in CODES.items():
        bm25 = Bm25("Qdrant/bm25", specific_model_path=model, language=language)
        texts = texts_of(words_of(code))
        documents = [vector.as_dict() for vector in bm25.embed(texts)]
        queries = [sorted(map(int, vector.indices)) for vector in bm25.query_embed(texts)]
        found[language] = [
            {"text": text, "document": {str(index): value for index, value in document.items()}, "query": query}
            for text, document, query in zip(texts, documents, queries)
        ]
    Path(out).write_text(json.dumps(found))


main(*sys.argv[1:])
