"""
Every call of Haystack's document store for Qdrant, its three retrievers and its migration.

    python haystack_store.py URL TOKEN
"""

from __future__ import annotations

import asyncio
import os
import sys
import warnings

from checks import REQUEST_TIMEOUT, Checks, letters, words
from haystack.dataclasses import Document, SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret
from haystack_integrations.components.retrievers.qdrant import (
    QdrantEmbeddingRetriever,
    QdrantHybridRetriever,
    QdrantSparseEmbeddingRetriever,
)
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore, migrate_to_sparse_embeddings_support

TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]
KINDS = ["pet", "pet", "pet", "wild"]

# Filters as Haystack documents them, and the pages that they find.
FILTERS = [
    ({"field": "meta.kind", "operator": "==", "value": "wild"}, [4]),
    ({"field": "meta.kind", "operator": "!=", "value": "wild"}, [1, 2, 3]),
    ({"field": "meta.page", "operator": ">", "value": 2}, [3, 4]),
    ({"field": "meta.page", "operator": ">=", "value": 2}, [2, 3, 4]),
    ({"field": "meta.page", "operator": "<", "value": 2}, [1]),
    ({"field": "meta.date", "operator": "<=", "value": "2026-01-02T00:00:00"}, [1, 2]),
    ({"field": "meta.page", "operator": "in", "value": [1, 4]}, [1, 4]),
    ({"field": "meta.page", "operator": "not in", "value": [1, 4]}, [2, 3]),
    (
        {
            "operator": "OR",
            "conditions": [
                {"field": "meta.page", "operator": "==", "value": 1},
                {
                    "operator": "AND",
                    "conditions": [
                        {"field": "meta.kind", "operator": "==", "value": "pet"},
                        {"field": "meta.page", "operator": ">", "value": 2},
                    ],
                },
            ],
        },
        [1, 3],
    ),
    ({"operator": "NOT", "conditions": [{"field": "meta.kind", "operator": "==", "value": "pet"}]}, [4]),
]
PETS = {"field": "meta.kind", "operator": "==", "value": "pet"}


def sparse(text: str) -> SparseEmbedding:
    indices, values = words(text)
    return SparseEmbedding(indices=indices, values=values)


def documents(is_sparse: bool) -> list[Document]:
    return [
        Document(
            id=f"document {page}",
            content=text,
            embedding=letters(text),
            sparse_embedding=sparse(text) if is_sparse else None,
            meta={"kind": kind, "page": page, "date": f"2026-01-0{page}T00:00:00"},
        )
        for page, (text, kind) in enumerate(zip(TEXTS, KINDS), start=1)
    ]


def pages(found: list[Document]) -> list[int]:
    return sorted(document.meta["page"] for document in found)


def contents(found: object) -> list[str]:
    """Of the output of a retriever, or of a list of documents."""
    return [document.content for document in (found["documents"] if isinstance(found, dict) else found)]


def store_at(url: str, index: str, **options: object) -> QdrantDocumentStore:
    return QdrantDocumentStore(
        url=url,
        api_key=Secret.from_env_var("PROGRAMS_TOKEN"),
        index=index,
        embedding_dim=26,
        timeout=REQUEST_TIMEOUT,
        progress_bar=False,
        return_embedding=True,
        **options,
    )


def try_writes(checks: Checks, store: QdrantDocumentStore, is_sparse: bool) -> None:
    made = documents(is_sparse)
    checks.equal("write", lambda: store.write_documents(made), 4)
    checks.equal("count", store.count_documents, 4)

    def fails() -> str:
        try:
            store.write_documents(made[:1], DuplicatePolicy.FAIL)
        except Exception as error:
            return type(error).__name__
        return "nothing"

    checks.equal("write a duplicate", fails, "DuplicateDocumentError")
    checks.equal("skip a duplicate", lambda: store.write_documents(made, DuplicatePolicy.SKIP), 0)
    checks.equal("overwrite", lambda: store.write_documents(made[:1], DuplicatePolicy.OVERWRITE), 1)
    checks.equal("all", lambda: pages(store.filter_documents()), [1, 2, 3, 4])
    for filters, expected in FILTERS:
        checks.equal(f"filter {filters}", lambda: pages(store.filter_documents(filters)), expected)
    checks.equal("by id", lambda: contents(store.get_documents_by_id(["document 3"])), [TEXTS[2]])
    checks.equal("by an absent id", lambda: contents(store.get_documents_by_id(["absent"])), [])


def try_metadata(checks: Checks, store: QdrantDocumentStore) -> None:
    checks.equal("count by filter", lambda: store.count_documents_by_filter(PETS), 3)
    checks.equal("fields", lambda: store.get_metadata_fields_info()["kind"], {"type": "keyword"})
    checks.equal("minimum, maximum", lambda: store.get_metadata_field_min_max("page"), {"min": 1, "max": 4})
    unique = lambda: store.count_unique_metadata_by_filter(PETS, ["kind", "page"])  # noqa: E731
    checks.equal("count of unique values", unique, {"kind": 1, "page": 3})
    checks.equal("unique values", lambda: store.get_metadata_field_unique_values("kind"), (["pet", "wild"], 2))


def try_deletions(checks: Checks, store: QdrantDocumentStore) -> None:
    checks.equal("update by filter", lambda: store.update_by_filter(PETS, {"kind": "animal"}), 3)
    checks.equal("updated", lambda: store.count_documents_by_filter(PETS), 0)
    checks.done("delete", lambda: store.delete_documents(["document 1", "absent"]))
    checks.equal("deleted", lambda: pages(store.filter_documents()), [2, 3, 4])
    last = {"field": "meta.page", "operator": "==", "value": 4}
    checks.equal("delete by filter", lambda: store.delete_by_filter(last), 1)
    checks.equal("deleted by filter", lambda: pages(store.filter_documents()), [2, 3])
    checks.done("delete all", store.delete_all_documents)
    checks.equal("deleted all", store.count_documents, 0)


def try_dense(checks: Checks, store: QdrantDocumentStore) -> None:
    retriever = QdrantEmbeddingRetriever(store, top_k=1, return_embedding=True)
    checks.equal("retrieve", lambda: contents(retriever.run(letters("dogs dig"))), [TEXTS[2]])
    wild = FILTERS[0][0]
    checks.equal("retrieve filtered", lambda: contents(retriever.run(letters("dogs"), filters=wild)), [TEXTS[3]])
    near = lambda: contents(retriever.run(letters(TEXTS[0]), top_k=4, score_threshold=0.9))  # noqa: E731
    checks.equal("retrieve by score", near, TEXTS[:2])
    scaled = lambda: retriever.run(letters("dogs dig"), scale_score=True)["documents"][0].score > 0.99  # noqa: E731
    checks.equal("retrieve with scaled scores", scaled, True)
    groups = lambda: contents(retriever.run(letters("cat"), top_k=2, group_by="meta.kind", group_size=1))  # noqa: E731
    checks.equal("retrieve groups", groups, [TEXTS[0], TEXTS[3]])
    again = lambda: contents(asyncio.run(retriever.run_async(letters("dogs dig"))))  # noqa: E731
    checks.equal("retrieve asynchronously", again, [TEXTS[2]])


def try_sparse(checks: Checks, store: QdrantDocumentStore) -> None:
    keywords = QdrantSparseEmbeddingRetriever(store, top_k=1)
    checks.equal("keywords", lambda: contents(keywords.run(sparse("dogs"))), [TEXTS[2]])
    groups = lambda: contents(keywords.run(sparse("cat fox"), top_k=2, group_by="meta.kind", group_size=1))  # noqa: E731
    checks.equal("keyword groups", lambda: len(groups()), 2)
    checks.equal("keywords asynchronously", lambda: contents(asyncio.run(keywords.run_async(sparse("fox")))), TEXTS[3:])
    hybrid = QdrantHybridRetriever(store, top_k=1, return_embedding=True)
    both = {"query_embedding": letters("dogs dig"), "query_sparse_embedding": sparse("dogs dig")}
    checks.equal("hybrid", lambda: contents(hybrid.run(**both)), [TEXTS[2]])
    checks.equal("hybrid filtered", lambda: contents(hybrid.run(**both, filters=FILTERS[0][0])), [TEXTS[3]])
    checks.equal("hybrid with weights", lambda: contents(hybrid.run(**both, rrf_k=3, rrf_weights=[2, 1])), [TEXTS[2]])
    grouped = lambda: contents(hybrid.run(**both, top_k=2, group_by="meta.kind", group_size=1))  # noqa: E731
    checks.equal("hybrid groups", lambda: grouped()[0], TEXTS[2])
    checks.equal("hybrid asynchronously", lambda: contents(asyncio.run(hybrid.run_async(**both))), [TEXTS[2]])


async def async_flow(store: QdrantDocumentStore) -> list[object]:
    """The asynchronous twins of the calls above."""
    made = documents(is_sparse=False)
    return [
        await store.write_documents_async(made),
        await store.write_documents_async(made, DuplicatePolicy.SKIP),
        await store.count_documents_async(),
        pages(await store.filter_documents_async(PETS)),
        contents(await store.get_documents_by_id_async(["document 3", "absent"])),
        await store.count_documents_by_filter_async(PETS),
        (await store.get_metadata_fields_info_async())["kind"],
        await store.get_metadata_field_min_max_async("page"),
        await store.count_unique_metadata_by_filter_async(PETS, ["kind"]),
        await store.get_metadata_field_unique_values_async("kind"),
        await store.update_by_filter_async(PETS, {"kind": "animal"}),
        await store.delete_documents_async(["document 1"]),
        await store.delete_by_filter_async({"field": "meta.page", "operator": "==", "value": 4}),
        pages(await store.filter_documents_async()),
        await store.delete_all_documents_async(),
        await store.count_documents_async(),
        await store.write_documents_async(made),
        await store.recreate_collection_async(store.index, store.get_distance("cosine"), 26),
        await store.count_documents_async(),
        await store.close_async(),
    ]


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    os.environ["PROGRAMS_TOKEN"] = token
    checks = Checks()
    indexed = [{"field_name": "meta.kind", "field_schema": "keyword"}]
    dense = store_at(url, "haystack", payload_fields_to_index=indexed)
    try_writes(checks, dense, is_sparse=False)
    try_metadata(checks, dense)
    try_dense(checks, dense)
    # The migration cannot carry a secret over: the token is a header.
    plain = QdrantDocumentStore(url=url, index="haystack", embedding_dim=26, metadata={"api-key": token})
    checks.done("migration", lambda: migrate_to_sparse_embeddings_support(plain, "haystack-migrated"))
    migrated = store_at(url, "haystack-migrated", use_sparse_embeddings=True)
    checks.equal("migrated", lambda: pages(migrated.filter_documents()), [1, 2, 3, 4])
    existing = store_at(url, "haystack")
    checks.equal("existing collection", existing.count_documents, 4)
    try_deletions(checks, dense)
    checks.done("make anew", lambda: dense.recreate_collection("haystack", dense.get_distance("cosine"), 26))
    hybrid = store_at(url, "haystack-hybrid", use_sparse_embeddings=True, sparse_idf=True)
    try_writes(checks, hybrid, is_sparse=True)
    try_sparse(checks, hybrid)
    try_deletions(checks, hybrid)
    info = [{"type": "keyword"}, {"min": 1, "max": 4}, {"kind": 1}, (["pet", "wild"], 2)]
    expected = [4, 0, 4, [1, 2, 3], [TEXTS[2]], 3, *info, 3]
    last = [None, 1, [2, 3], None, 0, 4, None, 0, None]
    checks.equal("asynchronously", lambda: asyncio.run(async_flow(store_at(url, "haystack-async"))), expected + last)
    checks.done("close", dense.close)
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
