"""Every method of the client is called: those that have an endpoint by the comparisons, the others to be refused (C9.1)."""

from __future__ import annotations

import inspect
from typing import Any

from comparison import Call, Comparison
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from qdrant_client.models import PointStruct

# Of the client itself: settings, other protocols, models that run here.
LOCAL = {
    "close",
    "get_embedding_size",
    "grpc_collections",
    "grpc_points",
    "http",
    "init_options",
    "list_image_models",
    "list_late_interaction_multimodal_models",
    "list_late_interaction_text_models",
    "list_sparse_models",
    "list_text_models",
}

# What KithDB has no endpoint for: groups of C8 are a 501, all else is unknown (docs/compatibility.md).
NOT_IMPLEMENTED: dict[str, Call] = {
    "create_snapshot": lambda client: client.create_snapshot("methods"),
    "delete_snapshot": lambda client: client.delete_snapshot("methods", "one"),
    "recover_snapshot": lambda client: client.recover_snapshot("methods", "file:///one"),
    "list_full_snapshots": lambda client: client.list_full_snapshots(),
    "delete_full_snapshot": lambda client: client.delete_full_snapshot("one"),
    "create_full_snapshot": lambda client: client.create_full_snapshot(),
    "get_aliases": lambda client: client.get_aliases(),
    "get_collection_aliases": lambda client: client.get_collection_aliases("methods"),
    "list_snapshots": lambda client: client.list_snapshots("methods"),
    "query_points_groups": lambda client: client.query_points_groups("methods", group_by="n", query=[1.0, 0.0]),
    "update_collection_aliases": lambda client: client.update_collection_aliases([]),
}
# A server that is alone is no node of a cluster.
OF_CLUSTER: dict[str, Call] = {
    "cluster_collection_update": lambda client: client.cluster_collection_update(
        "methods", models.DropReplicaOperation(drop_replica=models.Replica(shard_id=0, peer_id=1))
    ),
    "remove_peer": lambda client: client.remove_peer(1),
}
UNKNOWN: dict[str, Call] = {
    "create_shard_key": lambda client: client.create_shard_key("methods", "a"),
    "create_shard_snapshot": lambda client: client.create_shard_snapshot("methods", 0),
    "delete_shard_key": lambda client: client.delete_shard_key("methods", "a"),
    "delete_shard_snapshot": lambda client: client.delete_shard_snapshot("methods", 0, "one"),
    "list_shard_keys": lambda client: client.list_shard_keys("methods"),
    "list_shard_snapshots": lambda client: client.list_shard_snapshots("methods", 0),
    "recover_current_peer": lambda client: client.recover_current_peer(),
    "recover_shard_snapshot": lambda client: client.recover_shard_snapshot("methods", 0, "file:///one"),
}


class RecordingClient(QdrantClient):
    """The client, and the names that were looked up in it."""

    def __init__(self, **settings: Any) -> None:
        self.used: set[str] = set()
        super().__init__(**settings)

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "used":
            self.used.add(name)
        return super().__getattribute__(name)


def compare_methods(comparison: Comparison, client: RecordingClient) -> None:
    """What no other comparison calls. Comes last: then every method has been called."""
    config = models.VectorParams(size=2, distance=models.Distance.DOT)
    rows = [PointStruct(id=n, vector=[n, 1], payload={"n": n}) for n in range(5)]
    comparison.both(lambda client: client.create_collection("methods", vectors_config=config))
    comparison.same("methods", "uploaded", lambda client: uploaded(client, rows))
    comparison.same("methods", "updated", lambda client: updated(client))
    if not client.info().version:
        comparison.differences.append("info: no version")

    # From the reference's memory into KithDB: reads there, creates and writes here.
    source = QdrantClient(":memory:")
    source.create_collection("migrated", vectors_config={"v": config})
    source.upload_points(
        "migrated", [PointStruct(id=n, vector={"v": [n, 1]}, payload={"n": n}) for n in range(20)], wait=True
    )
    source.migrate(client, collection_names=["migrated"])
    source.migrate(comparison.reference, collection_names=["migrated"])
    client.migrate(QdrantClient(":memory:"), collection_names=["migrated"])
    comparison.same(
        "methods", "migrated", lambda client: client.scroll("migrated", limit=50, with_vectors=True)[0]
    )

    single_node(comparison, client)

    for codes, calls in (({501}, NOT_IMPLEMENTED), ({400}, OF_CLUSTER), ({404, 405}, UNKNOWN)):
        for name, call in calls.items():
            comparison.compared["refused methods"] = comparison.compared.get("refused methods", 0) + 1
            try:
                answer = call(client)
            except UnexpectedResponse as error:
                if error.status_code not in codes:
                    comparison.differences.append(f"{name}: {error.status_code} instead of one of {codes}")
            else:
                comparison.differences.append(f"{name}: {answer!r}")
    for collection in ("methods", "migrated"):
        comparison.same("methods", "deleted", lambda client: client.delete_collection(collection))

    public = {name for name, _ in inspect.getmembers(QdrantClient) if not name.startswith("_") and name.islower()}
    forgotten = public - LOCAL - client.used
    if forgotten:
        comparison.differences.append(f"methods that no comparison calls: {sorted(forgotten)}")


def uploaded(client: QdrantClient, rows: list[PointStruct]) -> Any:
    """In columns, as lists and one by one: the same points in the end."""
    client.upload_collection("methods", vectors=[row.vector for row in rows], ids=[row.id for row in rows], wait=True)
    client.upload_points("methods", rows, wait=True)
    return client.scroll("methods", limit=10, with_vectors=True)[0]


def updated(client: QdrantClient) -> Any:
    """Settings that change no answer."""
    # Whether something has changed is answered by KithDB alone.
    client.update_collection(
        "methods",
        optimizers_config=models.OptimizersConfigDiff(indexing_threshold=500),
        hnsw_config=models.HnswConfigDiff(m=8),
        vectors_config={"": models.VectorParamsDiff(on_disk=True)},
        quantization_config=models.Disabled.DISABLED,
    )
    client.recreate_collection("again", vectors_config=models.VectorParams(size=1, distance=models.Distance.DOT))
    return client.delete_collection("again"), client.count("methods")


def single_node(comparison: Comparison, client: QdrantClient) -> None:
    """What the in-memory mode has no answers for."""
    shards = client.collection_cluster_info("methods").local_shards
    answers = [
        client.cluster_status().status,
        client.cluster_telemetry().cluster.enabled,
        [(shard.points_count, shard.state.value) for shard in shards],
        client.get_optimizations("methods").running,
    ]
    if answers != ["disabled", False, [(5, "Active")], []]:
        comparison.differences.append(f"answers of one node: {answers!r}")
