//! Reading the clauses of field conditions, and ids.

use super::Clause;
use super::matching::{Keyword, KeywordList, Match};
use super::text::TextQuery;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::json::{Kind, Reader};
use crate::payload::{GeoPoint, GeoShape, Interval, JsonPath, TextMatch, parse_datetime};
use crate::types::{IdKind, PointId};

type Result<T> = std::result::Result<T, Error>;

/// The two spellings of `is_empty` and `is_null`.
pub(super) enum Absence {
    /// `{key, is_empty: bool}`
    Flag(bool),
    /// `{is_empty: {key}}`
    Of(JsonPath),
}

/// Reads an id, and adds it to `ids`. One that may be of any collection is each id that its string can be.
pub(super) fn point_id(r: &mut Reader<'_>, ids: &mut Vec<PointId>) -> Result<()> {
    let before = ids.len();
    let kind = if r.ids.are_of_any { IdKind::String } else { r.ids.kind };
    let text = match r.peek()? {
        Kind::Number => {
            let text = r.number_text()?;
            ids.extend(text.parse().ok().map(PointId::Num));
            text.into()
        }
        Kind::String => {
            let text = r.string()?;
            ids.extend(PointId::of_string(&text, kind));
            if r.ids.are_of_any && !PlantedFault::TokenNamesStringsOnly.is_on() {
                ids.extend(PointId::of_string(&text, IdKind::Default));
            }
            text
        }
        other => other.word().into(),
    };
    if ids.len() > before {
        return Ok(());
    }
    let (text, valid) = (shown(&text), kind.valid_values());
    Err(r.error(format!("value {text} is not a valid point ID, valid values are {valid}")))
}

/// The beginning of a text of the request, for a message.
fn shown(text: &str) -> String {
    const CHARACTERS: usize = 60;
    let mut shown: String = text.chars().take(CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

pub(super) fn absence(r: &mut Reader<'_>) -> Result<Absence> {
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

pub(super) fn matching(r: &mut Reader<'_>) -> Result<Match> {
    let mut found: Vec<(String, Match)> = Vec::new();
    r.object(|r, name| {
        let read = match name {
            "value" => match_value,
            "any" => |r: &mut Reader<'_>| list(r, Match::AnyKeyword, Match::AnyInteger),
            "except" => |r: &mut Reader<'_>| list(r, Match::ExceptKeyword, Match::ExceptInteger),
            "prefix" => |r: &mut Reader<'_>| Ok(Match::Prefix(r.string()?.into())),
            "text" => |r: &mut Reader<'_>| text(r, TextMatch::All),
            "text_any" => |r: &mut Reader<'_>| text(r, TextMatch::Any),
            "phrase" => |r: &mut Reader<'_>| text(r, TextMatch::Phrase),
            "substring" => |r: &mut Reader<'_>| Ok(Match::Substring(r.string()?.into())),
            _ => return r.unknown(),
        };
        // The last value of a repeated key counts, null included.
        found.retain(|(known, _)| known != name);
        found.extend(r.optional(read)?.map(|wanted| (name.to_string(), wanted)));
        Ok(())
    })?;
    if let [(first, _), (second, _), ..] = found.as_slice() {
        return Err(r.error(format!("a match is of one kind, got both {first} and {second}")));
    }
    match found.pop() {
        Some((_, wanted)) => Ok(wanted),
        None => Err(r.error("expected one of value, any, except, prefix, substring, text, text_any, phrase")),
    }
}

fn text(r: &mut Reader<'_>, how: TextMatch) -> Result<Match> {
    Ok(Match::Text(TextQuery::new(how, &r.string()?)))
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

/// Reads a list of strings or of integers, not of both.
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

pub(super) fn range(r: &mut Reader<'_>) -> Result<Clause> {
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
    Ok(if datetimes > 0 {
        Clause::DatetimeRange(mapped(bounds, datetime))
    } else {
        Clause::Range(mapped(bounds, number))
    })
}

fn mapped<T, U>(bounds: Interval<T>, map: impl Fn(Option<T>) -> Option<U>) -> Interval<U> {
    Interval { gt: map(bounds.gt), gte: map(bounds.gte), lt: map(bounds.lt), lte: map(bounds.lte) }
}

fn interval<T>(
    r: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T>,
) -> Result<Interval<T>> {
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

pub(super) fn values_count(r: &mut Reader<'_>) -> Result<Interval<u64>> {
    interval(r, |r| r.u64())
}

/// Reads `{lon, lat}`, in degrees.
pub(crate) fn geo_point(r: &mut Reader<'_>) -> Result<GeoPoint> {
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

pub(super) fn geo_box(r: &mut Reader<'_>) -> Result<GeoShape> {
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

pub(super) fn geo_radius(r: &mut Reader<'_>) -> Result<GeoShape> {
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

pub(super) fn geo_polygon(r: &mut Reader<'_>) -> Result<GeoShape> {
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
