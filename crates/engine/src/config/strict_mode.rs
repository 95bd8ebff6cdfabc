//! `strict_mode_config`: limits of one collection. It is kept and answered as sent.

use super::{fields, json_object};
use crate::error::Error;
use crate::json::Reader;

/// The limits of a collection whose strict mode is enabled; what is absent has no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrictMode {
    /// `limit` of a read.
    pub max_query_limit: Option<u64>,
    /// `timeout` of a request, in seconds.
    pub max_timeout: Option<u64>,
    /// False: the filters of reads need field indexes.
    pub unindexed_filtering_retrieve: Option<bool>,
    /// False: the filters of updates need field indexes.
    pub unindexed_filtering_update: Option<bool>,
    /// `hnsw_ef` of a search.
    pub search_max_hnsw_ef: Option<u64>,
    /// False: no `exact` search.
    pub search_allow_exact: Option<bool>,
    /// `oversampling` of a search.
    pub search_max_oversampling: Option<f64>,
    /// Points of an upsert or an update of vectors.
    pub upsert_max_batchsize: Option<u64>,
    /// Searches of a batch.
    pub search_max_batchsize: Option<u64>,
    /// Points of the collection.
    pub max_points_count: Option<u64>,
    /// Conditions of a filter.
    pub filter_max_conditions: Option<u64>,
    /// Values that one condition lists.
    pub condition_max_size: Option<u64>,
    /// Field indexes of the collection.
    pub max_payload_index_count: Option<u64>,
    /// Bytes of the vectors of live points.
    pub max_collection_vector_size_bytes: Option<u64>,
    /// Bytes of the payloads of live points.
    pub max_collection_payload_size_bytes: Option<u64>,
    /// Tokens that reads take in a minute.
    pub read_rate_limit: Option<u64>,
    /// Tokens that updates of points take in a minute.
    pub write_rate_limit: Option<u64>,
    /// Rows of a multi-vector, by its name; `""` is the unnamed vector.
    pub multivector_rows: Vec<(Box<str>, u64)>,
    /// Indices of a sparse vector, by its name.
    pub sparse_indices: Vec<(Box<str>, u64)>,
}

/// Reads the object. Its names and types are checked, and it is kept as sent.
pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Box<[u8]>, Error> {
    let mut ahead = reader.clone();
    read(&mut ahead)?;
    json_object(reader)
}

/// The limits of a kept object; `None` where strict mode is not enabled.
pub(super) fn enabled(json: &[u8]) -> Option<StrictMode> {
    let (mode, is_enabled) = Reader::new(json).and_then(|mut reader| read(&mut reader)).ok()?;
    is_enabled.then_some(mode)
}

/// Checks that a kept object, put together by a patch, can be read.
///
/// # Errors
/// `BadRequest` that names the setting.
pub(super) fn check(json: &[u8]) -> Result<(), Error> {
    read(&mut Reader::new(json)?).map(drop).map_err(|error| error.within("strict_mode_config".to_string()))
}

/// The limits, and whether they are enabled.
fn read(reader: &mut Reader<'_>) -> Result<(StrictMode, bool), Error> {
    let (mut mode, mut is_enabled) = (StrictMode::default(), false);
    reader.object(|r, key| {
        match key {
            "enabled" => is_enabled = r.optional(Reader::bool)?.unwrap_or(false),
            "unindexed_filtering_retrieve" => {
                mode.unindexed_filtering_retrieve = r.optional(Reader::bool)?;
            }
            "unindexed_filtering_update" => mode.unindexed_filtering_update = r.optional(Reader::bool)?,
            "search_allow_exact" => mode.search_allow_exact = r.optional(Reader::bool)?,
            "search_max_oversampling" => mode.search_max_oversampling = r.optional(Reader::f64)?,
            "read_rate_limit" => mode.read_rate_limit = fields::integer(r, 1)?,
            "write_rate_limit" => mode.write_rate_limit = fields::integer(r, 1)?,
            "multivector_config" => mode.multivector_rows = by_name(r, "max_vectors")?,
            "sparse_config" => mode.sparse_indices = by_name(r, "max_length")?,
            key => match count_named(&mut mode, key) {
                Some(count) => *count = fields::integer(r, 0)?,
                None => r.unknown()?,
            },
        }
        Ok(())
    })?;
    Ok((mode, is_enabled))
}

/// The limit of that name, of those that are a count from 0 on.
fn count_named<'m>(mode: &'m mut StrictMode, name: &str) -> Option<&'m mut Option<u64>> {
    Some(match name {
        "max_query_limit" => &mut mode.max_query_limit,
        "max_timeout" => &mut mode.max_timeout,
        "search_max_hnsw_ef" => &mut mode.search_max_hnsw_ef,
        "upsert_max_batchsize" => &mut mode.upsert_max_batchsize,
        "search_max_batchsize" => &mut mode.search_max_batchsize,
        "max_points_count" => &mut mode.max_points_count,
        "filter_max_conditions" => &mut mode.filter_max_conditions,
        "condition_max_size" => &mut mode.condition_max_size,
        "max_payload_index_count" => &mut mode.max_payload_index_count,
        "max_collection_vector_size_bytes" => &mut mode.max_collection_vector_size_bytes,
        "max_collection_payload_size_bytes" => &mut mode.max_collection_payload_size_bytes,
        _ => return None,
    })
}

/// Reads `{name: {setting: most}}`; a name without the setting, or with null, has no limit.
fn by_name(reader: &mut Reader<'_>, setting: &str) -> Result<Vec<(Box<str>, u64)>, Error> {
    let mut limits = Vec::new();
    reader.optional(|r| {
        r.object(|r, name| {
            let name: Box<str> = name.into();
            r.object(|r, key| {
                if key != setting {
                    return r.unknown();
                }
                if let Some(most) = fields::integer(r, 1)? {
                    limits.push((name.clone(), most));
                }
                Ok(())
            })
        })
    })?;
    Ok(limits)
}
