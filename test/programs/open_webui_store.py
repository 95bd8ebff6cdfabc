"""
Every call of Open WebUI's two modules for Qdrant, one collection a knowledge base and one for all tenants. Its package
needs some hundred others; of its own modules these two need no more than their settings, which are given here.

    python open_webui_store.py URL TOKEN
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
import warnings

from checks import REQUEST_TIMEOUT, Checks, letters

IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 5)]
TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]


def settings(url: str, token: str) -> None:
    """Where Open WebUI reads its environment and its database; its command line is left out."""
    package = types.ModuleType("open_webui")
    package.__path__ = list(importlib.util.find_spec("open_webui").submodule_search_locations)
    sys.modules["open_webui"] = package
    sys.modules["open_webui.config"] = types.SimpleNamespace(
        QDRANT_API_KEY=token,
        QDRANT_COLLECTION_PREFIX="open-webui",
        QDRANT_GRPC_PORT=6334,
        QDRANT_HNSW_M=16,
        QDRANT_ON_DISK=True,
        QDRANT_PREFER_GRPC=False,
        QDRANT_TIMEOUT=REQUEST_TIMEOUT,
        QDRANT_URI=url,
    )
    sys.modules["open_webui.env"] = types.SimpleNamespace(RAG_METADATA_MAX_VALUE_CHARS=None)
    sys.modules["open_webui.utils.misc"] = types.SimpleNamespace(sanitize_text_for_db=lambda text: text)


def items() -> list[dict]:
    return [
        {"id": id_, "text": text, "vector": letters(text), "metadata": {"hash": text[:3], "file_id": f"file {page}"}}
        for page, (id_, text) in enumerate(zip(IDS, TEXTS), start=1)
    ]


def documents(found: object) -> list[str]:
    return found.documents[0]


def try_store(checks: Checks, store: object, name: str) -> None:
    """What both modules do, in a collection or in the part of a tenant."""
    checks.equal(f"{name} absent", lambda: store.has_collection(name), False)
    checks.done(f"{name} insert", lambda: store.insert(name, items()[:3]))
    checks.done(f"{name} upsert", lambda: store.upsert(name, items()[2:]))
    checks.equal(f"{name} there", lambda: store.has_collection(name), True)
    found = lambda text, **more: documents(store.search(name, [letters(text)], **more))  # noqa: E731
    checks.equal(f"{name} search", lambda: found(TEXTS[0], limit=2), TEXTS[:2])
    checks.equal(f"{name} search by file", lambda: found("cat", filter={"file_id": "file 3"}), [TEXTS[2]])
    among = {"file_id": {"$in": ["file 1", "file 4"]}}
    checks.equal(f"{name} search among files", lambda: found("cat", filter=among), [TEXTS[0], TEXTS[3]])
    near = lambda: store.search(name, [letters("dogs dig")], limit=1).distances[0][0] > 0.99  # noqa: E731
    checks.equal(f"{name} distance", near, True)
    checks.equal(f"{name} query", lambda: documents(store.query(name, {"hash": "qui"})), [TEXTS[3]])
    checks.equal(f"{name} query with a limit", lambda: len(documents(store.query(name, {"hash": "a c"}, 1))), 1)
    checks.equal(f"{name} get", lambda: sorted(documents(store.get(name))), sorted(TEXTS))
    checks.done(f"{name} delete", lambda: store.delete(name, ids=IDS[:1]))
    checks.done(f"{name} delete by file", lambda: store.delete(name, filter={"file_id": "file 2"}))
    checks.equal(f"{name} deleted", lambda: sorted(documents(store.get(name))), sorted(TEXTS[2:]))


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    settings(url, token)
    checks = Checks()
    dbs = "open_webui.retrieval.vector.dbs"
    single = importlib.import_module(f"{dbs}.qdrant").QdrantClient()
    try_store(checks, single, "knowledge")
    # It asks for 999,999,999 points where its caller gives no limit.
    everything = lambda: documents(single.search("knowledge", [letters("fox")], limit=None))  # noqa: E731
    checks.equal("search without a limit", everything, [TEXTS[3], TEXTS[2]])
    checks.done("delete collection", lambda: single.delete_collection("knowledge"))
    checks.equal("deleted collection", lambda: single.has_collection("knowledge"), False)
    tenants = importlib.import_module(f"{dbs}.qdrant_multitenancy").QdrantClient()
    names = ["some-knowledge", "user-memory-ada", "file-1", "web-search-1", "0123456789abcde" * 4 + "012"]
    for name in names:
        try_store(checks, tenants, name)
    checks.equal("tenants apart", lambda: documents(tenants.get("file-2")), [])
    checks.done("delete tenant", lambda: tenants.delete_collection("file-1"))
    checks.equal("deleted tenant", lambda: tenants.has_collection("file-1"), False)
    checks.done("reset", tenants.reset)
    checks.equal("nothing left", lambda: tenants.client.get_collections().collections, [])
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
