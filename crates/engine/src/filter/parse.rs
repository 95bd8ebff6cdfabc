//! Reading filters: the grammar of C7.
//!
//! Every error is a filter parse error that names its place (C1.4); an unknown key is one, never ignored.

use super::geo::{GeoPoint, GeoShape};
use super::matching::{Keyword, KeywordList, Match};
use super::text::Words;
use super::{Clause, Condition, Filter, MinShould};
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::payload::{Interval, JsonPath, parse_datetime};
use crate::types::PointId;

/// Filters inside filters.
const MAX_FILTER_DEPTH: usize = 64;
/// Nesting of the body at which filters end. Below the reader's own limit, so that the error is the filter's.
const MAX_PLACE_DEPTH: usize = 148;

type Result<T> = std::result::Result<T, Error>;

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// `FilterParse` that names the place: not of the grammar, nested too deep, or beyond a limit, which it names.
    pub fn parse(reader: &mut Reader<'_>, limits: &Limits) -> Result<Filter> {
        reader.in_filter(|r| Parser { limits, conditions: 0, depth: 0 }.filter(r))
    }
}

struct Parser<'l> {
    limits: &'l Limits,
    /// Conditions read so far, at all levels.
    conditions: usize,
    /// Filters around the place.
    depth: usize,
}

/// The groups of a filter, as far as they are given.
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

/// The clauses of a field condition, as far as they are given: a repeated key takes the last.
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

/// The two spellings of `is_empty` and `is_null`.
enum Absence {
    /// `{key, is_empty: bool}`
    Flag(bool),
    /// `{is_empty: {key}}`
    Of(JsonPath),
}

impl Parser<'_> {
    fn filter(&mut self, r: &mut Reader<'_>) -> Result<Filter> {
        let mut groups = Groups::default();
        r.object(|r, key| if self.group(r, key, &mut groups)? { Ok(()) } else { r.unknown() })?;
        Ok(groups.filter())
    }

    /// Reads the value of `key` if it is a group of a filter; answers whether it is.
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
        self.depth += 1;
        if self.depth > MAX_FILTER_DEPTH {
            return Err(r.error(format!("filter is nested deeper than {MAX_FILTER_DEPTH} levels")));
        }
        if r.depth() > MAX_PLACE_DEPTH {
            return Err(r.error("filter is nested too deep in the body"));
        }
        let list = r.one_or_many(|r| self.condition(r))?;
        self.depth -= 1;
        Ok(list)
    }

    fn min_should(&mut self, r: &mut Reader<'_>) -> Result<MinShould> {
        let (mut conditions, mut min_count) = (None, None);
        r.object(|r, key| {
            match key {
                "conditions" => conditions = r.optional(|r| self.conditions(r))?,
                "min_count" => min_count = r.optional(Reader::u64)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let conditions = conditions.ok_or_else(|| r.missing("conditions"))?;
        let min_count = min_count.ok_or_else(|| r.missing("min_count"))?;
        Ok(MinShould { conditions, min_count })
    }

    fn condition(&mut self, r: &mut Reader<'_>) -> Result<Condition> {
        self.conditions += 1;
        let limit = self.limits.max_filter_conditions;
        if self.conditions > limit {
            return Err(r.error(format!("more than {limit} conditions in a filter (max_filter_conditions)")));
        }
        let mut groups = Groups::default();
        let mut clauses = Clauses::default();
        let (mut key, mut has_id, mut has_vector, mut nested) = (None, None, None, None);
        let (mut is_empty, mut is_null) = (None, None);
        r.object(|r, name| {
            match name {
                "key" => key = r.optional(JsonPath::read)?,
                "match" => clauses.matching = r.optional(matching)?.map(Clause::Match),
                "range" => clauses.range = r.optional(range)?,
                "geo_bounding_box" => clauses.geo_box = r.optional(geo_box)?.map(Clause::Geo),
                "geo_radius" => clauses.geo_radius = r.optional(geo_radius)?.map(Clause::Geo),
                "geo_polygon" => clauses.geo_polygon = r.optional(geo_polygon)?.map(Clause::Geo),
                "values_count" => clauses.values_count = r.optional(values_count)?.map(Clause::ValuesCount),
                "is_empty" => is_empty = r.optional(absence)?,
                "is_null" => is_null = r.optional(absence)?,
                "has_id" => has_id = r.optional(|r| self.has_id(r))?,
                "has_vector" => has_vector = r.optional(|r| r.string().map(Box::from))?,
                "nested" => nested = r.optional(|r| self.nested(r))?,
                "slice" => return Err(r.error("slice conditions are not available")),
                _ if self.group(r, name, &mut groups)? => {}
                _ => r.unknown()?,
            }
            Ok(())
        })?;

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
        found.extend(nested.map(|condition| ("nested", condition)));
        if groups.is_given() || found.is_empty() {
            found.push(("a filter", Condition::Filter(groups.filter())));
        }
        if let [(first, _), (second, _), ..] = found.as_slice() {
            return Err(r.error(format!("a condition is of one kind, got both {first} and {second}")));
        }
        let (_, condition) = found.pop().expect("without any other kind it is a filter");
        Ok(condition)
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
            ids.push(point_id(r)?);
            Ok(())
        })?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids.into())
    }
}

fn field(key: JsonPath, clauses: Vec<Clause>) -> Condition {
    Condition::Field { key, clauses }
}

fn point_id(r: &mut Reader<'_>) -> Result<PointId> {
    let (text, id) = match r.peek()? {
        Kind::Number => {
            let text = r.number_text()?;
            (text.to_string(), text.parse().ok().map(PointId::Num))
        }
        Kind::String => {
            let text = r.string()?;
            let id = PointId::parse_uuid(&text).map(PointId::Uuid);
            (text.into_owned(), id)
        }
        other => (other.word().to_string(), None),
    };
    id.ok_or_else(|| {
        let text = shown(&text);
        r.error(format!("value {text} is not a valid point ID, valid values are either an unsigned integer or a UUID"))
    })
}

/// A text of the request for a message, which it may not flood.
fn shown(text: &str) -> String {
    const CHARACTERS: usize = 60;
    let mut shown: String = text.chars().take(CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn absence(r: &mut Reader<'_>) -> Result<Absence> {
    match r.peek()? {
        Kind::Bool => r.bool().map(Absence::Flag),
        Kind::Object => {
            let mut path = None;
            r.object(|r, name| {
                match name {
                    "key" => path = r.optional(JsonPath::read)?,
                    _ => r.unknown()?,
                }
                Ok(())
            })?;
            path.map(Absence::Of).ok_or_else(|| r.missing("key"))
        }
        _ => Err(r.error("expected a boolean or an object with key")),
    }
}

fn matching(r: &mut Reader<'_>) -> Result<Match> {
    let mut found: Vec<(String, Match)> = Vec::new();
    r.object(|r, name| {
        let read = match name {
            "value" => match_value,
            "any" => |r: &mut Reader<'_>| list(r, Match::AnyKeyword, Match::AnyInteger),
            "except" => |r: &mut Reader<'_>| list(r, Match::ExceptKeyword, Match::ExceptInteger),
            "prefix" => |r: &mut Reader<'_>| Ok(Match::Prefix(r.string()?.into())),
            "text" => |r: &mut Reader<'_>| Ok(Match::Text(Words::new(&r.string()?))),
            "text_any" => |r: &mut Reader<'_>| Ok(Match::TextAny(Words::new(&r.string()?))),
            "phrase" => |r: &mut Reader<'_>| Ok(Match::Phrase(Words::new(&r.string()?))),
            "substring" => return Err(r.error("substring matching is not available, use text, phrase or prefix")),
            _ => return r.unknown(),
        };
        // A repeated key takes the last value, null included.
        found.retain(|(known, _)| known != name);
        found.extend(r.optional(read)?.map(|wanted| (name.to_string(), wanted)));
        Ok(())
    })?;
    if let [(first, _), (second, _), ..] = found.as_slice() {
        return Err(r.error(format!("a match is of one kind, got both {first} and {second}")));
    }
    match found.pop() {
        Some((_, wanted)) => Ok(wanted),
        None => Err(r.error("expected one of value, any, except, prefix, text, text_any, phrase")),
    }
}

fn match_value(r: &mut Reader<'_>) -> Result<Match> {
    match r.peek()? {
        Kind::String => Ok(Match::Keyword(Keyword::new(&r.string()?))),
        Kind::Number => integer(r).map(Match::Integer),
        Kind::Bool => r.bool().map(Match::Bool),
        other => Err(r.error(format!("expected a string, an integer or a boolean, got {}", other.word()))),
    }
}

fn integer(r: &mut Reader<'_>) -> Result<i64> {
    let text = r.number_text()?;
    text.parse().map_err(|_| r.error(format!("expected a signed 64-bit integer, got {}", shown(text))))
}

/// A list of strings alone, or of integers alone.
fn list(
    r: &mut Reader<'_>,
    of_keywords: fn(KeywordList) -> Match,
    of_integers: fn(Box<[i64]>) -> Match,
) -> Result<Match> {
    let (mut keywords, mut integers) = (Vec::new(), Vec::new());
    r.array(|r, index| {
        match r.peek()? {
            Kind::String if integers.is_empty() => keywords.push(Keyword::new(&r.string()?)),
            Kind::Number if keywords.is_empty() => integers.push(integer(r)?),
            Kind::String | Kind::Number => return Err(r.error("a list is either of strings or of integers")),
            other => {
                let wanted = if index == 0 { "a string or an integer" } else { "a value like the first" };
                return Err(r.error(format!("expected {wanted}, got {}", other.word())));
            }
        }
        Ok(())
    })?;
    if integers.is_empty() {
        return Ok(of_keywords(KeywordList::new(keywords)));
    }
    integers.sort_unstable();
    integers.dedup();
    Ok(of_integers(integers.into()))
}

/// A bound of a range.
#[derive(Clone, Copy)]
enum Bound {
    Number(f64),
    Datetime(i64),
}

fn range(r: &mut Reader<'_>) -> Result<Clause> {
    let bounds = interval(r, |r| match r.peek()? {
        Kind::Number => r.f64().map(Bound::Number),
        Kind::String => {
            let text = r.string()?;
            parse_datetime(&text).map(Bound::Datetime).ok_or_else(|| {
                let text = shown(&text);
                r.error(format!(
                    "'{text}' does not match accepted datetime format (RFC3339). Example: 2014-01-01T00:00:00Z"
                ))
            })
        }
        other => Err(r.error(format!("expected a number or a date-time, got {}", other.word()))),
    })?;
    let all = [bounds.gt, bounds.gte, bounds.lt, bounds.lte];
    let datetimes = all.iter().flatten().filter(|bound| matches!(bound, Bound::Datetime(_))).count();
    if datetimes > 0 && datetimes < all.iter().flatten().count() {
        return Err(r.error("the bounds are either all numbers or all date-times"));
    }
    let number = |bound: Option<Bound>| match bound {
        Some(Bound::Number(value)) => Some(value),
        _ => None,
    };
    let datetime = |bound: Option<Bound>| match bound {
        Some(Bound::Datetime(micros)) => Some(micros),
        _ => None,
    };
    Ok(if datetimes > 0 { Clause::DatetimeRange(mapped(bounds, datetime)) } else { Clause::Range(mapped(bounds, number)) })
}

fn mapped<T, U>(bounds: Interval<T>, map: impl Fn(Option<T>) -> Option<U>) -> Interval<U> {
    Interval { gt: map(bounds.gt), gte: map(bounds.gte), lt: map(bounds.lt), lte: map(bounds.lte) }
}

fn interval<T>(r: &mut Reader<'_>, mut read: impl FnMut(&mut Reader<'_>) -> Result<T>) -> Result<Interval<T>> {
    let mut bounds = Interval::default();
    r.object(|r, name| {
        match name {
            "gt" => bounds.gt = r.optional(&mut read)?,
            "gte" => bounds.gte = r.optional(&mut read)?,
            "lt" => bounds.lt = r.optional(&mut read)?,
            "lte" => bounds.lte = r.optional(&mut read)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(bounds)
}

fn values_count(r: &mut Reader<'_>) -> Result<Interval<u64>> {
    interval(r, |r| r.u64())
}

fn geo_point(r: &mut Reader<'_>) -> Result<GeoPoint> {
    let degrees = |r: &mut Reader<'_>, most: f64| {
        let value = r.f64()?;
        if value.abs() > most {
            return Err(r.error(format!("value {value} invalid, must be within [-{most};{most}]")));
        }
        Ok(value)
    };
    let (mut lon, mut lat) = (None, None);
    r.object(|r, name| {
        match name {
            "lon" => lon = r.optional(|r| degrees(r, 180.0))?,
            "lat" => lat = r.optional(|r| degrees(r, 90.0))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(GeoPoint { lon: lon.ok_or_else(|| r.missing("lon"))?, lat: lat.ok_or_else(|| r.missing("lat"))? })
}

fn geo_box(r: &mut Reader<'_>) -> Result<GeoShape> {
    let (mut top_left, mut bottom_right) = (None, None);
    r.object(|r, name| {
        match name {
            "top_left" => top_left = r.optional(geo_point)?,
            "bottom_right" => bottom_right = r.optional(geo_point)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let top_left = top_left.ok_or_else(|| r.missing("top_left"))?;
    let bottom_right = bottom_right.ok_or_else(|| r.missing("bottom_right"))?;
    Ok(GeoShape::Box { top_left, bottom_right })
}

fn geo_radius(r: &mut Reader<'_>) -> Result<GeoShape> {
    let (mut center, mut radius) = (None, None);
    r.object(|r, name| {
        match name {
            "center" => center = r.optional(geo_point)?,
            "radius" => radius = r.optional(Reader::f64)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let center = center.ok_or_else(|| r.missing("center"))?;
    Ok(GeoShape::Radius { center, radius_m: radius.ok_or_else(|| r.missing("radius"))? })
}

fn geo_polygon(r: &mut Reader<'_>) -> Result<GeoShape> {
    let (mut exterior, mut interiors) = (None, None);
    r.object(|r, name| {
        match name {
            "exterior" => exterior = r.optional(ring)?,
            "interiors" => {
                interiors = r.optional(|r| {
                    let mut rings = Vec::new();
                    r.array(|r, _| {
                        rings.push(ring(r)?);
                        Ok(())
                    })?;
                    Ok(rings)
                })?;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let exterior = exterior.ok_or_else(|| r.missing("exterior"))?;
    Ok(GeoShape::Polygon { exterior, interiors: interiors.unwrap_or_default() })
}

/// A closed line: at least four places, the last equal to the first.
fn ring(r: &mut Reader<'_>) -> Result<Vec<GeoPoint>> {
    let mut points = None;
    r.object(|r, name| {
        match name {
            "points" => {
                points = r.optional(|r| {
                    let mut list = Vec::new();
                    r.array(|r, _| {
                        list.push(geo_point(r)?);
                        Ok(())
                    })?;
                    Ok(list)
                })?;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let points: Vec<GeoPoint> = points.ok_or_else(|| r.missing("points"))?;
    if points.len() < 4 {
        let got = points.len();
        return Err(r.error(format!("polygon invalid, the size must be at least 4, got {got}")));
    }
    if points.first() != points.last() {
        return Err(r.error(
            "polygon invalid, the first and the last points should be the same to form a closed line",
        ));
    }
    Ok(points)
}
