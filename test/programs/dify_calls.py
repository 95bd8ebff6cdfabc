"""
The calls that Dify's vector module for Qdrant makes, in its order and with its arguments. No package has that module;
the calls are those of its source (api/core/rag/datasource/vdb/qdrant), made by releases of the client that it is used with.

    python dify_calls.py URL TOKEN
"""

from __future__ import annotations

import sys
import warnings

from checks import REQUEST_TIMEOUT, Checks, letters
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 4)]
TEXTS = ["a cat sat on a mat", "dogs dig", "quick brown fox"]
COLLECTION = "Vector_index_dify_Node"


def matching(key: str, value: str) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=key, match=models.MatchValue(value=value))])


def create(client: QdrantClient) -> None:
    """A collection without a graph of its own, and with one for each group."""
    hnsw = models.HnswConfigDiff(
        m=0, payload_m=16, ef_construct=100, full_scan_threshold=10000, max_indexing_threads=0, on_disk=False
    )
    vectors = models.VectorParams(size=26, distance=models.Distance["COSINE"])
    client.create_collection(COLLECTION, vectors_config=vectors, hnsw_config=hnsw, timeout=120)
    keyword = models.PayloadSchemaType.KEYWORD
    for field in ("group_id", "metadata.doc_id", "metadata.document_id"):
        client.create_payload_index(COLLECTION, field, field_schema=keyword, field_type=keyword)
    text = models.TextIndexParams(
        type=models.TextIndexType.TEXT,
        tokenizer=models.TokenizerType.MULTILINGUAL,
        min_token_len=2,
        max_token_len=20,
        lowercase=True,
    )
    client.create_payload_index(COLLECTION, "page_content", field_schema=text)


def points(group: str, ids: list[str]) -> list[models.PointStruct]:
    return [
        models.PointStruct(
            id=id_,
            vector=letters(text),
            payload={"page_content": text, "metadata": {"doc_id": id_, "document_id": text[:4]}, "group_id": group},
        )
        for id_, text in zip(ids, TEXTS)
    ]


def try_search(checks: Checks, client: QdrantClient) -> None:
    def by_vector(text: str, k: int, threshold: float = 0.0) -> list[str]:
        found = client.search(
            collection_name=COLLECTION,
            query_vector=letters(text),
            query_filter=matching("group_id", "one"),
            limit=k,
            with_payload=True,
            with_vectors=True,
            score_threshold=threshold,
        )
        return [hit.payload["page_content"] for hit in found if hit.score > threshold]

    def by_text(text: str) -> list[str]:
        condition = models.FieldCondition(key="page_content", match=models.MatchText(text=text))
        both = models.Filter(must=[*matching("group_id", "one").must, condition])
        found, _ = client.scroll(COLLECTION, scroll_filter=both, limit=2, with_payload=True, with_vectors=True)
        return [record.payload["page_content"] for record in found]

    checks.equal("search", lambda: by_vector("dogs dig", 4)[0], "dogs dig")
    checks.equal("search by score", lambda: by_vector("dogs dig", 4, 0.9), ["dogs dig"])
    checks.equal("full text", lambda: by_text("Brown FOX"), ["quick brown fox"])
    checks.equal("full text of nothing", lambda: by_text("zebra"), [])


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    checks = Checks()
    client = QdrantClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    delete = lambda key, value: client.delete(  # noqa: E731
        COLLECTION, points_selector=models.FilterSelector(filter=matching(key, value))
    )
    exists = lambda id_: len(client.retrieve(COLLECTION, ids=[id_])) > 0  # noqa: E731
    count = lambda: client.count(COLLECTION).count  # noqa: E731
    names = lambda: [collection.name for collection in client.get_collections().collections]  # noqa: E731
    checks.equal("not there", lambda: COLLECTION in names(), False)
    checks.done("create", lambda: create(client))
    checks.equal("there", lambda: COLLECTION in names(), True)
    checks.done("add", lambda: client.upsert(COLLECTION, points("one", IDS)))
    others = [id_.replace("8000", "9000") for id_ in IDS]
    checks.done("add to another group", lambda: client.upsert(COLLECTION, points("two", others)))
    try_search(checks, client)
    checks.equal("text exists", lambda: (exists(IDS[0]), exists(IDS[0].replace("4", "5"))), (True, False))
    checks.done("delete by document", lambda: delete("metadata.document_id", "dogs"))
    checks.equal("deleted by document", count, 4)
    checks.done("delete by id", lambda: delete("metadata.doc_id", IDS[0]))
    checks.equal("deleted by id", count, 3)
    checks.done("delete the group", lambda: delete("group_id", "one"))
    checks.equal("deleted the group", count, 2)
    client.delete_collection(COLLECTION)

    def status() -> int:
        try:
            delete("group_id", "one")
        except UnexpectedResponse as error:
            return error.status_code
        return 200

    checks.equal("delete from an absent collection", status, 404)
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
