//! Letting readers take from the files what a checkpoint has written: their memory is freed when the last view goes.

use crate::checkpoint::{MovedPayload, WrittenRows};
use crate::collection::Collection;
use crate::config::{CollectionConfig, Placement};
use crate::faults::PlantedFault;
use crate::state::{Payload, PayloadRef, Point, StoredPayload};
use crate::storage::Map;
use std::sync::Arc;

/// Points whose payloads are moved to the files under one hold of the writer lock.
const BATCH_POINTS: usize = 4096;

impl Collection {
    /// Lets the head's payloads point at the file.
    pub(super) fn adopt_payloads(&self, payloads: Vec<MovedPayload>, file: u32, map: &Map) {
        for batch in payloads.chunks(BATCH_POINTS) {
            self.shared.storage.yield_point("moving payloads");
            let mut head = self.writer.lock();
            for MovedPayload { offset, from, extent_offset, len } in batch {
                let state = &mut head.state;
                let Some(point) = state.points.get(*offset) else { continue };
                if is_same_payload(point.payload(), from) || PlantedFault::ChangedPayloadMovedBack.is_on() {
                    let stored = StoredPayload { file, map: map.clone(), offset: *extent_offset, len: *len };
                    let point = Point { payload: Payload::Stored(stored), ..point.to_point() };
                    state.set(*offset, point);
                }
            }
        }
    }

    /// Lets the head take full chunks of rows from the file. Those that were on the map of a file that is copied forward
    /// leave it. `written` is the configuration of what was written.
    pub(super) fn adopt_rows(&self, rows: Vec<WrittenRows>, written: &CollectionConfig, map: &Map) {
        let mut head = self.writer.lock();
        let config = Arc::clone(&head.state.config);
        // Fields may have been added and removed since.
        let positions = written.positions_in(&config);
        for WrittenRows { field, chunk, offset } in rows {
            let Some(field) = positions[field] else { continue };
            let placement = config.placement(field);
            // A chunk that was dropped or taken back while the file was written is not held any more.
            if placement != Placement::Memory
                && head.seal(field, chunk, map, offset)
                && placement == Placement::Disk
            {
                map.expect_random_reads();
            }
        }
    }
}

fn is_same_payload(now: PayloadRef<'_>, then: &Payload) -> bool {
    match (now, then) {
        (PayloadRef::Memory(now), Payload::Memory(then)) => Arc::ptr_eq(now, then),
        (PayloadRef::Stored { file, offset, .. }, Payload::Stored(then)) => {
            file == then.file && offset == then.offset
        }
        _ => false,
    }
}
