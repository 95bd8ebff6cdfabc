"""
Every tool of mcp-server-qdrant, called through a client of the protocol.

    python mcp_server_flow.py URL TOKEN
"""

from __future__ import annotations

import asyncio
import sys
import warnings

from checks import Checks, letters
from fastmcp import Client
from mcp_server_qdrant.embeddings.base import EmbeddingProvider
from mcp_server_qdrant.mcp_server import QdrantMCPServer
from mcp_server_qdrant.settings import FilterableField, QdrantSettings, ToolSettings

TEXTS = ["a cat sat on a mat", "dogs dig", "quick brown fox"]


class LetterProvider(EmbeddingProvider):
    async def embed_documents(self, documents: list[str]) -> list[list[float]]:
        return [letters(text) for text in documents]

    async def embed_query(self, query: str) -> list[float]:
        return letters(query)

    def get_vector_name(self) -> str:
        return "letters"

    def get_vector_size(self) -> int:
        return 26


def server(url: str, token: str, **more: object) -> QdrantMCPServer:
    settings = QdrantSettings(QDRANT_URL=url, QDRANT_API_KEY=token, **more)
    return QdrantMCPServer(ToolSettings(), settings, embedding_provider=LetterProvider())


def text_of(answer: object) -> str:
    return " ".join(part.text for part in getattr(answer, "content", answer))


async def try_default(checks: Checks, made: QdrantMCPServer) -> None:
    """A collection that the settings name, with a field of its own to filter by."""
    async with Client(made) as client:
        names = sorted(tool.name for tool in await client.list_tools())
        checks.equal("tools", lambda: names, ["qdrant-find", "qdrant-store"])
        nothing = text_of(await client.call_tool("qdrant-find", {"query": "dogs", "page": 1}))
        checks.equal("find before the first", lambda: "<entry>" in nothing, False)
        for page, text in enumerate(TEXTS):
            stored = await client.call_tool("qdrant-store", {"information": text, "metadata": {"page": page}})
            said = text_of(stored)
            checks.equal(f"store {page}", lambda: said.startswith("Remembered"), True)
        found = text_of(await client.call_tool("qdrant-find", {"query": "dogs dig", "page": 1}))
        checks.equal("find", lambda: ("dogs dig" in found, "fox" in found), (True, False))
    names = await made.qdrant_connector.get_collection_names()
    checks.equal("collections", lambda: "mcp" in names, True)


async def try_any(checks: Checks, made: QdrantMCPServer) -> None:
    """A collection that each call names, and filters of Qdrant's form."""
    async with Client(made) as client:
        for text in TEXTS:
            await client.call_tool(
                "qdrant-store", {"information": text, "collection_name": "mcp-any", "metadata": {"n": len(text)}}
            )
        query = {"query": "dogs dig", "collection_name": "mcp-any"}
        found = text_of(await client.call_tool("qdrant-find", query))
        checks.equal("find in any", lambda: found.index("dogs dig") < found.index("fox"), True)
        query["query_filter"] = {"must": [{"key": "metadata.n", "range": {"gt": 15}}]}
        filtered = text_of(await client.call_tool("qdrant-find", query))
        checks.equal("find filtered", lambda: ("cat" in filtered, "fox" in filtered), (True, False))


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    checks = Checks()
    field = FilterableField(name="page", description="Its page", field_type="integer", condition="==")
    made = server(url, token, COLLECTION_NAME="mcp", filterable_fields=[field])
    checks.done("default collection", lambda: asyncio.run(try_default(checks, made)))
    other = server(url, token, QDRANT_ALLOW_ARBITRARY_FILTER=True)
    checks.done("any collection", lambda: asyncio.run(try_any(checks, other)))
    read_only = server(url, token, COLLECTION_NAME="mcp", QDRANT_READ_ONLY=True)

    async def names() -> list[str]:
        async with Client(read_only) as client:
            return [tool.name for tool in await client.list_tools()]

    checks.equal("read-only", lambda: asyncio.run(names()), ["qdrant-find"])
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
