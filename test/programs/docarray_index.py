"""
Every call of docarray's document index for Qdrant.

    python docarray_index.py URL TOKEN

With pydantic 2 docarray cannot index documents that hold documents; with pydantic 1 the client refuses the vectors of its
query builder. Each is tried where it works.
"""

from __future__ import annotations

import sys
import warnings
from urllib.parse import urlsplit

import numpy
import pydantic
from checks import REQUEST_TIMEOUT, Checks, letters
from docarray import BaseDoc, DocList
from docarray.index import QdrantDocumentIndex
from docarray.typing import NdArray
from pydantic import Field
from qdrant_client import models

# Of pydantic.
IS_FIRST = pydantic.VERSION.startswith("1.")

TEXTS = ["a cat sat on a mat", "a cat sat on a mat again", "dogs dig", "quick brown fox"]


class Page(BaseDoc):
    text: str
    number: int
    embedding: NdArray[26] = Field(space="cosine")


class Book(BaseDoc):
    title: str
    pages: DocList[Page]


def pages() -> DocList[Page]:
    return DocList[Page](
        [
            Page(id=f"page {n}", text=text, number=n, embedding=numpy.array(letters(text)))
            for n, text in enumerate(TEXTS, start=1)
        ]
    )


def texts(found: object) -> list[str]:
    """Of a result with scores, of documents, or of dictionaries."""
    documents = getattr(found, "documents", found)
    return [document["text"] if isinstance(document, dict) else document.text for document in documents]


def over(number: int) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key="number", range=models.Range(gt=number))])


def refusal(call: object) -> str:
    try:
        call()
    except KeyError as error:
        return type(error).__name__
    return "none"


def try_index(checks: Checks, index: QdrantDocumentIndex) -> None:
    near = lambda text: numpy.array(letters(text))  # noqa: E731
    checks.done("index", lambda: index.index(pages()))
    checks.equal("count", index.num_docs, 4)
    checks.equal("get", lambda: index["page 3"].text, TEXTS[2])
    checks.equal("get several", lambda: texts(index[["page 1", "page 2"]]), TEXTS[:2])
    checks.equal("get an absent one", lambda: refusal(lambda: index["page 9"]), "KeyError")
    checks.equal("contains", lambda: pages()[0] in index, True)
    found = lambda text, k=1: texts(index.find(near(text), search_field="embedding", limit=k))  # noqa: E731
    checks.equal("find", lambda: found(TEXTS[0], 2), TEXTS[:2])
    queries = numpy.array([letters(TEXTS[2]), letters(TEXTS[3])])
    batch = lambda: index.find_batched(queries, search_field="embedding", limit=1).documents  # noqa: E731
    checks.equal("find batched", lambda: [texts(documents) for documents in batch()], [TEXTS[2:3], TEXTS[3:]])
    checks.equal("filter", lambda: sorted(texts(index.filter(over(2), limit=4))), sorted(TEXTS[2:]))
    several = lambda: [len(d) for d in index.filter_batched([over(2), over(0)], limit=4)]  # noqa: E731
    checks.equal("filter batched", several, [2, 4])
    checks.equal("text search", lambda: texts(index.text_search("fox", search_field="text")), TEXTS[3:])
    searches = lambda: index.text_search_batched(["fox", "dogs"], search_field="text").documents  # noqa: E731
    checks.equal("text search batched", lambda: [texts(d) for d in searches()], [TEXTS[3:], TEXTS[2:3]])
    if not IS_FIRST:
        query = index.build_query().find(near("a cat"), search_field="embedding").filter(over(1))
        both = query.text_search("again", search_field="text").build(limit=2)
        checks.equal("query", lambda: texts(index.execute_query(both)), [TEXTS[1]])
    only_filter = index.build_query().filter(over(3)).build(limit=2)
    checks.equal("query without a vector", lambda: texts(index.execute_query(only_filter)), [TEXTS[3]])
    raw = {"vector": ("embedding", letters("dogs dig")), "limit": 1, "with_vectors": True, "params": {"exact": True}}
    checks.equal("raw query", lambda: texts(index.execute_query(raw)), [TEXTS[2]])
    condition = {"key": "number", "range": {"gt": 3}}
    raw_filter = {"filter": {"must": [condition]}, "limit": 1, "with_vectors": True}
    checks.equal("raw filter", lambda: texts(index.execute_query(raw_filter)), [TEXTS[3]])
    checks.done("delete", lambda: index.__delitem__("page 1"))
    checks.equal("deleted", index.num_docs, 3)
    checks.equal("delete an absent one", lambda: refusal(lambda: index.__delitem__("page 1")), "KeyError")


def try_nested(checks: Checks, index: QdrantDocumentIndex) -> None:
    """An index of documents that hold documents has one collection for each kind."""
    checks.done("index books", lambda: index.index(DocList[Book]([Book(id="book", title="Owls", pages=pages())])))
    found = lambda: index.find_subindex(numpy.array(letters("dogs dig")), "pages", "embedding", 1)  # noqa: E731
    checks.equal("find in books", lambda: texts(found().sub_documents), [TEXTS[2]])
    checks.equal("book", lambda: len(index["book"].pages), 4)
    checks.done("delete a book", lambda: index.__delitem__("book"))
    checks.equal("no book", index.num_docs, 0)


def main(url: str, token: str) -> None:
    warnings.simplefilter("ignore")
    checks = Checks()

    def index_of(kind: type[BaseDoc], collection: str) -> QdrantDocumentIndex:
        at = {"host": urlsplit(url).hostname, "port": urlsplit(url).port, "https": False, "api_key": token}
        config = QdrantDocumentIndex.DBConfig(
            collection_name=collection, prefer_grpc=False, timeout=REQUEST_TIMEOUT, **at
        )
        return QdrantDocumentIndex[kind](config)

    try_index(checks, index_of(Page, "docarray"))
    checks.equal("existing collection", lambda: index_of(Page, "docarray").num_docs(), 3)
    if IS_FIRST:
        try_nested(checks, index_of(Book, "docarray-books"))
    checks.report()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
