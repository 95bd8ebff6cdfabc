"""
Compares KithDB with the in-memory mode of qdrant-client, an independent implementation of the same interface.

    python compare.py URL TOKEN [SEED]

Prints one JSON object: how much was compared by group, where the answers differ, and the intended differences
(docs/compatibility.md) that were left out, with their reasons. Exit code 1 if anything differs.
"""

from __future__ import annotations

import json
import random
import sys
import warnings

from comparison import Comparison
from diversity import compare_diversity
from documents import points
from facets import compare_facets, compare_matrices
from filters import compare_filters
from forms import compare_forms
from formulas import compare_formulas
from fusions import compare_fusions
from methods import RecordingClient, compare_methods
from multivectors import compare_multivectors
from qdrant_client import QdrantClient, models
from queries import compare_lookups, compare_queries
from searches import compare_distances, compare_reading
from sparse import compare_sparse
from updates import compare_refusals, compare_updates

POINTS = 250
SIZES = {"image": 4, "text": 3}

# Seconds; the client would give up after 5, and this machine may be busy.
REQUEST_TIMEOUT = 60


def main(url: str, token: str, seed: int) -> int:
    # A client that finds the server's version incompatible says so by a warning: then this fails.
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
    warnings.filterwarnings("ignore", message="Local mode performs exact")
    warnings.filterwarnings("ignore", message="`recreate_collection` method is deprecated")
    ours = RecordingClient(url=url, api_key=token, timeout=REQUEST_TIMEOUT)
    comparison = Comparison(ours, QdrantClient(":memory:"))

    collection = "documents"
    config = {name: models.VectorParams(size=size, distance=models.Distance.COSINE) for name, size in SIZES.items()}
    comparison.same("collections", "exists", lambda client: client.collection_exists(collection))
    comparison.same("collections", "create", lambda client: client.create_collection(collection, config))
    comparison.same("collections", "exists", lambda client: client.collection_exists(collection))
    comparison.same("collections", "list", lambda client: client.get_collections())
    rows = points(random.Random(seed), POINTS, SIZES)
    comparison.same("upsert", "documents", lambda client: client.upsert(collection, rows, wait=True).status)
    comparison.same("collections", "vectors", lambda client: client.get_collection(collection).config.params.vectors)
    comparison.same("collections", "points", lambda client: client.get_collection(collection).points_count)

    compare_filters(comparison, collection, seed)
    compare_reading(comparison, collection, seed)
    compare_distances(comparison, seed)
    compare_queries(comparison, seed)
    compare_lookups(comparison, seed)
    compare_fusions(comparison, seed)
    compare_diversity(comparison, seed)
    compare_formulas(comparison, seed)
    compare_forms(comparison, seed)
    compare_sparse(comparison, seed)
    compare_multivectors(comparison, seed)
    compare_facets(comparison, seed)
    compare_matrices(comparison, seed)
    compare_updates(comparison, seed)
    compare_refusals(comparison)
    compare_methods(comparison, ours)

    comparison.same("collections", "delete", lambda client: client.delete_collection(collection))
    comparison.same("collections", "delete again", lambda client: client.delete_collection(collection))
    comparison.same("collections", "list again", lambda client: sorted(c.name for c in client.get_collections().collections))
    report = {
        "seed": seed,
        "compared": comparison.compared,
        "differences": comparison.differences,
        "skipped": comparison.skipped,
    }
    print(json.dumps(report, indent=2, ensure_ascii=False))
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1))
