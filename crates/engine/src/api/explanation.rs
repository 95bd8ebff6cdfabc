//! Writing the explanation of a search (C13).

use super::response::{write_bool, write_id, write_list};
use crate::config::fields::ObjectWriter;
use crate::json::{write_f32, write_f64, write_string, write_u64};
use crate::payload::JsonPath;
use crate::query::{Explanation, ScoreDetail, StepFigures, Why, Width};
use std::time::Duration;

/// Times of a request around its search, in the explanation of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestTimes {
    /// From the request's arrival until a thread took it.
    pub queue: Duration,
    /// Reading the body.
    pub parse: Duration,
    /// Selecting payloads and vectors.
    pub payloads: Duration,
    /// Writing the answer, without that.
    pub write: Duration,
}

/// Appends an explanation. The figures of a query with prefetches are the sums of theirs.
pub fn write_explanation(out: &mut Vec<u8>, explanation: &Explanation, times: &RequestTimes) {
    let Explanation { steps, merged_by, preparing, merging, hits, why } = explanation;
    let mut object = ObjectWriter::start(out);
    let sum = |of: fn(&StepFigures) -> u64| steps.iter().map(of).sum::<u64>();
    let time = |of: fn(&StepFigures) -> Duration| steps.iter().map(of).sum::<Duration>();
    match (merged_by, steps.first()) {
        (Some(merged_by), _) => {
            write_string(object.key("plan"), merged_by);
            write_string(object.key("reason"), "the query orders what its prefetches have found");
        }
        (None, Some(step)) => {
            write_string(object.key("plan"), step.plan);
            write_string(object.key("reason"), &step.reason);
            write_width(&mut object, step);
        }
        (None, None) => {}
    }
    let estimates: Option<Vec<u64>> = steps.iter().map(|step| step.estimated_matches).collect();
    write_optional(object.key("estimated_matches"), estimates.map(|all| all.iter().sum()), write_u64);
    write_u64(object.key("matches"), sum(|step| step.matches));
    write_counts(&mut object, sum);
    let paths = |of: fn(&StepFigures) -> Vec<&JsonPath>| {
        let mut paths: Vec<&JsonPath> = Vec::new();
        for path in steps.iter().flat_map(of) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    };
    write_paths(object.key("indexes_used"), &paths(used));
    write_paths(object.key("indexes_missing"), &paths(missing));
    write_automatic(&mut object, &paths(automatic));
    let rerank = Duration::from_nanos(sum(|step| step.tally.rerank_nanos));
    let mut parts = ObjectWriter::start(object.key("time_us"));
    for (name, took) in [
        ("queue", times.queue),
        ("parse", times.parse),
        ("plan", *preparing + time(|step| step.planning)),
        ("search", (time(|step| step.searching) + *merging).saturating_sub(rerank)),
        ("rerank", rerank),
        ("payloads", times.payloads),
        ("write", times.write),
    ] {
        write_micros(parts.key(name), took);
    }
    parts.end();
    if merged_by.is_some() {
        write_list(object.key("steps"), steps, write_step);
    }
    write_list(object.key("hits"), hits, |out, details| {
        let mut hit = ObjectWriter::start(out);
        write_list(hit.key("score_details"), details, write_detail);
        hit.end();
    });
    object.field("why", why.as_ref(), |out, why| write_list(out, why, write_why));
    object.end();
}

/// The width of walks, and what has chosen it where a recall was asked for (C14).
fn write_width(object: &mut ObjectWriter<'_>, step: &StepFigures) {
    object.field("ef", step.ef, |out, ef| write_u64(out, ef as u64));
    object.field("target_recall", step.width.target(), write_f64);
    let chosen_by = match step.width {
        Width::Given => None,
        Width::Formula(..) => Some("formula"),
        Width::Calibrated(_) => Some("calibration"),
    };
    object.field("ef_chosen_by", chosen_by, write_string);
}

fn used(step: &StepFigures) -> Vec<&JsonPath> {
    step.indexes.used.iter().collect()
}

fn missing(step: &StepFigures) -> Vec<&JsonPath> {
    step.indexes.missing.iter().map(|one| &one.key).collect()
}

fn automatic(step: &StepFigures) -> Vec<&JsonPath> {
    step.auto_indexes.iter().collect()
}

/// Appends the automatic indexes that were used, where some were (C23).
fn write_automatic(object: &mut ObjectWriter<'_>, paths: &[&JsonPath]) {
    if !paths.is_empty() {
        write_paths(object.key("auto_indexes_used"), paths);
    }
}

fn write_counts(object: &mut ObjectWriter<'_>, sum: impl Fn(fn(&StepFigures) -> u64) -> u64) {
    write_u64(object.key("hops"), sum(|step| step.tally.hops));
    write_u64(object.key("distances"), sum(|step| step.tally.all_distances()));
    write_u64(object.key("scanned"), sum(|step| step.tally.scanned));
    write_u64(object.key("reranked"), sum(|step| step.tally.reranked));
    write_u64(object.key("tail_scanned"), sum(|step| step.tally.tail));
}

fn write_step(out: &mut Vec<u8>, step: &StepFigures) {
    let mut object = ObjectWriter::start(out);
    write_string(object.key("source"), &step.source);
    write_string(object.key("plan"), step.plan);
    write_string(object.key("reason"), &step.reason);
    write_width(&mut object, step);
    write_optional(object.key("estimated_matches"), step.estimated_matches, write_u64);
    write_u64(object.key("matches"), step.matches);
    write_counts(&mut object, |of| of(step));
    write_paths(object.key("indexes_used"), &used(step));
    write_paths(object.key("indexes_missing"), &missing(step));
    write_automatic(&mut object, &automatic(step));
    let rerank = Duration::from_nanos(step.tally.rerank_nanos);
    let mut parts = ObjectWriter::start(object.key("time_us"));
    write_micros(parts.key("plan"), step.planning);
    write_micros(parts.key("search"), step.searching.saturating_sub(rerank));
    write_micros(parts.key("rerank"), rerank);
    parts.end();
    object.end();
}

fn write_detail(out: &mut Vec<u8>, detail: &ScoreDetail) {
    let mut object = ObjectWriter::start(out);
    write_string(object.key("source"), &detail.source);
    write_optional(object.key("using"), detail.using.as_deref(), write_string);
    write_optional(object.key("rank"), detail.rank, |out, rank| write_u64(out, rank as u64));
    write_score(object.key("raw"), detail.raw);
    write_score(object.key("contribution"), detail.contribution);
    object.end();
}

fn write_why(out: &mut Vec<u8>, why: &Why) {
    let mut object = ObjectWriter::start(out);
    write_id(object.key("id"), &why.id);
    write_bool(object.key("returned"), why.returned);
    write_optional(object.key("score"), why.score, write_f32);
    write_optional(object.key("rank"), why.rank, write_u64);
    write_optional(object.key("failed_condition"), why.failed_condition.as_deref(), |out, place| {
        write_string(out, place);
    });
    write_optional(object.key("lost_by"), why.lost_by, |out, loss| write_string(out, loss.name()));
    object.end();
}

fn write_paths(out: &mut Vec<u8>, paths: &[&JsonPath]) {
    write_list(out, paths, |out, path| write_string(out, &path.to_string()));
}

/// Microseconds to three places.
fn write_micros(out: &mut Vec<u8>, took: Duration) {
    write_f64(out, took.as_nanos() as f64 / 1000.0);
}

/// A score that is a 32-bit float is written as the shortest text that gives that.
fn write_score(out: &mut Vec<u8>, score: f64) {
    let short = score as f32;
    if f64::from(short) == score { write_f32(out, short) } else { write_f64(out, score) }
}

fn write_optional<T>(out: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        Some(value) => write(out, value),
        None => out.extend_from_slice(b"null"),
    }
}
