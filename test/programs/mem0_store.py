"""
Every call of mem0's vector store for Qdrant, its keyword search with a stand-in for fastembed's encoder.

    python mem0_store.py URL TOKEN
"""

from __future__ import annotations

import sys
import warnings

from checks import REQUEST_TIMEOUT, Checks, letters, stand_in_for_fastembed
from mem0.vector_stores.qdrant import Qdrant
from qdrant_client import QdrantClient

IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 5)]
TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]
PAYLOADS = [
    {"data": text, "user_id": user, "page": page, "created_at": f"2026-01-0{page}T00:00:00Z"}
    for text, user, page in zip(TEXTS, ["ada", "ada", "bob", "bob"], range(1, 5))
]

# Filters as mem0 documents them, and the pages that they find.
FILTERS = [
    ({"user_id": "ada"}, [1, 2]),
    ({"user_id": "*"}, [1, 2, 3, 4]),
    ({"page": [1, 4]}, [1, 4]),
    ({"page": {"eq": 3}}, [3]),
    ({"user_id": {"ne": "ada"}}, [3, 4]),
    ({"page": {"gt": 1, "lte": 3}}, [2, 3]),
    ({"created_at": {"gte": "2026-01-03T00:00:00Z"}}, [3, 4]),
    ({"user_id": {"in": ["ada", "eve"]}}, [1, 2]),
    ({"user_id": {"nin": ["ada", "eve"]}}, [3, 4]),
    ({"data": {"contains": "cat"}}, [1, 2]),
    ({"data": {"icontains": "fox"}}, [4]),
    ({"OR": [{"page": 1}, {"user_id": "bob"}]}, [1, 3, 4]),
    ({"AND": [{"user_id": "bob"}, {"page": {"lt": 4}}]}, [3]),
    ({"NOT": [{"user_id": "ada"}]}, [3, 4]),
]


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    stand_in_for_fastembed()
    checks = Checks()
    client = QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    store = Qdrant("mem0", 26, client=client, on_disk=True)
    data = lambda hits: [hit.payload["data"] for hit in hits]  # noqa: E731
    checks.done("insert", lambda: store.insert([letters(text) for text in TEXTS], PAYLOADS, IDS))
    checks.equal("search", lambda: data(store.search("cat", letters(TEXTS[0]), top_k=2)), TEXTS[:2])
    for filters, pages in FILTERS:
        found = lambda: sorted(hit.payload["page"] for hit in store.search("", letters("cat"), 4, filters))  # noqa: E731
        checks.equal(f"search by {filters}", found, pages)
    batch = lambda: [data(hits) for hits in store.search_batch(["", ""], [letters(t) for t in TEXTS[2:]])]  # noqa: E731
    checks.equal("search in a batch", batch, [TEXTS[2:3], TEXTS[3:]])
    checks.equal("search in a batch, not one by one", lambda: len(client.query_batch_points("mem0", [])), 0)
    checks.equal("keyword search", lambda: data(store.keyword_search("a brown fox", top_k=1)), [TEXTS[3]])
    checks.equal(
        "keyword search of a user",
        lambda: data(store.keyword_search("cat fox", 4, {"user_id": "bob"})),
        [TEXTS[3]],
    )
    checks.equal("get", lambda: store.get(IDS[2]).payload["data"], TEXTS[2])
    checks.equal("get an absent one", lambda: store.get("00000000-0000-4000-8000-0000000000ff"), None)
    checks.equal("list", lambda: sorted(r.payload["page"] for r in store.list(top_k=100)[0]), [1, 2, 3, 4])
    checks.equal("list of a user", lambda: sorted(data(store.list({"user_id": "ada"})[0])), TEXTS[:2])
    checks.done("update", lambda: store.update(IDS[0], letters("zebra"), {"data": "zebra", "page": 1}))
    checks.equal("updated", lambda: data(store.search("", letters("zebra"), 1)), ["zebra"])
    checks.equal("updated words", lambda: data(store.keyword_search("zebra")), ["zebra"])
    checks.done("update payload", lambda: store.update(IDS[1], payload={"page": 7}))
    checks.equal("updated payload", lambda: store.get(IDS[1]).payload["page"], 7)
    checks.done("update vector", lambda: store.update(IDS[1], vector=letters("owl")))
    checks.equal("updated vector", lambda: data(store.search("", letters("owl"), 1)), [TEXTS[1]])
    checks.done("delete", lambda: store.delete(IDS[0]))
    checks.equal("deleted", lambda: store.get(IDS[0]), None)
    checks.equal("collections", lambda: "mem0" in [c.name for c in store.list_cols().collections], True)
    checks.equal("collection", lambda: store.col_info().points_count, 3)
    again = Qdrant("mem0", 26, url=url, api_key=token)
    checks.equal("existing collection", lambda: data(again.keyword_search("dogs")), [TEXTS[2]])
    checks.done("reset", store.reset)
    checks.equal("empty", lambda: store.list()[0], [])
    checks.done("delete collection", store.delete_col)
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
