//! Faults that tests plant into the engine, one at a time, to see that a test detects each: see docs/faults.md.
//!
//! They are switches of the build with the feature `testing`, chosen when the process starts by the name in the variable
//! [`VARIABLE`], so that one compile serves all of them. In the product none is ever planted: the conditions are constants
//! there, and the compiler leaves the faults out.

/// Says which fault is planted into this process. Any other text than the name of a fault plants none.
#[cfg(feature = "testing")]
const VARIABLE: &str = "PLANTED_FAULT";

macro_rules! planted_faults {
    ($($(#[$what:meta])+ $name:ident,)+) => {
        /// A fault that can be planted; what it is stands beside its name.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum PlantedFault {
            $($(#[$what])+ $name,)+
        }

        #[cfg(feature = "testing")]
        impl PlantedFault {
            const NAMES: &[(&str, PlantedFault)] = &[$((stringify!($name), PlantedFault::$name),)+];
        }
    };
}

planted_faults! {
    // The log.
    /// The log is not synced.
    LogNotSynced,
    /// The name of a new segment of the log is not synced.
    SegmentNameNotSynced,
    /// A new segment of the log is not synced before it gets its name.
    SegmentNotSynced,
    /// A segment of the log is not synced before the next one begins.
    SegmentEndsUnsynced,
    /// A write is answered before the sync that it asked for.
    AnsweredBeforeSync,
    /// A write that needs no sync is answered before one of its collection that waits for it.
    AnsweredBeforeTheOneAhead,
    /// A write whose sync failed is answered with success.
    FailedSyncAnswered,
    /// After a failed sync the log takes further writes.
    FailedSyncTriedAgain,
    /// What a failed append has written stays in the segment.
    AppendNotRolledBack,
    /// A failed append is taken back without a sync.
    RollBackNotSynced,
    /// The numbers of records that failed are left out.
    LsnsOfFailedSkipped,
    /// A log under `interval` is not synced unless something else asks for it.
    IntervalNeverSynced,
    /// The log is not synced when it is closed.
    StopNotSynced,
    /// A change of the level of durability counts for itself.
    LevelInForceTooEarly,
    /// One record more is cut from the log than is durable elsewhere.
    LogCutTooFar,
    /// The log is cut under a write that no view has yet.
    LogCutUnderWrites,
    /// The mark of how far the log was cut is not written.
    CutMarkLost,
    // Residency.
    /// A collection falls asleep with records that only the log has.
    SleepForgetsRecords,
    /// A collection that wakes takes a checkpoint that is older than its sleep.
    WakeTakesOlderState,
    /// Points of collections that sleep do not expire.
    SleepersNeverExpire,
    /// The info wakes a collection.
    InfoWakes,
    // Recovery.
    /// The body of a record is taken although its checksum is wrong.
    WrongBodyAccepted,
    /// The last group of the log is relied on without being written again.
    LastGroupTrusted,
    /// The end of a log that was cut shorter is relied on without a sync.
    TruncationTrusted,
    /// Numbers of records that only a checkpoint knows are given again.
    LsnUsedAgain,
    /// The number of a collection that only the log knows is given again.
    NumberUsedAgain,
    /// A record is applied although the one before it is missing.
    GapAccepted,
    /// A collection whose manifest is lost opens empty.
    LostManifestIsEmpty,
    /// A manifest that is perhaps in the page cache only is relied on.
    CachedManifestTrusted,
    /// A catalog that is perhaps in the page cache only is relied on.
    CachedCatalogTrusted,
    /// The index of a sparse field is not built again at a start.
    SparseIndexLost,
    // Checkpoints.
    /// A data file is not synced.
    DataNotSynced,
    /// The names of data files are not synced before the manifest.
    DataNamesNotSynced,
    /// A manifest, catalog or mark is not synced before it takes the place of the one before.
    ReplacementNotSynced,
    /// The name of a manifest, catalog or mark is not synced.
    ReplacementNameNotSynced,
    /// The names of new folders are not synced.
    NewFolderNotSynced,
    /// A checkpoint has writes that the log may lose.
    CheckpointAheadOfLog,
    /// The files of a manifest that may be in force are removed.
    DoubtfulFilesRemoved,
    /// A payload that was changed while a checkpoint was written becomes what it was before.
    ChangedPayloadMovedBack,
    /// Payloads that stay in an older file are not in the manifest.
    KeptPayloadsNotNamed,
    /// Rows that were added to a chunk since the last checkpoint are left out.
    AddedRowsLeftOut,
    /// The new places of rows that a vacuum moved are left out.
    MovedRowsLeftOut,
    /// Bytes are copied forward without being verified, and get a fresh checksum.
    DecayGetsChecksum,
    /// The manifest before is taken to have the fields of the configuration now.
    FieldsOfManifestKept,
    /// A graph on disk is said to cover rows that it does not have.
    GraphCoversOtherRows,
    // Writes, indexes, vacuum.
    /// A change of the configuration is not in the log.
    PatchNotLogged,
    /// A field that is added or removed is not in the log.
    FieldsNotLogged,
    /// Deaths of a group that the log refused stay.
    RefusedGroupLeavesDeaths,
    /// A group that the log refused stays in the head.
    RefusedGroupStays,
    /// Deaths of a request that was refused stay.
    RefusedRequestLeavesDeaths,
    /// Postings of a request that was refused stay in the index of a sparse field.
    RefusedRequestLeavesPostings,
    /// A field index is used without what was changed while it was built.
    IndexWithoutCatchUp,
    /// An automatic index does not receive writes, neither while it is built nor afterwards.
    AutoIndexMissesWrites,
    /// The schema of a collection has its automatic indexes.
    AutoIndexInSchema,
    /// A graph that was rewritten is said to cover the rows behind it.
    RewriteCoversTail,
    /// Rows that a rewrite of a graph did not reach are not put into it again.
    RewriteLosesRows,
    /// A row that a vacuum moved stays alive in its old place.
    MovedRowStaysAlive,
    /// A chunk of rows is dropped while a graph has nodes of it.
    ChunkDroppedUnderNodes,
    // Catalog, disk, commands.
    /// The catalog's file is not written for a generation of the store of authentication.
    GenerationNotNoted,
    /// The files of a deleted collection stay.
    DeletedFolderStays,
    /// The files of a collection stay that was deleted before a crash.
    LeftoverFolderStays,
    /// The catalog's file has no aliases.
    AliasesNotSaved,
    /// A collection may be created under a name that is an alias.
    AliasNameTaken,
    /// The aliases of a deleted collection stay.
    AliasOutlivesCollection,
    /// The folder of a clone is not marked before it is filled.
    CopyNotMarked,
    /// The catalog leaves out a collection whose deletion may still fail.
    DeletionListedTooEarly,
    /// The reserve of the disk is not given back when the disk is full.
    ReserveNotReleased,
    /// Writes do not go on when a full disk has room again.
    WritesDoNotResume,
    /// A backup has only the last segment of the log.
    BackupLacksSegments,
    /// A repair removes the files that it is made of before its checkpoint is in force.
    RepairRemovesSources,
    /// The sync of a folder of the real disk does nothing.
    SyncDirDoesNothing,
    /// What is read at a start, or by a scrub, is not compared with its checksum.
    ChecksumsNotCompared,
    // Reads.
    /// Every search is a scan.
    EverySearchScans,
    /// Rows that are not in the graph yet are not searched.
    TailNotScanned,
    /// Rows of vectors that were replaced or deleted are found.
    DeadRowsFound,
    /// Hits of a walk over codes are answered by their estimates.
    OriginalsNotRead,
    /// A random sample comes in the order in which it was drawn.
    SampleNotShuffled,
    /// A body is read to its end although nobody waits for the answer any more.
    ParsingNotWatched,
    /// No request is given up: not at its deadline, not without its client, not for a stop.
    NothingGivenUp,
    // Health.
    /// A background task that failed halfway through a change leaves its collection open to writes.
    BackgroundPoisonDropped,
    /// Zeros in place of a page that could not be read are taken for data.
    MapFaultsIgnored,
    /// A background thread ends with its first panic.
    PanicEndsThread,
    /// A request that has become heavy keeps its place in the light lane.
    HeavyStaysLight,
    /// Any number of heavy requests run at a time.
    TurnsNotLimited,
    /// A heavy request runs to its end once it has a turn.
    SlicesNotEnded,
    /// Background work does not yield to reads.
    ReadsNotYieldedTo,
    /// Every write is taken for a light one.
    EveryWriteIsLight,
    /// What was accepted waits for a long write behind it.
    GroupNotEnded,
    /// A group takes as long as the writes in it.
    GroupTimeIgnored,
    /// Who asks for a new report gets the last one.
    OldReportAnswered,
    /// Every caller has a report made.
    ReportForEachCaller,
    /// The limit of memory refuses no growth.
    MemoryNotLimited,
    // Expiry, versions, tokens with limits, aliases, clones.
    /// A facet counts points whose time has come.
    ExpiredCounted,
    /// The removal of points whose time has come is not logged.
    RemovalNotLogged,
    /// A write happens whatever versions its points have.
    VersionsNotCompared,
    /// What an update skipped is not listed.
    SkippedNotListed,
    /// A sync deletes points that are not in its scope.
    SyncDeletesOutsideScope,
    /// A sync has a record of what it writes, and one of what it deletes.
    SyncSplitInTwoRecords,
    /// A sync happens whatever revision its scope has.
    SyncRevisionNotCompared,
    /// A sync takes its last part for the whole source.
    StagedPartsForgotten,
    /// Nothing on the disk says that parts of a sync are in memory.
    StagedSyncsNotNoted,
    /// A facet counts points that the token may not reach.
    FacetOutsideToken,
    /// A projection shows points that the token may not reach.
    ProjectionOutsideToken,
    /// A search finds points that the token may not reach.
    SearchOutsideToken,
    /// An update by a filter changes points that the token may not reach.
    UpdateOutsideToken,
    /// The record of a batch of aliases has the first of them alone.
    AliasBatchHalved,
    /// The manifest of a clone does not say which collection wrote its files.
    CopyForgetsWriters,
    /// A clone and a snapshot have what the last checkpoint had.
    CopyWithoutCheckpoint,
    /// The files of a snapshot stay that an owner of the folder linked that ended.
    LinksNotRemoved,
    /// The record of a recovery has the first of its collections alone.
    AdoptionHalved,
    /// The folder of a copy is removed although its record may be in the log.
    DoubtfulCopyRemoved,
    /// The files of a deleted collection are emptied before they are removed.
    FilesEmptiedFirst,
    // Expiry.
    /// The time that a point had before it was written again still counts.
    OldTimeKept,
    /// The times of points are not read again at a start.
    TimesLostAtStart,
    /// What readers see without expired points stays what it is while time goes on.
    UnexpiredViewKept,
    /// A filter of a batch still matches a point that an earlier update of it has brought to its end.
    BatchFindsExpired,
    /// A grouped query finds points whose time has come.
    GroupsHaveExpired,
    /// A projection shows points whose time has come.
    ProjectionHasExpired,
    // Groups, explanations, texts.
    /// A walk for groups takes rows that the filter excludes.
    GroupsOutsideFilter,
    /// The points of a group that is to be filled are taken although the filter excludes them.
    GroupFilledOutsideFilter,
    /// Rows that are not in the graph yet are left out of a walk for groups.
    TailOutsideGroups,
    /// A group that a walk did not fill is taken to be full.
    GroupLeftUnfilled,
    /// The groups of points that have changed stay what they were.
    GroupKeysOutdated,
    /// A point that an ordering by an array has found twice is twice among the hits of a group.
    GroupHasHitTwice,
    /// The explanation of a fused hit counts its first source twice.
    ContributionsDoubled,
    /// The explanation of a point that a filter excludes says nothing of the filter.
    FailedConditionHidden,
    /// Where a point would be is not its place among all that match.
    RankOfPage,
    /// The terms of a text are hashed in another way than Qdrant's.
    TermsHashedOtherwise,
    // Cursors.
    /// A further page is given to whoever knows its cursor.
    CursorForAnyone,
    /// A further page is given at another endpoint than the first.
    CursorOfAnyOperation,
    /// A further page is one of the collection as it is now.
    CursorSeesLaterWrites,
    /// A page has points whose time has come since the first one.
    CursorShowsExpired,
    /// A page has points that its caller may not reach any more.
    CursorOutsideToken,
    /// A ranking that is extended has the hits again that it had.
    CursorRepeatsHits,
    /// A page begins at the last hit of the one before.
    CursorPagesOverlap,
    /// A cursor does not end with its time.
    CursorNeverEnds,
    /// There is no limit to the number of cursors.
    CursorsNotLimited,
    /// What the open cursors hold back is not limited.
    CursorBytesNotLimited,
    /// What a cursor's view keeps from being freed is not counted.
    HeldBackNotCounted,
    // Projections and calibration.
    /// A projection has points that its filter excludes.
    ProjectionOutsideFilter,
    /// A projection has the first points in place of a sample.
    ProjectionOfFirst,
    /// A projection walks a graph that lacks most of its points.
    ProjectionWithoutTail,
    /// There is no limit to the projections that are made at a time.
    ProjectionsNotLimited,
    /// A query of a search is measured several times.
    QueryMeasuredTwice,
    /// A calibration is used although the graph is another one.
    CalibrationOfOtherGraph,
    /// The width of walks is chosen by the mean of the measured recalls alone.
    BoundOfRecallIgnored,
    /// The point whose vector is searched for counts as found.
    OwnPointMeasured,
    // Tokens with limits.
    /// A token may do everything in every collection.
    CollectionOutsideToken,
    /// A grouped query finds points that the token may not reach.
    GroupsOutsideToken,
    /// A group shows a point of another collection that the token may not reach.
    GroupLookupOutsideToken,
    /// A matrix has points that the token may not reach.
    MatrixOutsideToken,
    /// A count counts points that the token may not reach.
    CountOutsideToken,
    /// A scroll shows points that the token may not reach.
    ScrollOutsideToken,
    /// Points are shown by their ids that the token may not reach.
    RetrieveOutsideToken,
    /// An example may be a point that the token may not reach.
    ExampleOutsideToken,
    /// A write may leave points where the token may not reach.
    WriteLeavesToken,
    /// The info of a collection counts points for a token with a filter.
    InfoCountsOutsideToken,
    // Re-embeddings.
    /// A new vector stays with its point when the text of that becomes another.
    NewVectorOfOldText,
    /// The new vector of a text is taken although the text of its point is another one by now.
    StaleVectorsTaken,
    /// New vectors are taken that belong to an earlier re-embedding of the field.
    BegunNotCompared,
    /// New vectors are not in the log.
    NewVectorsNotLogged,
    /// A re-embedding is committed although points have no new vector.
    MissingNotLookedFor,
    /// The field has no model after the commit of a re-embedding.
    CommitForgetsModel,
    /// A re-embedding that is given up goes on.
    AbortIgnored,
    // String ids.
    /// A string of digits is the id of the integer.
    DigitsAreIntegers,
    /// Strings whose first 15 bytes are the same are one id.
    EqualStartsAreEqual,
    /// The log and checkpoints have the first 15 bytes of a string id alone.
    LongIdsCut,
    /// A UUID in the filter of a token is no id of collections without string ids.
    TokenNamesStringsOnly,
    /// The manifest of a collection with string ids has the version that earlier releases read.
    StringIdsUnannounced,
    // Arrow streams.
    /// A null among the ids is the id 0.
    NullIdIsZero,
    /// There is no limit to the points of an Arrow stream.
    ArrowPointsNotLimited,
    /// There is no limit to the bytes that the points of an Arrow stream take.
    ArrowBytesNotLimited,
    /// The points of an Arrow stream are those of its first batch.
    LaterBatchesLeftOut,
}

impl PlantedFault {
    /// Whether this fault is planted.
    #[cfg(feature = "testing")]
    pub fn is_on(self) -> bool {
        use std::sync::OnceLock;
        static CHOSEN: OnceLock<Option<PlantedFault>> = OnceLock::new();
        let choose = || {
            let name = std::env::var(VARIABLE).ok()?;
            PlantedFault::NAMES.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault)
        };
        *CHOSEN.get_or_init(choose) == Some(self)
    }

    /// Whether this fault is planted: never in the product.
    #[cfg(not(feature = "testing"))]
    #[inline(always)]
    pub const fn is_on(self) -> bool {
        false
    }

    /// Does a step, unless this fault leaves it out.
    ///
    /// # Errors
    /// The errors of the step.
    #[inline(always)]
    pub fn skips<E>(self, step: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if self.is_on() { Ok(()) } else { step() }
    }

    /// The value, or the default where this fault forgets it.
    #[inline(always)]
    pub fn forgets<T: Default>(self, value: T) -> T {
        if self.is_on() { T::default() } else { value }
    }
}
