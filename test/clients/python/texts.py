"""Texts that the server makes vectors of, as the client sends them: `texts.py URL`. Prints the ids that a query finds."""

from __future__ import annotations

import json
import sys

from qdrant_client import QdrantClient, models

COLLECTION = "texts"


def document(text: str) -> models.Document:
    return models.Document(text=text, model="letters")


def main(url: str) -> None:
    client = QdrantClient(url=url, cloud_inference=True, timeout=60)
    vectors = {"d": models.VectorParams(size=3, distance=models.Distance.COSINE)}
    client.create_collection(COLLECTION, vectors_config=vectors)
    points = [
        models.PointStruct(id=1, vector={"d": document("aaaa")}),
        models.PointStruct(id=2, vector={"d": document("bbbb")}),
    ]
    client.upsert(COLLECTION, points)
    found = client.query_points(COLLECTION, query=document("bbb"), using="d", limit=1).points
    liked = models.RecommendQuery(recommend=models.RecommendInput(positive=[document("aaa")]))
    recommended = client.query_points(COLLECTION, query=liked, using="d", limit=1).points
    prefetch = models.Prefetch(query=document("a"), using="d", limit=1)
    fused = client.query_points(COLLECTION, prefetch=[prefetch], query=models.FusionQuery(fusion=models.Fusion.RRF)).points
    print(json.dumps([[point.id for point in points] for points in (found, recommended, fused)]))


if __name__ == "__main__":
    main(sys.argv[1])
