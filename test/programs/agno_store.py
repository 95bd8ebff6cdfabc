"""
Every call of agno's vector database for Qdrant, its keyword and hybrid search with a stand-in for fastembed's encoder.

    python agno_store.py URL TOKEN
"""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from dataclasses import dataclass

from agno.knowledge.document import Document
from agno.knowledge.embedder.base import Embedder
from agno.vectordb.qdrant import Qdrant
from agno.vectordb.search import SearchType
from checks import REQUEST_TIMEOUT, Checks, letters, stand_in_for_fastembed

TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]


@dataclass
class LetterEmbedder(Embedder):
    dimensions: int = 26

    def get_embedding(self, text: str) -> list[float]:
        return letters(text)

    def get_embedding_and_usage(self, text: str) -> tuple[list[float], None]:
        return letters(text), None

    async def async_get_embedding(self, text: str) -> list[float]:
        return letters(text)

    async def async_get_embedding_and_usage(self, text: str) -> tuple[list[float], None]:
        return letters(text), None


def documents() -> list[Document]:
    return [
        Document(
            content=text,
            name=f"name {page}",
            meta_data={"page": page, "kind": {"of": "wild" if page == 4 else "pet"}},
            content_id="cats" if page < 3 else f"content {page}",
        )
        for page, text in enumerate(TEXTS, start=1)
    ]


def contents(found: list[Document]) -> list[str]:
    return [document.content for document in found]


def try_store(checks: Checks, kind: SearchType, store: Qdrant) -> None:
    """What each kind of search can do."""
    name = kind.value
    checks.done(f"{name} create", store.create)
    checks.done(f"{name} create again", store.create)
    checks.equal(f"{name} exists", store.exists, True)
    checks.done(f"{name} insert", lambda: store.insert("hash", documents(), filters={"source": "test"}))
    checks.done(f"{name} insert of a user", lambda: store.insert("other", [Document(content="zebra", name="z")], user_id="ada"))
    checks.equal(f"{name} count", store.get_count, 5)
    checks.equal(f"{name} search", lambda: contents(store.search("dogs dig", limit=1)), [TEXTS[2]])
    checks.equal(f"{name} filtered", lambda: contents(store.search("a cat", 4, {"page": 2})), [TEXTS[1]])
    checks.equal(f"{name} filtered deep", lambda: contents(store.search("fox", 4, {"kind": {"of": "wild"}})), [TEXTS[3]])
    checks.equal(f"{name} of a user", lambda: contents(store.search("zebra", 1, user_id="ada")), ["zebra"])
    checks.equal(f"{name} of another", lambda: "zebra" in contents(store.search("zebra", 5, user_id="bob")), False)
    again = lambda: contents(asyncio.run(store.async_search("dogs dig", limit=1)))  # noqa: E731
    checks.equal(f"{name} async search", again, [TEXTS[2]])
    checks.equal(f"{name} name", lambda: (store.name_exists("name 1"), store.name_exists("none")), (True, False))
    checks.equal(f"{name} hash", lambda: (store.content_hash_exists("hash"), store.content_hash_exists("x")), (True, False))
    checks.equal(f"{name} hash of a user", lambda: store.content_hash_exists("other", "ada"), True)
    checks.done(f"{name} upsert", lambda: store.upsert("hash", documents()))
    checks.equal(f"{name} upserted", store.get_count, 5)
    checks.done(f"{name} metadata", lambda: store.update_metadata("content 3", {"seen": True}))
    payload = lambda: store.client.scroll(name_of(store), limit=9)[0]  # noqa: E731
    checks.equal(f"{name} updated", lambda: [p.payload["content"] for p in payload() if "seen" in p.payload], [TEXTS[2]])
    some = store.client.scroll(name_of(store), limit=1)[0][0].id
    absent = "00000000-0000-4000-8000-0000000000ff"
    checks.equal(f"{name} id", lambda: (store.id_exists(some), store.id_exists(absent)), (True, False))
    checks.equal(f"{name} point", lambda: (store.point_exists(some), store.point_exists(absent)), (True, False))
    checks.equal(f"{name} delete by name", lambda: store.delete_by_name("name 3"), True)
    checks.equal(f"{name} delete by metadata", lambda: store.delete_by_metadata({"page": 4}), True)
    checks.equal(f"{name} delete by content", lambda: store.delete_by_content_id("cats"), True)
    checks.equal(f"{name} deleted", store.get_count, 1)
    last = lambda: store.delete_by_id(store.client.scroll(name_of(store))[0][0].id)  # noqa: E731
    checks.equal(f"{name} delete by id", last, True)
    checks.equal(f"{name} empty", store.get_count, 0)
    checks.done(f"{name} async", lambda: asyncio.run(async_flow(checks, store)))
    checks.done(f"{name} drop", store.drop)
    checks.equal(f"{name} dropped", store.exists, False)
    checks.done(f"{name} create anew", store.create)
    checks.equal(f"{name} delete", store.delete, True)
    checks.equal(f"{name} deleted as a whole", store.exists, False)
    checks.done(f"{name} close", store.close)


def name_of(store: Qdrant) -> str:
    return store.collection


async def async_flow(checks: Checks, store: Qdrant) -> None:
    """A client of its own for this loop."""
    store._async_client = None
    await store.async_drop()
    dropped = await store.async_exists()
    await store.async_create()
    made = await store.async_exists()
    checks.equal("async exists", lambda: (dropped, made), (False, True))
    await store.async_insert("hash", documents())
    await store.async_upsert("hash", documents()[:1])
    exists = await store.async_name_exists("name 1"), await store.async_name_exists("name 2")
    checks.equal("async names", lambda: exists, (True, False))
    found = await store.async_search("a cat", 4, {"page": 1})
    checks.equal("async search", lambda: contents(found), TEXTS[:1])
    await store.async_close()


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    logging.disable()
    stand_in_for_fastembed()
    checks = Checks()
    for kind in SearchType:
        store = Qdrant(
            f"agno-{kind.value}",
            embedder=LetterEmbedder(),
            search_type=kind,
            url=url,
            api_key=token,
            timeout=REQUEST_TIMEOUT,
        )
        try_store(checks, kind, store)
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
