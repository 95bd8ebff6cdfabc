"""
Every call of Semantic Kernel's vector store for Qdrant, and of the memory store that came before it.

    python semantic_kernel_store.py URL TOKEN
"""

# Its models are read from annotations, which must not be strings.
import asyncio
import sys
import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy
from checks import REQUEST_TIMEOUT, Checks, letters
from qdrant_client import AsyncQdrantClient, QdrantClient
from semantic_kernel.connectors.memory_stores.qdrant.qdrant_memory_store import QdrantMemoryStore
from semantic_kernel.connectors.qdrant import QdrantCollection, QdrantStore
from semantic_kernel.data.vector import DistanceFunction, IndexKind, VectorStoreField, vectorstoremodel
from semantic_kernel.memory.memory_record import MemoryRecord

TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]
LETTERS = {"dimensions": 26, "type": "float", "index_kind": IndexKind.HNSW}


@vectorstoremodel
@dataclass
class Page:
    id: Annotated[int, VectorStoreField("key")]
    text: Annotated[str, VectorStoreField("data", is_full_text_indexed=True)]
    number: Annotated[int, VectorStoreField("data", is_indexed=True)]
    vector: Annotated[
        list[float] | None,
        VectorStoreField("vector", distance_function=DistanceFunction.COSINE_SIMILARITY, **LETTERS),
    ] = None


def pages() -> list[Page]:
    return [Page(n, text, n, letters(text)) for n, text in enumerate(TEXTS, start=1)]


async def try_collection(checks: Checks, name: str, collection: QdrantCollection) -> None:
    async def found(**more: object) -> list[str]:
        results = await collection.search(vector_property_name="vector", **more)
        return [hit.record.text async for hit in results.results]

    async def equal(what: str, call: object, expected: object) -> None:
        try:
            value = await call
        except Exception as error:
            value = f"{type(error).__name__}: {error}"
        checks.equal(f"{name} {what}", lambda: value, expected)

    await equal("exists before", collection.collection_exists(), False)
    await equal("create", collection.ensure_collection_exists(), None)
    await equal("exists", collection.collection_exists(), True)
    await equal("upsert one", collection.upsert(pages()[0]), 1)
    await equal("upsert", collection.upsert(pages()), [1, 2, 3, 4])
    one = await collection.get(3, include_vectors=True)
    checks.equal(f"{name} get", lambda: (one.text, len(one.vector)), (TEXTS[2], 26))
    several = await collection.get([1, 2])
    checks.equal(f"{name} get several", lambda: [page.number for page in several], [1, 2])
    await equal("get an absent one", collection.get(99), None)
    await equal("search", found(vector=letters(TEXTS[0]), top=2), TEXTS[:2])
    await equal("search further", found(vector=letters(TEXTS[0]), top=1, skip=1), TEXTS[1:2])
    # A condition alone is refused by the client's own models.
    await equal("filter", found(vector=letters("cat"), filter=lambda x: x.number > 3 and x.number < 9), TEXTS[3:])
    both = lambda x: x.number == 1 or (x.number != 2 and not x.number < 4)  # noqa: E731
    await equal("filters", found(vector=letters("fox"), filter=both), [TEXTS[3], TEXTS[0]])
    among = lambda x: x.number in [2, 4] and x.number not in [3]  # noqa: E731
    await equal("filter among", found(vector=letters("fox"), filter=among), [TEXTS[3], TEXTS[1]])
    await equal("delete", collection.delete([1, 99]), None)
    await equal("deleted", collection.get(1), None)
    await equal("drop", collection.ensure_collection_deleted(), None)
    await equal("dropped", collection.collection_exists(), False)


async def try_hybrid(checks: Checks, collection: QdrantCollection) -> None:
    await collection.ensure_collection_exists()
    await collection.upsert(pages())
    results = await collection.hybrid_search(
        [TEXTS[2]], vector=letters("dogs dig"), vector_property_name="vector", additional_property_name="text", top=1
    )
    found = [hit.record.text async for hit in results.results]
    checks.equal("hybrid", lambda: found, [TEXTS[2]])
    await collection.ensure_collection_deleted()


def record(n: int) -> MemoryRecord:
    return MemoryRecord.local_record(f"id{n}", TEXTS[n], "about", "more", embedding=numpy.array(letters(TEXTS[n])))


async def try_memory(checks: Checks, store: QdrantMemoryStore) -> None:
    name = "semantic-kernel-memory"
    await store.create_collection(name)
    exists = await store.does_collection_exist(name), name in await store.get_collections()
    checks.equal("memory collection", lambda: exists, (True, True))
    info = await store.get_collection(name)
    checks.equal("memory info", lambda: info.config.params.vectors.size, 26)
    key = await store.upsert(name, record(0))
    again = await store.upsert(name, record(0))
    checks.equal("memory upsert finds the record", lambda: again, key)
    keys = await store.upsert_batch(name, [record(n) for n in range(1, 4)])
    checks.equal("memory upsert", lambda: len(keys), 3)
    one = await store.get(name, "id2", with_embedding=True)
    checks.equal("memory get", lambda: (one.text, len(one.embedding)), (TEXTS[2], 26))
    absent = await store.get(name, "absent")
    checks.equal("memory get an absent one", lambda: absent, None)
    several = await store.get_batch(name, ["id1", "id3"])
    checks.equal("memory get several", lambda: [found.text for found in several], [TEXTS[1], TEXTS[3]])
    near = await store.get_nearest_matches(name, numpy.array(letters("a cat")), 2, 0.0, with_embeddings=True)
    checks.equal("memory nearest", lambda: len(near), 2)
    best, score = await store.get_nearest_match(name, numpy.array(letters("dogs dig")), 0.5)
    checks.equal("memory nearest one", lambda: (best.text, score > 0.99), (TEXTS[2], True))
    await store.remove(name, "id1")
    await store.remove_batch(name, ["id2", "id3"])
    left = (await store.get_collection(name)).points_count
    checks.equal("memory removed", lambda: left, 1)
    await store.delete_collection(name)


async def flow(checks: Checks, url: str, token: str) -> None:
    client = AsyncQdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    for name, is_named in [("named", True), ("unnamed", False)]:
        made = QdrantCollection(Page, collection_name=f"semantic-kernel-{name}", client=client, named_vectors=is_named)
        await try_collection(checks, name, made)
    store = QdrantStore(client=client)
    await try_hybrid(checks, store.get_collection(Page, collection_name="semantic-kernel-hybrid"))
    names = await store.list_collection_names()
    checks.equal("names", lambda: [name for name in names if name.startswith("semantic")], [])
    # It has no argument for a key.
    memory = QdrantMemoryStore(26, url=url, port=None)
    memory._qdrantclient = QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    await try_memory(checks, memory)


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    checks = Checks()
    checks.done("all", lambda: asyncio.run(flow(checks, url, token)))
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
