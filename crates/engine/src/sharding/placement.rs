//! Which shard a point is in.

use crate::types::PointId;
use twox_hash::XxHash3_64;

/// The longest canonical form of an id: its kind, and a string of 256 bytes.
const MAX_BYTES: usize = 257;

/// The shard of a point of a collection with so many shards: the XXH3 hash (64 bits, seed 0) of the canonical bytes of its
/// id, modulo `shards`. These are a byte for the kind of id, and the id: 0 and an integer as 8 bytes, the lowest first; 1 and
/// the 16 bytes of a UUID; 2 and the bytes of a string. It never changes: points are where it says.
pub fn shard_of(id: &PointId, shards: u32) -> u32 {
    let mut bytes = [0; MAX_BYTES];
    let end = canonical(id, &mut bytes);
    // Below `shards`, which has 32 bits.
    (XxHash3_64::oneshot(&bytes[..end]) % u64::from(shards.max(1))) as u32
}

/// Writes the canonical form of an id to the front of `bytes`, and answers its length.
fn canonical(id: &PointId, bytes: &mut [u8; MAX_BYTES]) -> usize {
    let mut put = |kind: u8, parts: [&[u8]; 2]| {
        bytes[0] = kind;
        let mut end = 1;
        for part in parts {
            bytes[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        end
    };
    match id {
        PointId::Num(number) => put(0, [&number.to_le_bytes(), &[]]),
        PointId::Uuid(uuid) => put(1, [&uuid.to_be_bytes(), &[]]),
        PointId::Text(text) => {
            let (start, rest) = text.parts();
            put(2, [start, rest])
        }
    }
}
