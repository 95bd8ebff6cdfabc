"""
Every call of CrewAI's client for Qdrant, and of the search tool of crewai-tools.

    python crewai_store.py URL TOKEN
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import warnings

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_STORAGE_DIR=tempfile.mkdtemp())

from checks import REQUEST_TIMEOUT, Checks, letters  # noqa: E402
from crewai.rag.qdrant.client import QdrantClient  # noqa: E402
from crewai.rag.qdrant.config import QdrantConfig  # noqa: E402
from crewai.rag.qdrant.factory import create_client  # noqa: E402
from crewai_tools import QdrantVectorSearchTool  # noqa: E402
from crewai_tools.tools.qdrant_vector_search_tool.qdrant_search_tool import QdrantConfig as ToolConfig  # noqa: E402
from qdrant_client import AsyncQdrantClient, models  # noqa: E402

VECTORS = models.VectorParams(size=26, distance=models.Distance.COSINE)
IDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(1, 4)]
TEXTS = ["a cat sat on a mat", "dogs dig", "quick brown fox"]
DOCUMENTS = [
    {"doc_id": id_, "content": text, "metadata": {"kind": kind}}
    for id_, text, kind in zip(IDS, TEXTS, ["pet", "pet", "wild"])
]


def refusal(call: object) -> str:
    try:
        call()
    except ValueError as error:
        return str(error)
    return "none"


def contents(found: list[dict]) -> list[str]:
    return [hit["content"] for hit in found]


def try_sync(checks: Checks, client: QdrantClient) -> None:
    name = {"collection_name": "crewai"}
    checks.done("create", lambda: client.create_collection(**name, vectors_config=VECTORS, on_disk_payload=True))
    exists = "Collection 'crewai' already exists"
    checks.equal("create again", lambda: refusal(lambda: client.create_collection(**name)), exists)
    checks.equal("get", lambda: client.get_or_create_collection(**name).points_count, 0)
    made = lambda: client.get_or_create_collection(collection_name="crewai-2", vectors_config=VECTORS)  # noqa: E731
    checks.equal("get or create", lambda: made().config.params.vectors.size, 26)
    checks.done("add", lambda: client.add_documents(**name, documents=DOCUMENTS, batch_size=2))
    found = lambda **more: contents(client.search(**name, **more))  # noqa: E731
    checks.equal("search", lambda: found(query="dogs dig", limit=1), [TEXTS[1]])
    wild = {"metadata_filter": {"kind": "wild"}, "score_threshold": -1}
    checks.equal("search filtered", lambda: found(query="dogs", **wild), [TEXTS[2]])
    checks.equal("search by score", lambda: found(query="quick brown fox", score_threshold=0.95), [TEXTS[2]])
    checks.done("delete", lambda: client.delete_collection(**name))
    absent = "Collection 'crewai' does not exist"
    checks.equal("search an absent one", lambda: refusal(lambda: found(query="dogs")), absent)
    checks.done("reset", client.reset)
    checks.equal("nothing left", lambda: client.client.get_collections().collections, [])


async def try_async(checks: Checks, client: QdrantClient) -> None:
    name = {"collection_name": "crewai-async"}
    await client.acreate_collection(**name, vectors_config=VECTORS)
    info = await client.aget_or_create_collection(**name)
    checks.equal("async get", lambda: info.points_count, 0)
    await client.aadd_documents(**name, documents=DOCUMENTS)
    found = await client.asearch(**name, query="dogs dig", limit=1)
    checks.equal("async search", lambda: contents(found), [TEXTS[1]])
    await client.adelete_collection(**name)
    await client.areset()
    left = await client.client.get_collections()
    checks.equal("async nothing left", lambda: left.collections, [])


def try_tool(checks: Checks, url: str, token: str, client: QdrantClient) -> None:
    client.create_collection(collection_name="crewai-tool", vectors_config=VECTORS)
    points = [
        models.PointStruct(id=n, vector=letters(text), payload={"text": text, "metadata": {"page": n}, "page": n})
        for n, text in enumerate(TEXTS)
    ]
    client.client.upsert("crewai-tool", points)
    config = ToolConfig(qdrant_url=url, qdrant_api_key=token, collection_name="crewai-tool", limit=1, score_threshold=-1)
    tool = QdrantVectorSearchTool(qdrant_config=config, custom_embedding_fn=letters)
    found = lambda **more: [hit["context"] for hit in json.loads(tool.run(**more))]  # noqa: E731
    checks.equal("tool", lambda: found(query="dogs dig"), [TEXTS[1]])
    checks.equal("tool filtered", lambda: found(query="dogs dig", filter_by="page", filter_value=2), [TEXTS[2]])


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    checks = Checks()
    options = {"url": url, "api_key": token, "timeout": REQUEST_TIMEOUT}
    client = create_client(QdrantConfig(options=options, embedding_function=letters, score_threshold=0.5))
    try_sync(checks, client)
    aclient = AsyncQdrantClient(**options)
    checks.done("async", lambda: asyncio.run(try_async(checks, QdrantClient(aclient, letters))))
    try_tool(checks, url, token, client)
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
