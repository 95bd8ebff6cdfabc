//! The operations that an engine executes, by their stable names.

/// One operation. The names are shared with `src/engine/types.ts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the operation of that name in the contract")]
pub enum Operation {
    ListCollections,
    CollectionInfo,
    CreateCollection,
    UpdateCollection,
    DeleteCollection,
    CollectionExists,
    UpsertPoints,
    RetrievePoints,
    GetPoint,
    DeletePoints,
    UpdateVectors,
    DeleteVectors,
    SetPayload,
    OverwritePayload,
    DeletePayload,
    ClearPayload,
    BatchUpdate,
    CreateFieldIndex,
    DeleteFieldIndex,
    Search,
    SearchBatch,
    Query,
    QueryBatch,
    Scroll,
    Count,
    Recommend,
    RecommendBatch,
    Discover,
    DiscoverBatch,
    CollectionStatus,
    Flush,
    Optimize,
    CollectionClusterInfo,
    Optimizations,
    Facet,
    MatrixPairs,
    MatrixOffsets,
    CloneCollection,
    CreateVectorName,
    DeleteVectorName,
    SearchGroups,
    QueryGroups,
    RecommendGroups,
    ListAliases,
    CollectionAliases,
    ChangeAliases,
    RebuildIndex,
    ProjectPoints,
    SyncPoints,
    PlanSync,
    ReembedVectors,
    Reembedding,
    CommitReembedding,
    AbortReembedding,
    /// Which fields are being embedded anew. Called by the worker of an embedding process, not by an endpoint.
    ListReembeddings,
    /// The next texts of a field to embed. Called by the same worker.
    NextTexts,
    /// Writes the vectors of such texts. Called by the same worker.
    FillVectors,
    /// Checkpoints the collection and links its files into a folder. Called by a process that makes snapshots, not by an
    /// endpoint.
    LinkSnapshot,
    /// Makes collections from such folders. Called by a process that recovers snapshots, not by an endpoint.
    AdoptFolders,
    /// Which operations a replica has, and a digest of its points. Called by a node of a cluster, not by an endpoint.
    ReplicaState,
    /// Removes points of a replica whose time has come by a time. A record of a cluster, not called by an endpoint.
    RemoveExpired,
}

/// Every operation with its name on the boundary and its name in messages about deadlines.
const NAMES: [(Operation, &str, &str); 61] = [
    (Operation::ListCollections, "list_collections", "List collections"),
    (Operation::CollectionInfo, "collection_info", "Collection info"),
    (Operation::CreateCollection, "create_collection", "Create collection"),
    (Operation::UpdateCollection, "update_collection", "Update collection"),
    (Operation::DeleteCollection, "delete_collection", "Delete collection"),
    (Operation::CollectionExists, "collection_exists", "Collection exists"),
    (Operation::UpsertPoints, "upsert_points", "Upsert"),
    (Operation::RetrievePoints, "retrieve_points", "Retrieve"),
    (Operation::GetPoint, "get_point", "Retrieve"),
    (Operation::DeletePoints, "delete_points", "Delete"),
    (Operation::UpdateVectors, "update_vectors", "Update vectors"),
    (Operation::DeleteVectors, "delete_vectors", "Delete vectors"),
    (Operation::SetPayload, "set_payload", "Set payload"),
    (Operation::OverwritePayload, "overwrite_payload", "Overwrite payload"),
    (Operation::DeletePayload, "delete_payload", "Delete payload"),
    (Operation::ClearPayload, "clear_payload", "Clear payload"),
    (Operation::BatchUpdate, "batch_update", "Batch update"),
    (Operation::CreateFieldIndex, "create_field_index", "Create field index"),
    (Operation::DeleteFieldIndex, "delete_field_index", "Delete field index"),
    (Operation::Search, "search", "Search"),
    (Operation::SearchBatch, "search_batch", "Search"),
    (Operation::Query, "query", "Query"),
    (Operation::QueryBatch, "query_batch", "Query"),
    (Operation::Scroll, "scroll", "Scroll"),
    (Operation::Count, "count", "Count"),
    (Operation::Recommend, "recommend", "Recommend"),
    (Operation::RecommendBatch, "recommend_batch", "Recommend"),
    (Operation::Discover, "discover", "Discover"),
    (Operation::DiscoverBatch, "discover_batch", "Discover"),
    (Operation::CollectionStatus, "collection_status", "Collection status"),
    (Operation::Flush, "flush", "Flush"),
    (Operation::Optimize, "optimize", "Optimize"),
    (Operation::CollectionClusterInfo, "collection_cluster_info", "Collection cluster info"),
    (Operation::Optimizations, "optimizations", "Optimizations"),
    (Operation::Facet, "facet", "Facet"),
    (Operation::MatrixPairs, "matrix_pairs", "Search matrix"),
    (Operation::MatrixOffsets, "matrix_offsets", "Search matrix"),
    (Operation::CloneCollection, "clone_collection", "Clone collection"),
    (Operation::CreateVectorName, "create_vector_name", "Create vector name"),
    (Operation::DeleteVectorName, "delete_vector_name", "Delete vector name"),
    (Operation::SearchGroups, "search_groups", "Search groups"),
    (Operation::QueryGroups, "query_groups", "Query groups"),
    (Operation::RecommendGroups, "recommend_groups", "Recommend groups"),
    (Operation::ListAliases, "list_aliases", "List aliases"),
    (Operation::CollectionAliases, "collection_aliases", "Collection aliases"),
    (Operation::ChangeAliases, "change_aliases", "Change aliases"),
    (Operation::RebuildIndex, "rebuild_index", "Rebuild index"),
    (Operation::ProjectPoints, "project_points", "Projection"),
    (Operation::SyncPoints, "sync_points", "Sync"),
    (Operation::PlanSync, "plan_sync", "Sync plan"),
    (Operation::ReembedVectors, "reembed_vectors", "Re-embedding"),
    (Operation::Reembedding, "reembedding", "Re-embedding"),
    (Operation::CommitReembedding, "commit_reembedding", "Commit of a re-embedding"),
    (Operation::AbortReembedding, "abort_reembedding", "Abort of a re-embedding"),
    (Operation::ListReembeddings, "list_reembeddings", "Re-embeddings"),
    (Operation::NextTexts, "next_texts", "Texts to embed"),
    (Operation::FillVectors, "fill_vectors", "New vectors"),
    (Operation::LinkSnapshot, "link_snapshot", "Snapshot"),
    (Operation::AdoptFolders, "adopt_folders", "Recovery"),
    (Operation::ReplicaState, "replica_state", "State of a replica"),
    (Operation::RemoveExpired, "remove_expired", "Removal of expired points"),
];

impl Operation {
    /// The operation of that name.
    pub fn parse(name: &str) -> Option<Operation> {
        NAMES.iter().find(|(_, known, _)| *known == name).map(|(operation, ..)| *operation)
    }

    /// The operation at a place of [`Operation::names`].
    pub fn at(place: usize) -> Option<Operation> {
        NAMES.get(place).map(|(operation, ..)| *operation)
    }

    /// Its place: see [`Operation::at`].
    pub fn place(self) -> usize {
        NAMES.iter().position(|(operation, ..)| *operation == self).unwrap_or_default()
    }

    /// The names on the boundary, in the order that [`Operation::at`] counts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name, _)| *name)
    }

    /// The name on the boundary.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(operation, ..)| *operation == self).map_or("", |(_, name, _)| name)
    }

    /// The name in messages.
    pub fn title(self) -> &'static str {
        NAMES.iter().find(|(operation, ..)| *operation == self).map_or("Operation", |(.., title)| title)
    }

    /// Whether it changes anything.
    pub fn is_write(self) -> bool {
        use Operation::*;
        matches!(
            self,
            CreateCollection
                | UpdateCollection
                | DeleteCollection
                | UpsertPoints
                | DeletePoints
                | UpdateVectors
                | DeleteVectors
                | SetPayload
                | OverwritePayload
                | DeletePayload
                | ClearPayload
                | BatchUpdate
                | SyncPoints
                | CreateFieldIndex
                | DeleteFieldIndex
                | ChangeAliases
                | CloneCollection
                | CreateVectorName
                | DeleteVectorName
                | ReembedVectors
                | CommitReembedding
                | AbortReembedding
                | FillVectors
                | AdoptFolders
                | RemoveExpired
        )
    }

    /// Whether it updates points: each request for itself, and all or nothing.
    pub fn updates_points(self) -> bool {
        use Operation::*;
        matches!(
            self,
            UpsertPoints
                | DeletePoints
                | UpdateVectors
                | DeleteVectors
                | SetPayload
                | OverwritePayload
                | DeletePayload
                | ClearPayload
                | BatchUpdate
        )
    }

    /// Whether it may come from a replicated stream, and bring its position there: a write of one collection that depends on
    /// nothing but its body and the state before it.
    pub fn takes_position(self) -> bool {
        use Operation::*;
        self.updates_points()
            || matches!(
                self,
                CreateFieldIndex
                    | DeleteFieldIndex
                    | UpdateCollection
                    | CreateVectorName
                    | DeleteVectorName
                    | RemoveExpired
            )
    }

    /// Whether it asks for work on files or graphs, or waits for it, and changes nothing that a read sees.
    pub fn is_maintenance(self) -> bool {
        use Operation::*;
        matches!(self, Flush | Optimize | RebuildIndex | LinkSnapshot)
    }

    /// Whether it searches.
    pub fn is_search(self) -> bool {
        use Operation::*;
        matches!(
            self,
            Search
                | SearchBatch
                | SearchGroups
                | Query
                | QueryBatch
                | QueryGroups
                | Recommend
                | RecommendBatch
                | RecommendGroups
                | Discover
                | DiscoverBatch
        )
    }

    /// Whether it may run on the thread of its caller (`Engine::answer_here`): a read that changes nothing and is mostly short.
    pub fn may_run_here(self) -> bool {
        use Operation::*;
        matches!(self, Search | Query | RetrievePoints | GetPoint | Count)
    }

    /// Whether it reads points. Requests for a collection's state are not urgent, and clients poll them.
    pub fn reads_points(self) -> bool {
        use Operation::*;
        let of_collections = matches!(
            self,
            ListCollections
                | CollectionInfo
                | CollectionExists
                | CollectionStatus
                | CollectionClusterInfo
                | Optimizations
                | Reembedding
                | ListReembeddings
                | ListAliases
                | CollectionAliases
        );
        !self.is_write() && !self.is_maintenance() && !of_collections
    }
}
