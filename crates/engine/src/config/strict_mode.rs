//! `strict_mode_config`: limits that this release does not enforce. It is stored and answered unless it is enabled, which is
//! refused.

use super::{fields, json_object};
use crate::error::Error;
use crate::json::{Kind, Reader};

/// The type of a field.
#[derive(Clone, Copy)]
enum Holds {
    Flag,
    Count,
    Factor,
    PerVector,
}

const FIELDS: [(&str, Holds); 20] = [
    ("enabled", Holds::Flag),
    ("max_query_limit", Holds::Count),
    ("max_timeout", Holds::Count),
    ("unindexed_filtering_retrieve", Holds::Flag),
    ("unindexed_filtering_update", Holds::Flag),
    ("search_max_hnsw_ef", Holds::Count),
    ("search_allow_exact", Holds::Flag),
    ("search_max_oversampling", Holds::Factor),
    ("upsert_max_batchsize", Holds::Count),
    ("search_max_batchsize", Holds::Count),
    ("max_collection_vector_size_bytes", Holds::Count),
    ("max_collection_payload_size_bytes", Holds::Count),
    ("read_rate_limit", Holds::Count),
    ("write_rate_limit", Holds::Count),
    ("max_points_count", Holds::Count),
    ("filter_max_conditions", Holds::Count),
    ("condition_max_size", Holds::Count),
    ("multivector_config", Holds::PerVector),
    ("sparse_config", Holds::PerVector),
    ("max_payload_index_count", Holds::Count),
];

/// Reads the object. Its names and types are checked, and it is kept as sent.
pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Box<[u8]>, Error> {
    let mut ahead = reader.clone();
    ahead.object(|r, key| {
        let Some((_, holds)) = FIELDS.iter().find(|(known, _)| *known == key) else {
            return r.unknown();
        };
        if r.take_null()? {
            return Ok(());
        }
        match holds {
            Holds::Flag => {
                if r.bool()? && key == "enabled" {
                    return Err(r.error("strict mode is not available in this release"));
                }
            }
            Holds::Count => drop(fields::integer(r, 0)?),
            Holds::Factor => drop(r.f64()?),
            Holds::PerVector => {
                r.expect(Kind::Object)?;
                r.object(|r, _| {
                    r.expect(Kind::Object)?;
                    r.skip()
                })?;
            }
        }
        Ok(())
    })?;
    json_object(reader)
}
