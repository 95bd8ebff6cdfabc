//! Reading filters: the grammar of C7.
//!
//! Every error is a filter parse error that names its place (C1.4). Unknown keys are errors.

use super::parse_clause::{
    Absence, absence, geo_box, geo_polygon, geo_radius, matching, point_id, range, values_count,
};
use super::slice::IdSlice;
use super::{Clause, Condition, Filter, MinShould};
use crate::error::Error;
use crate::json::Reader;
use crate::limits::Limits;
use crate::payload::JsonPath;
use crate::types::PointId;
use std::sync::Arc;

/// The greatest nesting of filters.
const MAX_FILTER_DEPTH: usize = 64;
/// The greatest nesting of a filter's place in the body. It is below the reader's own limit, so that the error is a filter
/// parse error.
const MAX_PLACE_DEPTH: usize = 148;

type Result<T> = std::result::Result<T, Error>;

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// `FilterParse` that names the place: not of the grammar, nested too deep, or beyond a limit, which it names.
    pub fn parse(reader: &mut Reader<'_>, limits: &Limits) -> Result<Filter> {
        reader.in_filter(|r| Parser::new(limits).filter(r))
    }
}

pub(super) struct Parser<'l> {
    limits: &'l Limits,
    /// Conditions so far, at all levels.
    conditions: usize,
    /// Filters around the current place.
    depth: usize,
}

/// The groups of a filter so far.
#[derive(Default)]
struct Groups {
    must: Option<Vec<Condition>>,
    should: Option<Vec<Condition>>,
    must_not: Option<Vec<Condition>>,
    min_should: Option<MinShould>,
}

impl Groups {
    fn is_given(&self) -> bool {
        self.must.is_some() || self.should.is_some() || self.must_not.is_some() || self.min_should.is_some()
    }

    fn filter(self) -> Filter {
        Filter {
            must: self.must.unwrap_or_default(),
            should: self.should.unwrap_or_default(),
            must_not: self.must_not.unwrap_or_default(),
            min_should: self.min_should,
        }
    }
}

/// The clauses of a field condition so far. The last value of a repeated key counts.
#[derive(Default)]
struct Clauses {
    matching: Option<Clause>,
    range: Option<Clause>,
    geo_box: Option<Clause>,
    geo_radius: Option<Clause>,
    geo_polygon: Option<Clause>,
    values_count: Option<Clause>,
    is_empty: Option<Clause>,
    is_null: Option<Clause>,
}

impl Clauses {
    fn list(self) -> Vec<Clause> {
        [
            self.matching,
            self.range,
            self.geo_box,
            self.geo_radius,
            self.geo_polygon,
            self.values_count,
            self.is_empty,
            self.is_null,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The fields of a condition so far.
#[derive(Default)]
pub(super) struct Fields {
    groups: Groups,
    key: Option<JsonPath>,
    clauses: Clauses,
    is_empty: Option<Absence>,
    is_null: Option<Absence>,
    has_id: Option<Box<[PointId]>>,
    has_vector: Option<Box<str>>,
    slice: Option<IdSlice>,
    nested: Option<Condition>,
}

impl Fields {
    /// The condition. `r` is just behind its object.
    pub(super) fn condition(self, r: &Reader<'_>) -> Result<Condition> {
        let Fields { groups, key, mut clauses, is_empty, is_null, has_id, has_vector, slice, nested } = self;
        let mut found: Vec<(&str, Condition)> = Vec::new();
        match is_empty {
            Some(Absence::Flag(wanted)) => clauses.is_empty = Some(Clause::IsEmpty(wanted)),
            Some(Absence::Of(key)) => found.push(("is_empty", field(key, vec![Clause::IsEmpty(true)]))),
            None => {}
        }
        match is_null {
            Some(Absence::Flag(wanted)) => clauses.is_null = Some(Clause::IsNull(wanted)),
            Some(Absence::Of(key)) => found.push(("is_null", field(key, vec![Clause::IsNull(true)]))),
            None => {}
        }
        match (key, clauses.list()) {
            (None, clauses) if clauses.is_empty() => {}
            (None, _) => return Err(r.missing("key")),
            (Some(_), clauses) if clauses.is_empty() && found.is_empty() => {
                return Err(r.error("At least one field condition must be specified"));
            }
            (Some(key), clauses) => found.push(("key", field(key, clauses))),
        }
        found.extend(has_id.map(|ids| ("has_id", Condition::HasId(ids))));
        found.extend(has_vector.map(|name| ("has_vector", Condition::HasVector(name))));
        found.extend(slice.map(|slice| ("slice", Condition::Slice(slice))));
        found.extend(nested.map(|condition| ("nested", condition)));
        if groups.is_given() || found.is_empty() {
            found.push(("a filter", Condition::Filter(Arc::new(groups.filter()))));
        }
        if let [(first, _), (second, _), ..] = found.as_slice() {
            return Err(r.error(format!("a condition is of one kind, got both {first} and {second}")));
        }
        let (_, condition) = found.pop().expect("without any other kind it is a filter");
        Ok(condition)
    }
}

impl<'l> Parser<'l> {
    pub(super) fn new(limits: &'l Limits) -> Parser<'l> {
        Parser { limits, conditions: 0, depth: 0 }
    }

    fn filter(&mut self, r: &mut Reader<'_>) -> Result<Filter> {
        let mut groups = Groups::default();
        r.object(|r, key| if self.group(r, key, &mut groups)? { Ok(()) } else { r.unknown() })?;
        Ok(groups.filter())
    }

    /// Reads the value of `key` if it is a group of a filter; false if it is not.
    fn group(&mut self, r: &mut Reader<'_>, key: &str, groups: &mut Groups) -> Result<bool> {
        match key {
            "must" => groups.must = r.optional(|r| self.conditions(r))?,
            "should" => groups.should = r.optional(|r| self.conditions(r))?,
            "must_not" => groups.must_not = r.optional(|r| self.conditions(r))?,
            "min_should" => groups.min_should = r.optional(|r| self.min_should(r))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn conditions(&mut self, r: &mut Reader<'_>) -> Result<Vec<Condition>> {
        if self.depth == MAX_FILTER_DEPTH {
            return Err(r.error(format!("filter is nested deeper than {MAX_FILTER_DEPTH} levels")));
        }
        if r.depth() > MAX_PLACE_DEPTH {
            return Err(r.error("filter is nested too deep in the body"));
        }
        self.depth += 1;
        let list = r.one_or_many(|r| self.condition(r));
        self.depth -= 1;
        list
    }

    fn min_should(&mut self, r: &mut Reader<'_>) -> Result<MinShould> {
        let (mut conditions, mut min_count) = (None, None);
        r.object(|r, key| {
            match key {
                "conditions" => conditions = r.optional(|r| self.conditions(r))?,
                "min_count" => min_count = r.optional(|r| r.integer_in(1, u64::MAX))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let conditions = conditions.ok_or_else(|| r.missing("conditions"))?;
        let min_count = min_count.ok_or_else(|| r.missing("min_count"))?;
        Ok(MinShould { conditions, min_count })
    }

    fn condition(&mut self, r: &mut Reader<'_>) -> Result<Condition> {
        self.count(r)?;
        let mut fields = Fields::default();
        r.object(|r, name| if self.field(r, name, &mut fields)? { Ok(()) } else { r.unknown() })?;
        fields.condition(r)
    }

    /// Counts a condition before it is read.
    pub(super) fn count(&mut self, r: &Reader<'_>) -> Result<()> {
        self.conditions += 1;
        let limit = self.limits.max_filter_conditions;
        if self.conditions > limit {
            return Err(r.error(format!("more than {limit} conditions in a filter (max_filter_conditions)")));
        }
        Ok(())
    }

    /// Reads the value of `name` if conditions have such a field; false if they do not.
    pub(super) fn field(&mut self, r: &mut Reader<'_>, name: &str, fields: &mut Fields) -> Result<bool> {
        let clauses = &mut fields.clauses;
        match name {
            "key" => fields.key = r.optional(JsonPath::read)?,
            "match" => clauses.matching = r.optional(matching)?.map(Clause::Match),
            "range" => clauses.range = r.optional(range)?,
            "geo_bounding_box" => clauses.geo_box = r.optional(geo_box)?.map(Clause::Geo),
            "geo_radius" => clauses.geo_radius = r.optional(geo_radius)?.map(Clause::Geo),
            "geo_polygon" => clauses.geo_polygon = r.optional(geo_polygon)?.map(Clause::Geo),
            "values_count" => clauses.values_count = r.optional(values_count)?.map(Clause::ValuesCount),
            "is_empty" => fields.is_empty = r.optional(absence)?,
            "is_null" => fields.is_null = r.optional(absence)?,
            "has_id" => fields.has_id = r.optional(|r| self.has_id(r))?,
            "has_vector" => fields.has_vector = r.optional(|r| r.string().map(Box::from))?,
            "nested" => fields.nested = r.optional(|r| self.nested(r))?,
            "slice" => fields.slice = r.optional(IdSlice::parse)?,
            _ => return self.group(r, name, &mut fields.groups),
        }
        Ok(true)
    }

    fn nested(&mut self, r: &mut Reader<'_>) -> Result<Condition> {
        let (mut key, mut filter) = (None, None);
        r.object(|r, name| {
            match name {
                "key" => key = r.optional(JsonPath::read)?,
                "filter" => filter = r.optional(|r| self.filter(r))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let key = key.ok_or_else(|| r.missing("key"))?.opened();
        let filter = filter.ok_or_else(|| r.missing("filter"))?;
        Ok(Condition::Nested { key, filter })
    }

    fn has_id(&self, r: &mut Reader<'_>) -> Result<Box<[PointId]>> {
        let limit = self.limits.max_points_per_request;
        let mut ids = Vec::new();
        r.array(|r, index| {
            if index >= limit {
                return Err(r.error(format!("more than {limit} ids (max_points_per_request)")));
            }
            point_id(r, &mut ids)
        })?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids.into())
    }
}

fn field(key: JsonPath, clauses: Vec<Clause>) -> Condition {
    Condition::Field { key, clauses }
}
