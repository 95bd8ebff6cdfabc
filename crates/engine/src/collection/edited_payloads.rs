//! Where payloads came from that were edited: the part that an edit leaves alone is copied.

use super::checkpoint::extents::Extent;
use super::point::StoredPayload;
use std::collections::BTreeSet;

/// Places are remembered by pieces of this many bytes: about as many as payloads are gathered to.
const PIECE_BYTES: u64 = 1 << 20;

/// Pieces of data files that edited payloads were read from. At most one for each piece that there is.
#[derive(Default)]
pub struct EditedPayloads(BTreeSet<(u32, u64)>);

impl EditedPayloads {
    /// Takes note of a payload that is edited.
    pub(super) fn read_from(&mut self, stored: &StoredPayload) {
        let last = stored.offset.saturating_add(u64::from(stored.len));
        let pieces = stored.offset / PIECE_BYTES..=last / PIECE_BYTES;
        self.0.extend(pieces.map(|piece| (stored.file, piece)));
    }

    /// Takes in what another has noted.
    pub(super) fn add(&mut self, other: EditedPayloads) {
        self.0.extend(other.0);
    }

    /// Whether an edited payload may have come from an extent.
    pub(super) fn touches(&self, extent: &Extent) -> bool {
        let pieces = extent.offset / PIECE_BYTES..=extent.offset.saturating_add(extent.len) / PIECE_BYTES;
        self.0.range((extent.file, *pieces.start())..=(extent.file, *pieces.end())).next().is_some()
    }
}
