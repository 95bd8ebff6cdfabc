"""
Every call of LlamaIndex's vector store for Qdrant, and an index, a retriever and a query filter over it.

    python llama_index_store.py URL TOKEN
"""

from __future__ import annotations

import asyncio
import sys
import warnings

from checks import REQUEST_TIMEOUT, Checks, letters, words
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import AsyncQdrantClient, QdrantClient, models

IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 5)]
TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]
METADATA = [
    {"kind": "pet", "page": 1, "tags": ["cat", "mat"]},
    {"kind": "pet", "page": 2, "tags": ["cat"]},
    {"kind": "pet", "page": 3, "note": "a good dog"},
    {"kind": "wild", "page": 4, "tags": []},
]

# Each operator that the store translates, and the pages that it finds.
OPERATORS = [
    ("kind", FilterOperator.EQ, "wild", [4]),
    ("page", FilterOperator.EQ, 2, [2]),
    ("kind", FilterOperator.NE, "pet", [4]),
    ("page", FilterOperator.GT, 2, [3, 4]),
    ("page", FilterOperator.GTE, 2, [2, 3, 4]),
    ("page", FilterOperator.LT, 2, [1]),
    ("page", FilterOperator.LTE, 2, [1, 2]),
    ("kind", FilterOperator.IN, ["wild", "other"], [4]),
    ("page", FilterOperator.IN, [1, 3], [1, 3]),
    ("kind", FilterOperator.NIN, ["pet"], [4]),
    ("note", FilterOperator.TEXT_MATCH, "good dog", [3]),
    ("note", FilterOperator.TEXT_MATCH_INSENSITIVE, "good", [3]),
    ("tags", FilterOperator.IS_EMPTY, None, [3, 4]),
]


class LetterEmbedding(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return letters(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return letters(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return letters(query)


def sparse(texts: list[str]) -> tuple[list[list[int]], list[list[float]]]:
    vectors = [words(text) for text in texts]
    return [indices for indices, _ in vectors], [values for _, values in vectors]


def nodes() -> list[TextNode]:
    """The first two belong to one document."""
    made = []
    for id_, text, metadata in zip(IDS, TEXTS, METADATA):
        document = RelatedNodeInfo(node_id="cats" if "cat" in text else text)
        made.append(
            TextNode(
                id_=id_,
                text=text,
                metadata=metadata,
                embedding=letters(text),
                relationships={NodeRelationship.SOURCE: document},
            )
        )
    return made


def texts(found: object) -> list[str]:
    """Of a result of a query, or of a list of nodes."""
    return [node.get_content() for node in getattr(found, "nodes", found)]


def query(text: str, k: int = 1, **more: object) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=letters(text), query_str=text, similarity_top_k=k, **more)


def only(key: str, value: object, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


def try_filters(checks: Checks, store: QdrantVectorStore) -> None:
    def pages(filters: MetadataFilters) -> list[int]:
        found = store.query(query("a cat", k=4, filters=filters))
        return sorted(node.metadata["page"] for node in found.nodes)

    for key, operator, value, expected in OPERATORS:
        checks.equal(f"filter {operator.name} {value}", lambda: pages(only(key, value, operator)), expected)
    wild, first = MetadataFilter(key="kind", value="wild"), MetadataFilter(key="page", value=1)
    for condition, expected in [
        (FilterCondition.AND, []),
        (FilterCondition.OR, [1, 4]),
        (FilterCondition.NOT, [2, 3]),
    ]:
        made = MetadataFilters(filters=[wild, first], condition=condition)
        checks.equal(f"filters {condition.name}", lambda: pages(made), expected)
        nested = MetadataFilters(filters=[made], condition=FilterCondition.AND)
        checks.equal(f"filters within filters {condition.name}", lambda: pages(nested), expected)
    of_qdrant = models.Filter(must=[models.FieldCondition(key="page", range=models.Range(gte=4))])
    checks.equal(
        "a filter of Qdrant", lambda: texts(store.query(query("a cat", k=4), qdrant_filters=of_qdrant)), [TEXTS[3]]
    )
    of_document = lambda: sorted(texts(store.query(query("dogs", k=4, doc_ids=["cats"]))))  # noqa: E731
    checks.equal("query by document", of_document, TEXTS[:2])
    checks.equal("query by id", lambda: texts(store.query(query("dogs", k=4, node_ids=IDS[3:]))), TEXTS[3:])


def try_store(checks: Checks, name: str, store: QdrantVectorStore) -> None:
    """What works with one vector a node, and with two."""
    checks.equal(f"{name} add", lambda: store.add(nodes()), IDS)
    checks.equal(f"{name} add again", lambda: store.add(nodes()[:1]), IDS[:1])
    checks.equal(f"{name} query", lambda: texts(store.query(query(TEXTS[0], k=2))), TEXTS[:2])
    checks.equal(
        f"{name} query with parameters",
        lambda: texts(store.query(query("dogs dig"), search_params={"exact": True})),
        [TEXTS[2]],
    )
    checks.equal(f"{name} get nodes", lambda: sorted(texts(store.get_nodes(IDS[1:3]))), sorted(TEXTS[1:3]))
    checks.equal(f"{name} get nodes with vectors", lambda: len(store.get_nodes(IDS[:1])[0].embedding), 26)
    checks.equal(f"{name} get all nodes", lambda: len(store.get_nodes()), 4)
    checks.equal(f"{name} get by filter", lambda: texts(store.get_nodes(filters=only("kind", "wild"))), TEXTS[3:])
    try_filters(checks, store)
    asyncio.run(try_async(checks, name, store))
    checks.done(f"{name} delete document", lambda: store.delete("cats"))
    checks.equal(f"{name} deleted document", lambda: sorted(texts(store.get_nodes())), TEXTS[2:])
    checks.done(f"{name} delete nodes", lambda: store.delete_nodes(IDS[2:3]))
    checks.equal(f"{name} deleted nodes", lambda: texts(store.get_nodes()), TEXTS[3:])
    checks.done(f"{name} delete by filter", lambda: store.delete_nodes(filters=only("page", 4)))
    checks.equal(f"{name} nothing left", lambda: texts(store.get_nodes()), [])
    checks.done(f"{name} clear", store.clear)
    checks.equal(f"{name} cleared", lambda: store.client.collection_exists(store.collection_name), False)
    checks.equal(f"{name} add anew", lambda: store.add(nodes()), IDS)
    checks.done(f"{name} aclear", lambda: asyncio.run(store.aclear()))
    checks.equal(f"{name} acleared", lambda: store.client.collection_exists(store.collection_name), False)


async def try_async(checks: Checks, name: str, store: QdrantVectorStore) -> None:
    async def equal(what: str, call: object, expected: object) -> None:
        try:
            found = await call
        except Exception as error:
            checks.equal(f"{name} {what}", lambda: f"{type(error).__name__}: {error}", expected)
        else:
            checks.equal(f"{name} {what}", lambda: texts(found) if what.startswith(("aq", "aget")) else found, expected)

    extra = TextNode(id_="00000000-0000-4000-8000-000000000009", text="zebra", embedding=letters("zebra"))
    await equal("async add", store.async_add([extra]), [extra.id_])
    await equal("aquery", store.aquery(query("zebra")), ["zebra"])
    await equal("aget nodes", store.aget_nodes([extra.id_]), ["zebra"])
    await equal("adelete nodes", store.adelete_nodes([extra.id_]), None)
    await equal("adelete", store.adelete("nothing"), None)
    await equal("aget deleted", store.aget_nodes([extra.id_]), [])


def try_hybrid(checks: Checks, store: QdrantVectorStore) -> None:
    store.add(nodes())
    for mode in (VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.DEFAULT):
        found = lambda: texts(store.query(query("dogs dig", mode=mode)))  # noqa: E731
        checks.equal(f"query {mode.name}", found, [TEXTS[2]])
        again = lambda: texts(asyncio.run(store.aquery(query("dogs dig", mode=mode))))  # noqa: E731
        checks.equal(f"aquery {mode.name}", again, [TEXTS[2]])
    checks.equal(
        "hybrid with a filter",
        lambda: texts(store.query(query("dogs", k=4, mode=VectorStoreQueryMode.HYBRID, filters=only("kind", "wild")))),
        [TEXTS[3]],
    )
    store.clear()


def try_index(checks: Checks, store: QdrantVectorStore) -> None:
    """The documented way: an index over the store, and a retriever."""
    embedding = LetterEmbedding()
    context = StorageContext.from_defaults(vector_store=store)
    made = [TextNode(text=text, metadata=metadata) for text, metadata in zip(TEXTS, METADATA)]
    checks.done("index", lambda: VectorStoreIndex(made, storage_context=context, embed_model=embedding))
    index = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    retriever = index.as_retriever(similarity_top_k=1)
    checks.equal("retrieve", lambda: texts([hit.node for hit in retriever.retrieve("dogs dig")]), [TEXTS[2]])
    filtered = index.as_retriever(similarity_top_k=4, filters=only("kind", "wild"))
    checks.equal("retrieve filtered", lambda: texts([hit.node for hit in filtered.retrieve("dogs")]), [TEXTS[3]])
    checks.done("insert", lambda: index.insert_nodes([TextNode(text="zebra")]))
    checks.equal("retrieve inserted", lambda: texts([hit.node for hit in retriever.retrieve("zebra")]), ["zebra"])


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    checks = Checks()
    client = QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    aclient = AsyncQdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    indexes = [{"field_name": "page", "field_schema": models.PayloadSchemaType.INTEGER}]
    both = {"client": client, "aclient": aclient, "payload_indexes": indexes}
    hybrid = {"enable_hybrid": True, "sparse_doc_fn": sparse, "sparse_query_fn": sparse}
    try_store(checks, "dense", QdrantVectorStore("llama-index-dense", **both))
    try_store(checks, "hybrid", QdrantVectorStore("llama-index-hybrid", **both, **hybrid))
    try_hybrid(checks, QdrantVectorStore("llama-index-modes", **both, **hybrid))
    try_index(checks, QdrantVectorStore("llama-index-index", client=client))
    # An existing collection, as the next start of a program finds it, from an address instead of a client.
    again = QdrantVectorStore("llama-index-index", url=url, api_key=token)
    checks.equal("existing collection", lambda: texts(again.query(query("dogs dig"))), [TEXTS[2]])
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
