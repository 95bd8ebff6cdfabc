/** The faults of docs/faults.md, each with the test that must detect it: the cases of the suite `faults`, in this order. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from '../../build/tree.mjs';

const { TYPESCRIPT_FAULTS } = createRequire(import.meta.url)('../../../test/faults/typescript.cjs');

/**
 * A test that must detect a fault: of a Rust test program (`lib` has the unit tests of the engine) by its full name, or of
 * a file for Jest by a part of its name.
 *
 * @typedef {{kind: 'rust', program: string, name: string} | {kind: 'jest', file: string, name: string}} Test
 */

const unit = (name) => ({ kind: 'rust', program: 'lib', name });
const program = (name) => (test) => ({ kind: 'rust', program: name, name: test });
const jest = (file) => (name) => ({ kind: 'jest', file: `test/${file}.test.ts`, name });

const powerCut = program('power_cut');
const directed = (name) => powerCut(`directed::${name}`);
/** 500 programs: a fault of which few programs come to speak is detected by them all the same. */
const programs = powerCut('nothing_acknowledged_is_lost_and_nothing_refused_appears_c1_7_c11_3');
const levels = (name) => program('durability')(`levels::${name}`);
const [graphs, supervision, engine, clones, names, expiry, cursors, token] = [
  'graphs',
  'supervision',
  'engine',
  'clones',
  'vector_names',
  'expiry',
  'cursors',
  'token_limits',
].map(program);
const heavyWrites = program('heavy_writes');
const [reembedding, stringIds, residency] = ['reembedding', 'string_ids', 'residency'].map(program);
const arrow = (name) => unit(`api::tests::arrow::${name}`);
const query = (name) => unit(`query::tests::${name}`);
const order = jest('disk/order');
const loopCredentials = jest('event-loops/shared-memory')(
  'are looked up again once anything was revoked, also while they were looked up',
);
const [storeChange, storeDamage, catalog, tokens, admin] = [
  'auth/store-change',
  'auth/store-damage',
  'auth/catalog',
  'auth/tokens',
  'auth/admin',
].map(jest);

/** @type {Record<string, Test>} */
export const DETECTED_BY = {
  LogNotSynced: directed('what_wait_false_acknowledges_survives_a_power_cut_c5'),
  SegmentNameNotSynced: directed('what_wait_false_acknowledges_survives_a_power_cut_c5'),
  SegmentNotSynced: levels(
    'a_power_cut_loses_only_the_last_unsynced_operations_and_a_kill_loses_nothing_c4_3',
  ),
  SegmentEndsUnsynced: levels(
    'a_power_cut_loses_only_the_last_unsynced_operations_and_a_kill_loses_nothing_c4_3',
  ),
  AnsweredBeforeSync: directed('a_failed_sync_stops_writes_and_not_reads_until_the_engine_is_opened_again'),
  AnsweredBeforeTheOneAhead: unit(
    'wal::tests::group::many_threads_on_a_real_disk_keep_the_order_of_their_collection',
  ),
  FailedSyncAnswered: directed('a_failed_sync_stops_writes_and_not_reads_until_the_engine_is_opened_again'),
  FailedSyncTriedAgain: directed('a_failed_sync_stops_writes_and_not_reads_until_the_engine_is_opened_again'),
  AppendNotRolledBack: programs,
  RollBackNotSynced: unit('wal::tests::crashes::records_that_recovery_did_not_find_never_come_back'),
  LsnsOfFailedSkipped: programs,
  IntervalNeverSynced: unit('wal::tests::group::interval_is_synced_without_further_writes'),
  StopNotSynced: unit('wal::tests::group::closing_syncs_everything_and_refuses_more'),
  LevelInForceTooEarly: levels('a_patch_of_the_level_is_as_durable_as_the_stricter_of_the_two_c4_4'),
  LogCutTooFar: programs,
  LogCutUnderWrites: unit(
    'collection::log_position::tests::the_log_is_kept_for_a_write_that_no_view_has_yet',
  ),
  CutMarkLost: directed('a_manifest_that_only_the_cache_knows_is_made_durable_before_the_log_is_cut'),
  SleepForgetsRecords: residency('what_only_the_log_has_is_in_a_checkpoint_before_a_collection_sleeps_c24'),
  WakeTakesOlderState: residency('a_collection_does_not_wake_in_an_older_state_c24'),
  SleepersNeverExpire: residency('points_of_a_collection_that_sleeps_come_to_their_end_c17_c24'),
  InfoWakes: residency('a_collection_gives_its_memory_back_and_the_first_request_for_points_wakes_it_c24'),
  WrongBodyAccepted: unit('wal::tests::decay::a_flip_of_any_bit_is_reported'),
  LastGroupTrusted: programs,
  TruncationTrusted: unit('wal::tests::crashes::records_that_recovery_did_not_find_never_come_back'),
  LsnUsedAgain: unit('wal::tests::an_lsn_that_a_checkpoint_holds_is_never_given_out_again'),
  NumberUsedAgain: directed('a_manifest_that_only_the_cache_knows_is_made_durable_before_the_log_is_cut'),
  GapAccepted: unit('checkpoint::opening::tests::a_record_behind_one_that_is_missing_is_not_applied'),
  LostManifestIsEmpty: directed('a_manifest_that_is_gone_is_noticed_although_the_log_was_cut_c10_2'),
  CachedManifestTrusted: directed(
    'a_manifest_that_only_the_cache_knows_is_made_durable_before_the_log_is_cut',
  ),
  CachedCatalogTrusted: directed(
    'a_catalog_that_only_the_cache_knows_is_made_durable_before_it_is_relied_on_c3_8',
  ),
  SparseIndexLost: programs,
  DataNotSynced: directed('a_first_checkpoint_survives_a_power_cut_whole'),
  DataNamesNotSynced: order('syncs the data files of a checkpoint, and their names, before its manifest'),
  ReplacementNotSynced: directed('a_first_checkpoint_survives_a_power_cut_whole'),
  ReplacementNameNotSynced: directed('a_first_checkpoint_survives_a_power_cut_whole'),
  NewFolderNotSynced: directed('a_first_checkpoint_survives_a_power_cut_whole'),
  CheckpointAheadOfLog: levels(
    'a_power_cut_loses_only_the_last_unsynced_operations_and_a_kill_loses_nothing_c4_3',
  ),
  DoubtfulFilesRemoved: directed('the_files_of_a_manifest_that_may_be_in_force_are_kept'),
  ChangedPayloadMovedBack: programs,
  KeptPayloadsNotNamed: program('repair')('a_repair_keeps_what_verifies_names_the_rest_and_sets_it_aside'),
  AddedRowsLeftOut: directed('a_manifest_that_only_the_cache_knows_is_made_durable_before_the_log_is_cut'),
  MovedRowsLeftOut: programs,
  DecayGetsChecksum: program('damage')(
    'served::bytes_that_are_copied_forward_are_verified_and_decay_quarantines_the_collection',
  ),
  FieldsOfManifestKept: names('vectors_of_every_kind_are_added_and_removed_and_points_keep_the_rest_c4_8'),
  GraphCoversOtherRows: engine('a_graph_that_is_written_while_rows_wait_for_it_covers_none_of_them'),
  PatchNotLogged: programs,
  FieldsNotLogged: names('vectors_of_every_kind_are_added_and_removed_and_points_keep_the_rest_c4_8'),
  RefusedGroupLeavesDeaths: programs,
  RefusedGroupStays: directed('a_full_disk_refuses_writes_until_there_is_room_and_serves_reads_c1_5'),
  RefusedRequestLeavesDeaths: programs,
  RefusedRequestLeavesPostings: programs,
  IndexWithoutCatchUp: program('field_indexes')(
    'writes_and_searches_go_on_while_indexes_are_built_and_dropped_c5_12',
  ),
  AutoIndexMissesWrites: program('auto_indexes')('an_automatic_index_is_kept_current_by_writes_c23'),
  AutoIndexInSchema: program('auto_indexes')(
    'filters_that_cost_more_than_an_index_get_one_and_nothing_else_changes_c23',
  ),
  RewriteCoversTail: programs,
  RewriteLosesRows: unit(
    'field::rewriting::tests::a_row_whose_node_no_link_leads_to_is_in_the_rewritten_graph',
  ),
  MovedRowStaysAlive: programs,
  ChunkDroppedUnderNodes: programs,
  GenerationNotNoted: directed(
    'a_generation_of_the_store_of_authentication_is_noted_whole_or_not_at_all_c3_8',
  ),
  DeletedFolderStays: program('durability')(
    'health_issues::files_that_cannot_be_removed_are_reported_and_tried_again',
  ),
  CopyNotMarked: clones('a_crash_leaves_a_whole_clone_or_none_c26'),
  LeftoverFolderStays: directed('a_deleted_collection_stays_deleted_wherever_the_power_goes_c4_5'),
  AliasesNotSaved: powerCut(
    'aliases::aliases_are_in_the_checkpoint_of_the_catalog_and_end_with_their_collection_c12',
  ),
  AliasNameTaken: powerCut(
    'aliases::aliases_are_in_the_checkpoint_of_the_catalog_and_end_with_their_collection_c12',
  ),
  AliasOutlivesCollection: powerCut(
    'aliases::aliases_are_in_the_checkpoint_of_the_catalog_and_end_with_their_collection_c12',
  ),
  DeletionListedTooEarly: directed('a_deletion_that_fails_leaves_the_collection_where_it_was_c4_5'),
  ReserveNotReleased: unit('storage::reserve::tests::once_released_growth_waits_for_twice_the_room'),
  WritesDoNotResume: directed('a_full_disk_refuses_writes_until_there_is_room_and_serves_reads_c1_5'),
  BackupLacksSegments: powerCut(
    'commands::a_backup_that_is_staged_under_writes_has_every_write_that_was_acknowledged_before',
  ),
  RepairRemovesSources: powerCut('commands::a_repair_that_was_cut_short_is_finished_by_the_next_one'),
  SyncDirDoesNothing: order('syncs the data files of a checkpoint, and their names, before its manifest'),
  ChecksumsNotCompared: program('scrub')('damaged_data_quarantine_their_collection_and_say_what_to_do'),
  EverySearchScans: engine('a_graph_and_a_scan_agree_and_survive_a_restart'),
  TailNotScanned: program('concurrency')('every_point_is_found_while_it_is_being_indexed'),
  DeadRowsFound: query('plans::plans_differ_in_what_they_cost_and_not_in_what_they_answer'),
  OriginalsNotRead: graphs('what_codes_estimate_is_answered_only_where_codes_were_asked_for_c6_2'),
  SampleNotShuffled: unit('query::tests::trees::a_sample_of_all_points_has_each_of_their_orders_c6_3'),
  NothingGivenUp: unit('deadline::tests::a_request_is_given_up_when_its_client_has_disconnected'),
  BackgroundPoisonDropped: supervision('a_panic_in_any_background_task_is_survived_and_counted'),
  MapFaultsIgnored: program('map_faults')('no_checkpoint_and_no_write_follows_what_was_read_of_a_cut_file'),
  ParsingNotWatched: program('deadlines')('a_body_whose_client_leaves_is_not_read_to_its_end'),
  HeavyStaysLight: unit(
    'engine::pool::tests::a_job_that_becomes_heavy_leaves_its_place_to_another_until_its_lane_is_full',
  ),
  TurnsNotLimited: unit(
    'scheduling::run_queue::tests::one_that_is_given_up_waits_no_longer_and_takes_no_turn',
  ),
  SlicesNotEnded: unit(
    'scheduling::run_queue::tests::a_pause_is_due_at_the_end_of_a_slice_and_when_processors_are_wanted',
  ),
  ReadsNotYieldedTo: unit('scheduling::tests::background_threads_pause_while_reads_want_processors'),
  EveryWriteIsLight: heavyWrites('writes_are_classed_by_what_their_filters_may_cost'),
  GroupNotEnded: heavyWrites('a_small_write_does_not_wait_for_a_long_one_behind_it'),
  GroupTimeIgnored: heavyWrites('a_group_ends_when_its_time_is_over_whatever_comes_behind_it'),
  OldReportAnswered: program('reports')('a_report_that_is_asked_for_is_younger_than_the_question'),
  ReportForEachCaller: program('reports')('callers_that_accept_an_older_report_cause_no_further_one'),
  PanicEndsThread: unit('supervision::tests::a_thread_goes_on_after_a_panic_and_each_is_counted'),
  MemoryNotLimited: unit(
    'memory::tests::growth_is_refused_at_nine_tenths_and_taken_up_again_below_85_hundredths',
  ),
  NotHurried: jest('crash/kill')('a server of these tests is hurried'),
  StoreNotSynced: storeChange('is made by a connection that syncs, with a journal whose damage is seen'),
  StoreHasLog: storeChange('is made by a connection that syncs, with a journal whose damage is seen'),
  DigestNotSynced: storeChange('is synced, the digest before the commit and its name after it'),
  DigestNameNotSynced: storeChange('is synced, the digest before the commit and its name after it'),
  DigestNotCompared: storeDamage('is closed by every older copy of the store, whatever stands beside it'),
  CatalogNotCompared: catalog('is refused, and so is a copy, where the store is older'),
  CatalogNotNoted: catalog('is noted when it is durable, and a comparison notes what was changed before'),
  UnknownStateOpens: storeDamage(
    'is closed by the digest file of other changes, and by a state that nobody knows',
  ),
  FailuresNotCounted: jest('auth/limits')('lets five failures pass, then doubles the pause up to a minute'),
  DeletedTokenKnown: tokens('makes the token invalid before the answer'),
  ExpiredTokenTaken: tokens('C3.15: is invalid from the second of its expiry on'),
  LongJwtTaken: admin('is invalid when its life is longer than the setting'),
  OldJwtTaken: admin('ends every JWT issued before, even in the same second'),
  ForwardedIsLocal: admin('cannot be created by a remote caller, whatever a proxy calls the client'),
  SecondCredentialTaken: jest('http/permissions')('C3.3 takes no credential that is sent twice'),
  AddressNotShared: jest('http/shares')('are a share of each address beyond a half, except for small bodies'),
  CredentialNotShared: jest('http/shares')(
    'are a share of each credential beyond a half, wherever it is used',
  ),
  StartQueueBypassed: jest('http/start-order')(
    'start in turn: that of one does not wait for all that the other has queued',
  ),
  EveryProxyTrusted: jest('http/client-address')('is that of the peer, whose headers do not count'),
  FirstForwardedTaken: jest('http/client-address')(
    'behind a trusted proxy is the last of X-Forwarded-For that none set',
  ),
  GrowthNotCharged: jest('http/gathered-body')(
    'doubles its room however small its chunks are, and charges what it has',
  ),
  AnnouncedCharged: jest('http/gathered-body')(
    'has room for what has arrived, at most twice as much, and never for more than its length',
  ),
  PaceNotWatched: jest('http/slow-bodies')('are given up when they slow down after a fast start'),
  NewestConnectionCut: jest('http/connection-limit')(
    'is the one of those that send nothing that was opened first, not the new one',
  ),
  IdlestConnectionKept: jest('http/connection-limit')('is the one that is idle for longest'),
  StopWaitsForever: jest('process/owner')('ends at its time although the stop hangs'),
  BodyNotLimited: jest('http/framing')('and what is behind it is not executed'),
  ExpiredCounted: expiry('a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17'),
  RemovalNotLogged: expiry('removal_is_a_write_that_is_counted_and_stays_c17'),
  VersionsNotCompared: program('conditional_writes')(
    'a_write_whose_versions_do_not_hold_changes_nothing_and_names_the_points_c25',
  ),
  SkippedNotListed: program('conditional_writes')(
    'an_update_lists_what_it_skipped_and_a_repeat_does_too_c25',
  ),
  SyncDeletesOutsideScope: program('source_sync')(
    'wholes::a_sync_adds_updates_leaves_alone_and_deletes_in_one_record_c20',
  ),
  SyncSplitInTwoRecords: directed('a_sync_is_there_whole_or_not_at_all_whenever_the_power_goes_c20'),
  SyncRevisionNotCompared: program('source_sync')(
    'rules::any_write_to_the_scope_changes_its_revision_and_no_other_does_c20',
  ),
  StagedSyncsNotNoted: program('source_sync')('parts::parts_that_a_restart_lost_delete_nothing_c20'),
  StagedPartsForgotten: program('source_sync')(
    'parts::a_last_part_without_all_parts_before_it_deletes_nothing_c20',
  ),
  FacetOutsideToken: token('a_facet_counts_what_the_caller_may_reach_c15'),
  ProjectionOutsideToken: token('a_projection_shows_what_the_caller_may_reach_c15'),
  SearchOutsideToken: token('searches_and_prefetches_find_what_the_caller_may_reach_c15'),
  UpdateOutsideToken: token('an_update_by_a_filter_changes_what_the_caller_may_reach_c15'),
  AliasBatchHalved: powerCut('aliases::a_batch_of_changes_is_whole_wherever_the_power_goes_c12'),
  CopyForgetsWriters: clones('a_clone_has_what_its_source_had_and_both_go_on_alone_c26'),
  CopyWithoutCheckpoint: clones('a_clone_has_what_its_source_had_and_both_go_on_alone_c26'),
  LinksNotRemoved: clones('a_snapshot_that_is_linked_again_has_the_files_of_the_second_time_c12'),
  AdoptionHalved: clones('a_crash_during_a_recovery_leaves_what_was_or_what_is_to_be_c12'),
  DoubtfulCopyRemoved: clones('a_disk_that_fails_during_a_clone_leaves_none_behind_c26'),
  FilesEmptiedFirst: program('damage')(
    'links::the_end_of_one_of_two_that_share_their_files_leaves_the_other_whole_c26',
  ),
  OldTimeKept: unit('state::expiry::tests::points_are_due_from_their_time_on_until_they_are_gone_c17'),
  TimesLostAtStart: expiry('a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17'),
  UnexpiredViewKept: expiry('a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17'),
  BatchFindsExpired: expiry(
    'a_point_that_a_batch_writes_with_a_time_that_has_passed_is_absent_for_the_rest_of_it_c17',
  ),
  GroupsHaveExpired: expiry('a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17'),
  ProjectionHasExpired: expiry('a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17'),
  GroupsOutsideFilter: token('a_walk_for_groups_has_what_the_caller_may_reach_c15'),
  GroupFilledOutsideFilter: query('groups::groups_are_those_of_all_hits_c12'),
  TailOutsideGroups: query('group_walks::groups_are_those_of_the_present_points_while_points_change_c12'),
  GroupLeftUnfilled: query('group_walks::a_grouped_query_is_one_walk_that_leaves_few_groups_unfilled_c12'),
  GroupKeysOutdated: query('group_walks::groups_are_those_of_the_present_points_while_points_change_c12'),
  GroupHasHitTwice: query('groups::a_point_that_an_ordering_finds_twice_is_one_hit_of_its_group_c12'),
  ContributionsDoubled: query('explain::contributions_add_up_to_the_score_c13'),
  FailedConditionHidden: query('explain::each_missing_point_is_missing_for_the_reason_that_is_given_c13'),
  RankOfPage: query('explain::each_missing_point_is_missing_for_the_reason_that_is_given_c13'),
  TermsHashedOtherwise: unit(
    'embedding::tests::a_document_has_the_weights_of_its_stems_without_stop_words_c16',
  ),
  CursorForAnyone: cursors('unknown_cursors_and_those_of_others_are_not_found_c22'),
  CursorOfAnyOperation: cursors('unknown_cursors_and_those_of_others_are_not_found_c22'),
  CursorSeesLaterWrites: cursors(
    'pages_of_every_read_are_those_of_the_first_view_whatever_is_written_between_c22',
  ),
  CursorShowsExpired: cursors('a_page_leaves_out_what_has_expired_since_the_first_c17_c22'),
  CursorOutsideToken: cursors('a_caller_with_a_filter_finds_its_points_on_every_page_c15_c22'),
  CursorRepeatsHits: cursors('pages_of_a_walk_repeat_and_miss_nothing_beside_one_answer_c22'),
  CursorPagesOverlap: cursors(
    'pages_of_every_read_are_those_of_the_first_view_whatever_is_written_between_c22',
  ),
  CursorNeverEnds: cursors('a_cursor_ends_with_its_time_c22'),
  CursorsNotLimited: cursors('too_many_cursors_are_refused_and_those_that_are_open_go_on_c22'),
  CursorBytesNotLimited: cursors(
    'cursors_that_hold_too_much_back_are_refused_and_those_that_are_open_go_on_c22',
  ),
  HeldBackNotCounted: cursors('what_a_cursor_holds_back_is_counted_and_bounded_by_what_was_there_c22'),
  ProjectionOutsideFilter: query('projection::a_sample_has_points_that_match_and_have_the_vector_c6_10'),
  ProjectionOfFirst: query('projection::a_map_follows_from_its_seed_c6_10'),
  ProjectionWithoutTail: query(
    'projection::points_that_the_graph_lacks_have_their_neighbours_all_the_same_c6_10',
  ),
  ProjectionsNotLimited: unit(
    'engine::projections::tests::more_than_may_be_made_at_a_time_are_refused_c6_10',
  ),
  QueryMeasuredTwice: unit('field::calibration::tests::of_many_searches_few_are_kept'),
  CalibrationOfOtherGraph: unit(
    'field::calibration::tests::a_calibration_of_another_graph_or_of_a_table_that_changed_is_not_used',
  ),
  BoundOfRecallIgnored: unit(
    'field::calibration::tests::a_width_is_chosen_only_where_the_lower_bound_reaches_the_target_too',
  ),
  OwnPointMeasured: query('recall::the_point_whose_vector_is_searched_for_does_not_count_as_found_c14'),
  CollectionOutsideToken: token('a_caller_reaches_no_other_collection_than_its_own_c15'),
  GroupsOutsideToken: token('groups_have_what_the_caller_may_reach_c15'),
  GroupLookupOutsideToken: token('a_point_beside_a_group_is_one_that_the_caller_may_reach_c15'),
  MatrixOutsideToken: token('lists_counts_and_matrices_have_what_the_caller_may_reach_c15'),
  CountOutsideToken: token('lists_counts_and_matrices_have_what_the_caller_may_reach_c15'),
  ScrollOutsideToken: token('lists_counts_and_matrices_have_what_the_caller_may_reach_c15'),
  RetrieveOutsideToken: token('lists_counts_and_matrices_have_what_the_caller_may_reach_c15'),
  ExampleOutsideToken: token('a_point_that_the_caller_may_not_reach_is_absent_as_an_example_c15'),
  WriteLeavesToken: token('a_write_leaves_no_point_where_the_caller_may_not_reach_c15'),
  InfoCountsOutsideToken: token('lists_counts_and_matrices_have_what_the_caller_may_reach_c15'),
  LimitsNotPassed: jest('contract/token-limits')('C15 every read sees only points that match'),
  CallerNotPassed: jest('contract/cursors')(
    'C22 a cursor of another credential is the 404 of an unknown one',
  ),
  SnapshotChecksumIgnored: jest('contract/snapshots')(
    'C12 an upload does the same, and what is damaged or foreign is a 400 that changes nothing',
  ),
  DimensionNotChecked: jest('contract/model-endpoints')(
    'C16 answer 502 with the name of the model and the place, and never the key',
  ),
  LimitsNotForServer: jest('contract/token-limits')(
    'C15 what is about the whole server needs a token without limits',
  ),
  MisspeltLimitTaken: tokens('C15 refuses a limit that is misspelt, and makes no token without it'),
  OrdersNotAudited: jest('http/audit-log')('has what commands on the machine asked the control socket for'),
  NewVectorOfOldText: reembedding(
    'vectors_of_a_text_that_was_written_over_are_dropped_and_versions_stay_c19',
  ),
  StaleVectorsTaken: reembedding('vectors_of_a_text_that_was_written_over_are_dropped_and_versions_stay_c19'),
  BegunNotCompared: reembedding('vectors_of_an_earlier_re_embedding_are_refused_by_the_next_one_c19'),
  NewVectorsNotLogged: reembedding('new_vectors_are_there_after_a_power_cut_without_a_checkpoint_c19'),
  MissingNotLookedFor: reembedding(
    'points_without_a_text_keep_a_commit_from_happening_unless_that_is_allowed_c19',
  ),
  CommitForgetsModel: reembedding(
    'a_field_is_embedded_anew_beside_its_old_vectors_and_a_commit_puts_the_new_ones_in_place_c19',
  ),
  AbortIgnored: reembedding('an_abort_leaves_nothing_that_a_client_sees_c19'),
  DigitsAreIntegers: stringIds(
    'rules::the_same_digits_are_another_point_as_a_string_and_a_uuid_is_answered_as_given_c21',
  ),
  EqualStartsAreEqual: stringIds('random::random_operations_leave_what_a_simple_model_has_c21'),
  LongIdsCut: stringIds('files::a_snapshot_and_a_release_of_the_files_keep_the_ids_c21'),
  TokenNamesStringsOnly: stringIds('rules::the_filter_of_a_token_names_ids_of_any_collection_c21'),
  StringIdsUnannounced: stringIds(
    'files::only_files_with_string_ids_have_the_version_that_earlier_releases_refuse_c21',
  ),
  NullIdIsZero: arrow('ids_are_integers_texts_or_bytes_c2_1_c5_13'),
  ArrowPointsNotLimited: arrow('limits_hold_for_streams_c2_7_c5_13'),
  ArrowBytesNotLimited: arrow('what_a_stream_becomes_is_bounded_and_charged_c2_7_c5_13'),
  LaterBatchesLeftOut: arrow('a_row_is_a_point_c5_13'),
  BatchesNotHalved: jest('models/reembedder')(
    'C19 one text that the model refuses is found by halves, and the others are embedded',
  ),
  RateNotKept: jest('models/reembedder')('C19 a field with a rate waits while another one goes on'),
  LoopRemembersRevoked: loopCredentials,
  LateLookupRemembered: loopCredentials,
  LoopNeverClosed: loopCredentials,
};

const HARNESS = { NotHurried: 'The servers of the kill tests work in the background as those of users do.' };

/** The faults of the engine: name and sentence, as `crates/engine/src/faults.rs` lists them. */
export function engineFaults() {
  const source = readFileSync(join(root, 'crates', 'engine', 'src', 'faults.rs'), 'utf8');
  const listed = /^planted_faults! \{\n(.*?)^\}/ms.exec(source)?.[1] ?? '';
  const found = listed.matchAll(/^ {4}\/\/\/ (.*)\n {4}(\w+),$/gm);
  return Object.fromEntries([...found].map(([, what, name]) => [name, what]));
}

/** Every fault and what it is. */
export function allFaults() {
  const inTypeScript = Object.entries(TYPESCRIPT_FAULTS).map(([name, { what }]) => [name, what]);
  return { ...engineFaults(), ...HARNESS, ...Object.fromEntries(inTypeScript) };
}
