//! `slice` conditions: disjoint parts of all ids, of about the same size.

use crate::error::Error;
use crate::json::Reader;
use crate::types::PointId;
use std::hash::Hasher;

/// One of `total` slices of all ids. An id is in the slice whose number is the remainder of its hash by `total`. The hash is
/// that of Qdrant, so that clients can tell the slice of an id: SipHash-2-4 with a key of zeros, over the eight bytes of an
/// integer, the lowest first, the sixteen bytes of a UUID as RFC 4122 has them, or the bytes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSlice {
    /// At least 1.
    total: u32,
    /// Below `total`.
    index: u32,
}

impl IdSlice {
    /// Reads the object.
    ///
    /// # Errors
    /// An error that names the place.
    pub fn parse(r: &mut Reader<'_>) -> Result<IdSlice, Error> {
        let (mut total, mut index) = (None, None);
        r.object(|r, key| {
            match key {
                "total" => total = r.optional(|r| r.integer_in(1, u64::from(u32::MAX)))?,
                "index" => index = r.optional(|r| r.integer_in(0, u64::from(u32::MAX)))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let total = total.ok_or_else(|| r.missing("total"))?;
        let index = index.ok_or_else(|| r.missing("index"))?;
        if index >= total {
            return Err(r.error(format!("index: value {index} invalid, must be less than total, {total}")));
        }
        Ok(IdSlice { total: total as u32, index: index as u32 })
    }

    /// Whether an id is in the slice.
    pub fn contains(self, id: &PointId) -> bool {
        hash(id) % u64::from(self.total) == u64::from(self.index)
    }
}

#[expect(
    deprecated,
    reason = "it is kept for programs that need SipHash-2-4, which DefaultHasher does not promise"
)]
fn hash(id: &PointId) -> u64 {
    let mut hasher = std::hash::SipHasher::new();
    match id {
        PointId::Num(number) => hasher.write(&number.to_le_bytes()),
        PointId::Uuid(uuid) => hasher.write(&uuid.to_be_bytes()),
        PointId::Text(text) => {
            let (start, rest) = text.parts();
            hasher.write(start);
            hasher.write(rest);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(body: &str) -> Result<IdSlice, Error> {
        IdSlice::parse(&mut Reader::new(body.as_bytes())?)
    }

    /// As `qdrant-client` 1.20 computes them.
    #[test]
    fn the_hash_is_that_of_clients_c7() {
        for (id, expected) in KNOWN {
            assert_eq!(hash(&id), expected, "{id:?}");
        }
    }

    proptest! {
        #[test]
        fn every_id_is_in_one_slice_c7(number in any::<u64>(), uuid in any::<u128>(), total in 1u32..50) {
            for id in [PointId::Num(number), PointId::Uuid(uuid)] {
                let held = (0..total).filter(|&index| IdSlice { total, index }.contains(&id));
                prop_assert_eq!(held.count(), 1);
            }
        }
    }

    #[test]
    fn what_is_no_slice_is_refused_c7() {
        assert!(parse(r#"{"total":4,"index":3}"#).is_ok());
        for body in [
            r#"{"total":4,"index":4}"#,
            r#"{"total":0,"index":0}"#,
            r#"{"total":4}"#,
            r#"{"index":0}"#,
            r#"{"total":4294967296,"index":0}"#,
            r#"{"total":4,"index":-1}"#,
            r#"{"total":4,"index":0,"seed":1}"#,
        ] {
            assert!(parse(body).is_err(), "{body}");
        }
    }

    const KNOWN: [(PointId, u64); 4] = [
        (PointId::Num(0), 0xe849_e8bb_6ffe_2567),
        (PointId::Num(u64::MAX), 0x8050_c18b_6ac9_d15e),
        (PointId::Uuid(0), 0x32ca_ecc2_8017_2976),
        (PointId::Uuid(1), 0x20b7_e2f7_430c_2c29),
    ];
}
