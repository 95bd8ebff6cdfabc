"""
The documented flow of langchain-qdrant with embeddings that need no model.

    python langchain_flow.py URL TOKEN

Prints one JSON object: how many things were checked, and which of them were wrong.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import warnings
import zlib

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore, RetrievalMode, SparseEmbeddings, SparseVector
from qdrant_client import QdrantClient, models

# Seconds; the client would give up after 5, and this machine may be busy.
REQUEST_TIMEOUT = 60

LETTERS = "abcdefghijklmnopqrstuvwxyz"
IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 5)]
DOCUMENTS = [
    Document(page_content="a cat sat on a mat", metadata={"kind": "pet", "page": 1}),
    Document(page_content="a cat sat on a mat again", metadata={"kind": "pet", "page": 2}),
    Document(page_content="dogs dig", metadata={"kind": "pet", "page": 3}),
    Document(page_content="quick brown fox", metadata={"kind": "wild", "page": 4}),
]
WILD = models.Filter(must=[models.FieldCondition(key="metadata.kind", match=models.MatchValue(value="wild"))])


class LetterEmbeddings(Embeddings):
    """How often each letter occurs: texts of the same letters are near."""

    def embed_query(self, text: str) -> list[float]:
        return [float(text.lower().count(letter)) for letter in LETTERS]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class WordEmbeddings(SparseEmbeddings):
    """How often each word occurs: texts with the same words are near."""

    def embed_query(self, text: str) -> SparseVector:
        counts: dict[int, float] = {}
        for word in re.findall(r"\w+", text.lower()):
            index = zlib.crc32(word.encode())
            counts[index] = counts.get(index, 0) + 1
        return SparseVector(indices=list(counts), values=list(counts.values()))

    def embed_documents(self, texts: list[str]) -> list[SparseVector]:
        return [self.embed_query(text) for text in texts]


class Checks:
    """What was checked, and which of it was wrong."""

    def __init__(self) -> None:
        self.steps = 0
        self.failures: list[str] = []

    def equal(self, what: str, found: object, expected: object) -> None:
        self.steps += 1
        if found != expected:
            self.failures.append(f"{what}: {found!r} instead of {expected!r}")


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def store_of(client: QdrantClient, mode: RetrievalMode) -> QdrantVectorStore:
    """An empty collection made for a mode, and a store over it."""
    dense = {"dense": models.VectorParams(size=len(LETTERS), distance=models.Distance.COSINE)}
    sparse = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
    collection = f"langchain-python-{mode.value}"
    client.create_collection(
        collection,
        vectors_config=dense if mode != RetrievalMode.SPARSE else {},
        sparse_vectors_config=sparse if mode != RetrievalMode.DENSE else None,
    )
    return QdrantVectorStore(
        client=client,
        collection_name=collection,
        embedding=LetterEmbeddings() if mode != RetrievalMode.SPARSE else None,
        sparse_embedding=WordEmbeddings() if mode != RetrievalMode.DENSE else None,
        retrieval_mode=mode,
        vector_name="dense",
        sparse_vector_name="words",
    )


def try_mode(checks: Checks, client: QdrantClient, mode: RetrievalMode) -> None:
    """What every mode can do."""
    store = store_of(client, mode)
    checks.equal(f"{mode} add", store.add_documents(DOCUMENTS, ids=IDS), IDS)
    one, two = (document.page_content for document in DOCUMENTS[:2])
    checks.equal(f"{mode} search", texts(store.similarity_search(one, k=2))[0], one)
    checks.equal(f"{mode} filter", texts(store.similarity_search("fox", k=4, filter=WILD)), ["quick brown fox"])
    [(found, score), *_] = store.similarity_search_with_score("dogs dig", k=4)
    checks.equal(f"{mode} score", (found.page_content, score > 0), ("dogs dig", True))
    checks.equal(f"{mode} metadata", found.metadata["page"], 3)
    checks.equal(f"{mode} get", texts(store.get_by_ids(IDS[1:3])), [two, "dogs dig"])
    retriever = store.as_retriever(search_kwargs={"k": 1})
    checks.equal(f"{mode} retriever", texts(retriever.invoke("quick brown fox")), ["quick brown fox"])
    found = asyncio.run(store.asimilarity_search("dogs dig", k=1))
    checks.equal(f"{mode} asynchronously", texts(found), ["dogs dig"])
    added = store.add_texts(["brown bear"], metadatas=[{"kind": "wild", "page": 5}])
    checks.equal(f"{mode} added", texts(store.similarity_search("brown bear", k=1)), ["brown bear"])
    checks.equal(f"{mode} delete", store.delete([*added, IDS[0]]), True)
    checks.equal(f"{mode} deleted", client.count(store.collection_name).count, 3)


def try_dense(checks: Checks, client: QdrantClient, url: str, token: str) -> None:
    """What only vectors can do, and the ways to make a store."""
    server = {"url": url, "api_key": token, "timeout": REQUEST_TIMEOUT}
    made = QdrantVectorStore.from_documents(
        DOCUMENTS, LetterEmbeddings(), ids=IDS, collection_name="langchain-python-made", **server
    )
    checks.equal("made", client.count("langchain-python-made").count, 4)
    store = QdrantVectorStore.from_existing_collection("langchain-python-made", LetterEmbeddings(), **server)
    cat = DOCUMENTS[0].page_content
    diverse = texts(store.max_marginal_relevance_search(cat, k=2, fetch_k=4, lambda_mult=0.8))
    checks.equal("mmr", (diverse[0], DOCUMENTS[1].page_content in diverse), (cat, False))
    [(_, score)] = made.similarity_search_with_relevance_scores(cat, k=1)
    checks.equal("relevance", abs(score - 1) < 1e-5, True)
    checks.equal("threshold", texts(made.similarity_search(cat, k=4, score_threshold=0.9)), texts(DOCUMENTS[:2]))
    checks.equal("offset", texts(made.similarity_search(cat, k=1, offset=1)), [DOCUMENTS[1].page_content])
    retriever = made.as_retriever(search_type="mmr", search_kwargs={"k": 1, "fetch_k": 4})
    checks.equal("mmr retriever", texts(retriever.invoke("dogs dig")), ["dogs dig"])
    again = QdrantVectorStore.from_texts(
        ["new"], LetterEmbeddings(), collection_name="langchain-python-made", force_recreate=True, **server
    )
    checks.equal("made again", texts(again.similarity_search("anything", k=4)), ["new"])


def try_hybrid(checks: Checks, client: QdrantClient) -> None:
    """Two prefetches and a fusion: what is first in both is first."""
    store = store_of(client, RetrievalMode.HYBRID)
    store.add_documents(DOCUMENTS, ids=IDS)
    for fusion in models.Fusion:
        found = store.similarity_search_with_score("dogs dig", k=4, hybrid_fusion=models.FusionQuery(fusion=fusion))
        scores = [score for _, score in found]
        checks.equal(f"{fusion} first", found[0][0].page_content, "dogs dig")
        checks.equal(f"{fusion} order", scores, sorted(scores, reverse=True))
    client.delete_collection(store.collection_name)


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    client, checks = QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT), Checks()
    try_hybrid(checks, client)
    for mode in RetrievalMode:
        try_mode(checks, client, mode)
    try_dense(checks, client, url, token)
    print(json.dumps({"steps": checks.steps, "failures": checks.failures}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
