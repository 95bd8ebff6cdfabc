//! Where payloads came from that were edited: the part that an edit leaves alone is copied.

use super::point::StoredPayload;
use std::collections::BTreeSet;

/// Places are remembered by pieces of this many bytes: about as many as payloads are gathered to.
const PIECE_BYTES: u64 = 1 << 20;

/// Pieces of data files that edited payloads were read from. At most one for each piece that there is.
#[derive(Default)]
pub struct EditedPayloads(BTreeSet<(u32, u64)>);

impl EditedPayloads {
    /// Takes note of a payload that is edited.
    pub fn read_from(&mut self, stored: &StoredPayload) {
        let last = stored.offset.saturating_add(u64::from(stored.len));
        let pieces = stored.offset / PIECE_BYTES..=last / PIECE_BYTES;
        self.0.extend(pieces.map(|piece| (stored.file, piece)));
    }

    /// Takes in what another has noted.
    pub fn add(&mut self, other: EditedPayloads) {
        self.0.extend(other.0);
    }

    /// Whether an edited payload may have come from these bytes of a data file.
    pub fn touches(&self, file: u32, offset: u64, len: u64) -> bool {
        let pieces = offset / PIECE_BYTES..=offset.saturating_add(len) / PIECE_BYTES;
        self.0.range((file, *pieces.start())..=(file, *pieces.end())).next().is_some()
    }
}
