//! `strict_mode_config`: limits of one collection. It is kept and answered as sent.

use super::{fields, json_object};
use crate::error::Error;
use crate::json::{Kind, Reader};

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
}

/// Settings of strict mode that are not enforced: strict mode is not enabled together with one of them.
const UNENFORCED: [&str; 6] = [
    "max_collection_vector_size_bytes",
    "max_collection_payload_size_bytes",
    "read_rate_limit",
    "write_rate_limit",
    "multivector_config",
    "sparse_config",
];

/// Reads the object. Its names and types are checked, and it is kept as sent.
pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Box<[u8]>, Error> {
    let mut ahead = reader.clone();
    read(&mut ahead)?;
    json_object(reader)
}

/// The limits of a kept object; `None` where strict mode is not enabled.
pub(super) fn enabled(json: &[u8]) -> Option<StrictMode> {
    let (mode, is_enabled, _) = Reader::new(json).and_then(|mut reader| read(&mut reader)).ok()?;
    is_enabled.then_some(mode)
}

/// Checks that an object enables nothing that is not enforced.
///
/// # Errors
/// `BadRequest` that names the setting.
pub(super) fn check(json: &[u8]) -> Result<(), Error> {
    let (_, is_enabled, unenforced) = read(&mut Reader::new(json)?)?;
    match unenforced {
        Some(name) if is_enabled => Err(Error::bad(format!(
            "strict_mode_config.{name}: is not enforced in this release, so strict mode cannot be enabled with it"
        ))),
        _ => Ok(()),
    }
}

/// The limits, whether they are enabled, and the first setting that is not enforced.
fn read(reader: &mut Reader<'_>) -> Result<(StrictMode, bool, Option<&'static str>), Error> {
    let (mut mode, mut is_enabled, mut unenforced) = (StrictMode::default(), false, None);
    reader.object(|r, key| {
        match key {
            "enabled" => is_enabled = r.optional(Reader::bool)?.unwrap_or(false),
            "max_query_limit" => mode.max_query_limit = fields::integer(r, 0)?,
            "max_timeout" => mode.max_timeout = fields::integer(r, 0)?,
            "unindexed_filtering_retrieve" => {
                mode.unindexed_filtering_retrieve = r.optional(Reader::bool)?;
            }
            "unindexed_filtering_update" => mode.unindexed_filtering_update = r.optional(Reader::bool)?,
            "search_max_hnsw_ef" => mode.search_max_hnsw_ef = fields::integer(r, 0)?,
            "search_allow_exact" => mode.search_allow_exact = r.optional(Reader::bool)?,
            "search_max_oversampling" => mode.search_max_oversampling = r.optional(Reader::f64)?,
            "upsert_max_batchsize" => mode.upsert_max_batchsize = fields::integer(r, 0)?,
            "search_max_batchsize" => mode.search_max_batchsize = fields::integer(r, 0)?,
            "max_points_count" => mode.max_points_count = fields::integer(r, 0)?,
            "filter_max_conditions" => mode.filter_max_conditions = fields::integer(r, 0)?,
            "condition_max_size" => mode.condition_max_size = fields::integer(r, 0)?,
            "max_payload_index_count" => mode.max_payload_index_count = fields::integer(r, 0)?,
            key => match UNENFORCED.iter().find(|known| **known == key) {
                Some(name) if !r.take_null()? => {
                    unenforced.get_or_insert(*name);
                    read_unenforced(r, name)?;
                }
                Some(_) => {}
                None => r.unknown()?,
            },
        }
        Ok(())
    })?;
    Ok((mode, is_enabled, unenforced))
}

fn read_unenforced(reader: &mut Reader<'_>, name: &str) -> Result<(), Error> {
    if !name.ends_with("_config") {
        return fields::integer(reader, 0).map(drop);
    }
    reader.object(|r, _| {
        r.expect(Kind::Object)?;
        r.skip()
    })
}
