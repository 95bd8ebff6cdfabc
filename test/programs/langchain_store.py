"""
Every call of LangChain's vector store for Qdrant, dense, sparse and hybrid.

    python langchain_store.py URL TOKEN
"""

from __future__ import annotations

import asyncio
import sys
import warnings

from checks import LETTERS, REQUEST_TIMEOUT, Checks, letters, words
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore, RetrievalMode, SparseEmbeddings, SparseVector
from qdrant_client import QdrantClient, models

IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 5)]
DOCUMENTS = [
    Document(page_content="a cat sat on a mat", metadata={"kind": "pet", "page": 1}),
    Document(page_content="a cat sat on a mat again", metadata={"kind": "pet", "page": 2}),
    Document(page_content="dogs dig", metadata={"kind": "pet", "page": 3}),
    Document(page_content="quick brown fox", metadata={"kind": "wild", "page": 4}),
]
WILD = models.Filter(must=[models.FieldCondition(key="metadata.kind", match=models.MatchValue(value="wild"))])


class LetterEmbeddings(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return letters(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [letters(text) for text in texts]


class WordEmbeddings(SparseEmbeddings):
    def embed_query(self, text: str) -> SparseVector:
        indices, values = words(text)
        return SparseVector(indices=indices, values=values)

    def embed_documents(self, texts: list[str]) -> list[SparseVector]:
        return [self.embed_query(text) for text in texts]


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
    name = mode.value
    one, two = (document.page_content for document in DOCUMENTS[:2])
    checks.equal(f"{name} add", lambda: store.add_documents(DOCUMENTS, ids=IDS), IDS)
    checks.equal(f"{name} search", lambda: texts(store.similarity_search(one, k=2))[0], one)
    filtered = lambda: texts(store.similarity_search("fox", k=4, filter=WILD))  # noqa: E731
    checks.equal(f"{name} filter", filtered, ["quick brown fox"])

    def best() -> tuple[str, bool, int]:
        [(found, score), *_] = store.similarity_search_with_score("dogs dig", k=4)
        return found.page_content, score > 0, found.metadata["page"]

    checks.equal(f"{name} score", best, ("dogs dig", True, 3))
    checks.equal(f"{name} get", lambda: texts(store.get_by_ids(IDS[1:3])), [two, "dogs dig"])
    retriever = store.as_retriever(search_kwargs={"k": 1})
    checks.equal(f"{name} retriever", lambda: texts(retriever.invoke("quick brown fox")), ["quick brown fox"])
    again = lambda: texts(asyncio.run(store.asimilarity_search("dogs dig", k=1)))  # noqa: E731
    checks.equal(f"{name} asynchronously", again, ["dogs dig"])
    added: list[str] = []
    more = lambda: added.extend(store.add_texts(["brown bear"], metadatas=[{"kind": "wild", "page": 5}]))  # noqa: E731
    checks.done(f"{name} add texts", more)
    checks.equal(f"{name} added", lambda: texts(store.similarity_search("brown bear", k=1)), ["brown bear"])
    checks.equal(f"{name} delete", lambda: store.delete([*added, IDS[0]]), True)
    checks.equal(f"{name} deleted", lambda: client.count(store.collection_name).count, 3)


def try_made(checks: Checks, client: QdrantClient, url: str, token: str) -> None:
    """The ways to make a store."""
    server = {"url": url, "api_key": token, "timeout": REQUEST_TIMEOUT}
    name = "langchain-python-made"

    def made() -> int:
        QdrantVectorStore.from_documents(DOCUMENTS, LetterEmbeddings(), ids=IDS, collection_name=name, **server)
        return client.count(name).count

    checks.equal("made", made, 4)
    try_dense(checks, QdrantVectorStore.from_existing_collection(name, LetterEmbeddings(), **server))

    def made_again() -> list[str]:
        again = QdrantVectorStore.from_texts(
            ["new"], LetterEmbeddings(), collection_name=name, force_recreate=True, **server
        )
        return texts(again.similarity_search("anything", k=4))

    checks.equal("made again", made_again, ["new"])


def try_dense(checks: Checks, store: QdrantVectorStore) -> None:
    """What only dense vectors can do."""
    cat, again = (document.page_content for document in DOCUMENTS[:2])
    vector = letters(cat)

    def differ(found: list[str]) -> tuple[str, bool]:
        """The first, and whether the one that says the same again is among them."""
        return found[0], again in found

    spread = {"k": 2, "fetch_k": 4, "lambda_mult": 0.8}
    checks.equal("mmr", lambda: differ(texts(store.max_marginal_relevance_search(cat, **spread))), (cat, False))
    by_vector = lambda: differ(texts(store.max_marginal_relevance_search_by_vector(vector, **spread)))  # noqa: E731
    checks.equal("mmr by vector", by_vector, (cat, False))
    wild = lambda: texts(store.max_marginal_relevance_search_by_vector(vector, k=2, filter=WILD))  # noqa: E731
    checks.equal("mmr by vector, filtered", wild, ["quick brown fox"])
    scored = lambda: store.max_marginal_relevance_search_with_score_by_vector(vector, **spread)  # noqa: E731
    checks.equal("mmr with score by vector", lambda: differ([found.page_content for found, _ in scored()]), (cat, False))
    checks.equal("score of mmr", lambda: abs(scored()[0][1] - 1) < 1e-5, True)
    checks.equal("by vector", lambda: texts(store.similarity_search_by_vector(vector, k=2)), [cat, again])
    filtered = lambda: texts(store.similarity_search_by_vector(vector, k=4, filter=WILD))  # noqa: E731
    checks.equal("by vector, filtered", filtered, ["quick brown fox"])
    near = lambda: texts(store.similarity_search_by_vector(vector, k=4, offset=1, score_threshold=0.9))  # noqa: E731
    checks.equal("by vector, offset and threshold", near, [again])

    def best_by_vector() -> tuple[str, bool]:
        [(found, score)] = store.similarity_search_with_score_by_vector(vector, k=1)
        return found.page_content, abs(score - 1) < 1e-5

    checks.equal("with score by vector", best_by_vector, (cat, True))
    relevance = lambda: abs(store.similarity_search_with_relevance_scores(cat, k=1)[0][1] - 1) < 1e-5  # noqa: E731
    checks.equal("relevance", relevance, True)
    checks.equal("threshold", lambda: texts(store.similarity_search(cat, k=4, score_threshold=0.9)), [cat, again])
    checks.equal("offset", lambda: texts(store.similarity_search(cat, k=1, offset=1)), [again])
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 1, "fetch_k": 4})
    checks.equal("mmr retriever", lambda: texts(retriever.invoke("dogs dig")), ["dogs dig"])


def try_hybrid(checks: Checks, client: QdrantClient) -> None:
    """Two prefetches and a fusion: what is first in both is first."""
    store = store_of(client, RetrievalMode.HYBRID)
    store.add_documents(DOCUMENTS, ids=IDS)
    for fusion in models.Fusion:

        def found() -> tuple[str, bool]:
            query = models.FusionQuery(fusion=fusion)
            hits = store.similarity_search_with_score("dogs dig", k=4, hybrid_fusion=query)
            scores = [score for _, score in hits]
            return hits[0][0].page_content, scores == sorted(scores, reverse=True)

        checks.equal(f"{fusion}", found, ("dogs dig", True))
    client.delete_collection(store.collection_name)


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    client, checks = QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT), Checks()
    try_hybrid(checks, client)
    for mode in RetrievalMode:
        try_mode(checks, client, mode)
    try_made(checks, client, url, token)
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
