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
const [graphs, supervision, engine, clones, names] = [
  'graphs',
  'supervision',
  'engine',
  'clones',
  'vector_names',
].map(program);
const order = jest('disk/order');
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
  GraphClaimsOtherRows: engine('a_graph_that_is_written_while_rows_wait_for_it_claims_none_of_them'),
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
  RewriteClaimsTail: programs,
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
  DeadRowsFound: programs,
  OriginalsNotRead: graphs('what_codes_estimate_is_answered_only_where_codes_were_asked_for_c6_2'),
  SampleNotShuffled: unit('query::tests::trees::a_sample_of_all_points_has_each_of_their_orders_c6_3'),
  NothingGivenUp: unit('deadline::tests::a_request_is_given_up_when_its_client_has_disconnected'),
  BackgroundPoisonDropped: supervision('a_panic_in_any_background_task_is_survived_and_counted'),
  MapFaultsIgnored: program('map_faults')('no_checkpoint_and_no_write_follows_what_was_read_of_a_cut_file'),
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
  BodyNotLimited: jest('http/framing')('and what is behind it is not executed'),
  ExpiredCounted: program('expiry')('a_point_is_found_until_its_time_comes_and_by_no_read_from_then_on_c17'),
  RemovalNotLogged: program('expiry')('removal_is_a_write_that_is_counted_and_stays_c17'),
  VersionsNotCompared: program('conditional_writes')(
    'a_write_whose_versions_do_not_hold_changes_nothing_and_names_the_points_c25',
  ),
  SkippedNotListed: program('conditional_writes')(
    'an_update_lists_what_it_skipped_and_a_repeat_does_too_c25',
  ),
  FacetOutsideToken: program('token_limits')('a_facet_counts_what_the_caller_may_reach_c15'),
  ProjectionOutsideToken: program('token_limits')('a_projection_shows_what_the_caller_may_reach_c15'),
  SearchOutsideToken: program('token_limits')('searches_and_prefetches_find_what_the_caller_may_reach_c15'),
  UpdateOutsideToken: program('token_limits')('an_update_by_a_filter_changes_what_the_caller_may_reach_c15'),
  AliasBatchHalved: powerCut('aliases::a_batch_of_changes_is_whole_wherever_the_power_goes_c12'),
  CopyForgetsWriters: clones('a_clone_has_what_its_source_had_and_both_go_on_alone_c26'),
  DimensionNotChecked: jest('contract/model-endpoints')(
    'C16 answer 502 with the name of the model and the place, and never the key',
  ),
  LimitsNotForServer: jest('contract/token-limits')(
    'C15 what is about the whole server needs a token without limits',
  ),
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
