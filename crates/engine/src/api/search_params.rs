//! `params` of a search (C6.2).

use super::body::{Result, field_error};
use super::id::read_id;
use crate::config::fields::{choice, recall};
use crate::filter::Filter;
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::query::tree::{ExplainRequest, Idf, QuantizationParams, SearchParams};
use crate::types::PointId;
use std::sync::Arc;

/// The greatest effective `hnsw_ef`. A greater one has the same effect.
const MAX_HNSW_EF: u64 = 100_000;

/// Points of which an explanation can say why they were, or were not, returned.
const MAX_EXPLAINED: usize = 100;

/// What the object has.
#[derive(Default)]
pub(super) struct Params {
    /// How to search.
    pub search: SearchParams,
    /// What is to be explained.
    pub explain: Option<ExplainRequest>,
    /// What the idf of a sparse query counts.
    pub idf: Option<Idf>,
}

/// Reads the object.
pub(super) fn read(reader: &mut Reader<'_>, limits: &Limits) -> Result<Params> {
    let mut idf = None;
    let (mut hnsw_ef, mut exact, mut indexed_only, mut quantization) = (None, None, None, None);
    let (mut explain, mut why, mut target_recall) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "hnsw_ef" => hnsw_ef = r.optional(|r| r.integer_in(1, u64::MAX))?,
            "target_recall" => target_recall = r.optional(recall)?,
            "exact" => exact = r.optional(Reader::bool)?,
            "indexed_only" => indexed_only = r.optional(Reader::bool)?,
            "quantization" => quantization = r.optional(read_quantization)?,
            "explain" => explain = r.optional(Reader::bool)?,
            "why" => why = r.optional(read_why)?,
            "acorn" => drop(r.optional(check_acorn)?),
            "idf" => idf = r.optional(|r| read_idf(r, limits))?,
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    if why.is_some() && explain != Some(true) {
        return Err(field_error(reader, "why", "needs explain: true"));
    }
    if hnsw_ef.is_some() && target_recall.is_some() {
        let reason = "and hnsw_ef exclude each other: one chooses the width, the other is it";
        return Err(field_error(reader, "target_recall", reason));
    }
    let search = SearchParams {
        target_recall,
        hnsw_ef: hnsw_ef.map(|ef| ef.min(MAX_HNSW_EF) as usize),
        exact: exact.unwrap_or(false),
        indexed_only: indexed_only.unwrap_or(false),
        quantization: quantization.unwrap_or_default(),
        ..SearchParams::default()
    };
    let explain = (explain == Some(true)).then(|| ExplainRequest { why: why.unwrap_or_default() });
    Ok(Params { search, explain, idf })
}

/// Reads `"global"` or `{"corpus": filter}`.
fn read_idf(reader: &mut Reader<'_>, limits: &Limits) -> Result<Idf> {
    if reader.peek()? == Kind::String {
        return choice(reader, &[("global", ())]).map(|()| Idf::Global);
    }
    let mut corpus = None;
    reader.object(|r, key| {
        match key {
            "corpus" => corpus = r.optional(|r| Filter::parse(r, limits))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(Idf::Corpus(Arc::new(corpus.ok_or_else(|| reader.missing("corpus"))?)))
}

fn read_why(reader: &mut Reader<'_>) -> Result<Vec<PointId>> {
    let mut ids = Vec::new();
    reader.array(|r, index| {
        if index >= MAX_EXPLAINED {
            return Err(r.error(format!("more than {MAX_EXPLAINED} ids")));
        }
        ids.push(read_id(r)?);
        Ok(())
    })?;
    Ok(ids)
}

fn read_quantization(reader: &mut Reader<'_>) -> Result<QuantizationParams> {
    let (mut ignore, mut rescore, mut oversampling) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "ignore" => ignore = r.optional(Reader::bool)?,
            "rescore" => rescore = r.optional(Reader::bool)?,
            "oversampling" => oversampling = r.optional(|r| number_in(r, 1.0, f64::MAX))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let standard = QuantizationParams::default();
    Ok(QuantizationParams {
        ignore: ignore.unwrap_or(standard.ignore),
        rescore: rescore.unwrap_or(standard.rescore),
        // Oversampling beyond the range of f32 exceeds any number of points, too.
        oversampling: oversampling.map(|factor| (factor as f32).min(f32::MAX)),
    })
}

/// `acorn` is checked and has no effect: the planner decides.
fn check_acorn(reader: &mut Reader<'_>) -> Result<()> {
    reader.object(|r, key| {
        match key {
            "enable" => drop(r.optional(Reader::bool)?),
            "max_selectivity" => drop(r.optional(|r| number_in(r, 0.0, 1.0))?),
            _ => r.unknown()?,
        }
        Ok(())
    })
}

/// Reads a number from `min` to `max`.
pub(super) fn number_in(reader: &mut Reader<'_>, min: f64, max: f64) -> Result<f64> {
    let value = reader.f64()?;
    if value < min {
        return Err(reader.error(format!("value {value} invalid, must be {min} or larger")));
    }
    if value > max {
        return Err(reader.error(format!("value {value} invalid, must be {max} or smaller")));
    }
    Ok(value)
}
