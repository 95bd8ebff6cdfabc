//! Revisions of the points of a scope (C20).

use crate::types::{OpNumber, PointId, TextId};
use crate::vectors;
use std::fmt;

/// What points of a scope are: the sum of a digest of each of them. Whatever adds, changes or removes one makes it another,
/// in whichever order they are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision(u128);

impl Revision {
    /// The revision of these bits.
    pub fn of_bits(bits: u128) -> Revision {
        Revision(bits)
    }

    /// What distinguishes it from others.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Revision> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u128::from_str_radix(text, 16).ok().map(Revision)).flatten()
    }

    /// With a point that an operation changed last.
    pub fn add(&mut self, id: &PointId, version: OpNumber) {
        self.0 = self.0.wrapping_add(digest(id, version));
    }

    /// Without it.
    pub fn remove(&mut self, id: &PointId, version: OpNumber) {
        self.0 = self.0.wrapping_sub(digest(id, version));
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Digits of π.
const DIGEST_SEED: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];

/// 128 bits of a point's id and version. Clients keep revisions, so this never changes.
fn digest(id: &PointId, version: OpNumber) -> u128 {
    let (kind, id) = match id {
        PointId::Num(number) => (1, u128::from(*number)),
        PointId::Uuid(uuid) => (2, *uuid),
        PointId::Text(text) => (3, text_digest(text)),
    };
    let words = [kind, id as u64, (id >> 64) as u64, version.get()];
    vectors::digest(&words, DIGEST_SEED)
}

/// 128 bits of a string. The last word says how many bytes there are.
fn text_digest(text: &TextId) -> u128 {
    let (start, rest) = text.parts();
    let bytes = [start, rest].concat();
    let mut words: Vec<u64> = bytes
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect();
    words.push(bytes.len() as u64);
    vectors::digest(&words, DIGEST_SEED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::IdKind;

    #[test]
    fn a_revision_is_read_as_it_is_written_and_never_changes_c20() {
        let mut revision = Revision::default();
        revision.add(&PointId::Num(7), OpNumber::new(3));
        revision.add(&PointId::Uuid(7), OpNumber::new(3));
        let text = revision.to_string();
        assert_eq!(Revision::parse(&text), Some(revision));
        for wrong in ["", "7", &text[1..], &format!("+{}", &text[1..])] {
            assert_eq!(Revision::parse(wrong), None, "{wrong}");
        }
        revision.remove(&PointId::Num(7), OpNumber::new(3));
        let mut other = Revision::default();
        other.add(&PointId::Uuid(7), OpNumber::new(3));
        assert_eq!(revision, other);
        other.remove(&PointId::Uuid(7), OpNumber::new(4));
        assert_ne!(other, Revision::default());
        assert_eq!(Revision::default().to_string(), "0".repeat(32));
        let of = |text: &str| {
            let mut revision = Revision::default();
            revision.add(&PointId::of_string(text, IdKind::String).unwrap(), OpNumber::new(3));
            revision
        };
        assert_ne!(of("a"), of("a\0"));
        assert_ne!(of(&"x".repeat(40)), of(&"x".repeat(41)));
    }
}
