//! A write of several shards: the body that each of them gets.

use super::members::{Members, elements};
use super::placement::shard_of;
use super::request::{Layout, ShardedRequest, unavailable};
use crate::api::response::write_list;
use crate::api::{self, BodyForm, Operation, read_id, textual_id};
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::json::Reader;
use crate::types::PointId;

type Result<T> = std::result::Result<T, Error>;

/// What each shard has of something; nothing where it has no part.
type Parts<T> = Vec<Option<T>>;

/// What a shard gets in the place of an operation of a batch that it has no part in.
const NO_PART: &[u8] = br#"{"delete":{"points":[]}}"#;

/// The body of a write for each shard; `None` where a shard has no part in it.
///
/// Points, and what is said of ids, go to the shards of the ids. What selects by a filter, and what concerns the collection as
/// a whole, goes to all shards. A body that names no point goes to the first one, so that it has an answer. Every value keeps
/// its text. The body is read as the engine reads it; with one shard it passes unchanged then.
///
/// # Errors
/// Those of the parser of the operation, [`Error::VectorsWanted`] included; `NeedsJson` where vectors are packed; `BadRequest`
/// for an Arrow IPC stream and for operations that are not available for a collection of several shards.
pub fn split_write(request: &ShardedRequest<'_>, layout: &Layout) -> Result<Parts<Vec<u8>>> {
    let shards = layout.shards.max(1) as usize;
    if shards == 1 {
        // The other forms have no texts, and what is wrong with them the one shard says.
        if request.is_text() && names_points(request.operation) {
            check(request, layout)?;
        }
        return Ok(vec![Some(request.body.to_vec())]);
    }
    if concerns_all(request.operation) {
        return Ok(vec![Some(request.body.to_vec()); shards]);
    }
    request.check_form()?;
    check(request, layout)?;
    let text = std::str::from_utf8(request.body).unwrap_or_default();
    let split = Split { layout, shards };
    Ok(match request.operation {
        Operation::UpsertPoints if request.form == BodyForm::Lines => split.lines(text)?,
        Operation::BatchUpdate => split.batch(&Members::parse(request.body)?)?,
        operation => {
            let what = What::of(operation).ok_or_else(|| unavailable(operation.title()))?;
            split.object(what, &Members::parse(request.body)?)?
        }
    })
}

/// Whether a write goes to each shard as it is.
fn concerns_all(operation: Operation) -> bool {
    use Operation::*;
    matches!(
        operation,
        CreateCollection
            | UpdateCollection
            | DeleteCollection
            | CreateFieldIndex
            | DeleteFieldIndex
            | CreateVectorName
            | DeleteVectorName
            | Flush
            | Optimize
            | RebuildIndex
            | RemoveExpired
    )
}

/// Whether a write changes points.
fn names_points(operation: Operation) -> bool {
    operation == Operation::BatchUpdate || What::of(operation).is_some()
}

/// Reads the body as the engine does.
fn check(request: &ShardedRequest<'_>, layout: &Layout) -> Result<()> {
    use Operation::*;
    let kinds = |_: &str| layout.ids;
    let body = request.parsed_body(layout, &kinds)?;
    let (strict, limits) = (body.strictly(), request.limits);
    match request.operation {
        UpsertPoints if request.form == BodyForm::Lines => api::upsert_lines(&strict, limits).map(drop),
        UpsertPoints => api::upsert(&strict, limits).map(drop),
        DeletePoints => api::delete_points(&strict, limits).map(drop),
        UpdateVectors => api::update_vectors(&strict, limits).map(drop),
        DeleteVectors => api::delete_vectors(&strict, limits).map(drop),
        SetPayload => api::set_payload(&strict, limits).map(drop),
        OverwritePayload => api::overwrite_payload(&strict, limits).map(drop),
        DeletePayload => api::delete_payload(&strict, limits).map(drop),
        ClearPayload => api::clear_payload(&strict, limits).map(drop),
        BatchUpdate => api::batch_update(&strict, limits).map(drop),
        other => Err(unavailable(other.title())),
    }
}

/// What an update names its points by.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// Whole points, in a list or in columns.
    Points,
    /// Vectors of points, in a list.
    Vectors,
    /// Ids, or a filter.
    Selection,
}

impl What {
    pub fn of(operation: Operation) -> Option<What> {
        use Operation::*;
        match operation {
            UpsertPoints => Some(What::Points),
            UpdateVectors => Some(What::Vectors),
            DeletePoints | DeleteVectors | SetPayload | OverwritePayload | DeletePayload | ClearPayload => {
                Some(What::Selection)
            }
            _ => None,
        }
    }

    /// What an operation of a batch does, by its name there.
    pub fn named(name: &str) -> What {
        match name {
            "upsert" => What::Points,
            "update_vectors" => What::Vectors,
            _ => What::Selection,
        }
    }
}

struct Split<'l> {
    layout: &'l Layout,
    shards: usize,
}

impl Split<'_> {
    fn reader<'t>(&self, text: &'t str) -> Result<Reader<'t>> {
        let mut reader = Reader::new(text.as_bytes())?;
        reader.ids.kind = self.layout.ids;
        Ok(reader)
    }

    fn shard_of(&self, id: &PointId) -> usize {
        shard_of(id, self.layout.shards) as usize
    }

    fn none<T: Clone>(&self) -> Vec<Vec<T>> {
        vec![Vec::new(); self.shards]
    }

    /// A body of lines, each with a point.
    fn lines(&self, text: &str) -> Result<Parts<Vec<u8>>> {
        let mut lines: Vec<Vec<u8>> = self.none();
        self.reader(text)?.lines("points", |r, _| {
            let (id, point) = element(r, text)?;
            let line = &mut lines[self.shard_of(&id)];
            line.extend_from_slice(point.as_bytes());
            line.push(b'\n');
            Ok(())
        })?;
        Ok(lines.into_iter().map(|lines| (!lines.is_empty()).then_some(lines)).collect())
    }

    /// `{operations: […]}`: a shard gets all operations if it has a part in any, so that what it answers to one is in its place,
    /// and the place of an error is that of the request.
    fn batch(&self, members: &Members<'_>) -> Result<Parts<Vec<u8>>> {
        let mut of_shards: Vec<Vec<Vec<u8>>> = self.none();
        let mut has_part = vec![false; self.shards];
        for operation in elements(members.get("operations").unwrap_or("[]"))? {
            let operation = Members::parse(operation.as_bytes())?;
            let Some((name, body)) = operation_of(&operation) else { continue };
            let parts = self.object(What::named(name), &Members::parse(body.as_bytes())?)?;
            for (shard, part) in parts.into_iter().enumerate() {
                has_part[shard] |= part.is_some();
                of_shards[shard].push(part.map_or_else(|| NO_PART.to_vec(), |part| wrapped(name, &part)));
            }
        }
        of_shards
            .iter_mut()
            .zip(has_part)
            .filter(|(_, has_part)| !has_part)
            .for_each(|(none, _)| none.clear());
        let with = |out: &mut Vec<u8>, operations: &Vec<Vec<u8>>| {
            write_list(out, operations, |out, operation| out.extend_from_slice(operation));
        };
        Ok(bodies(members, &of_shards, "operations", with))
    }

    /// The body of one operation.
    fn object(&self, what: What, members: &Members<'_>) -> Result<Parts<Vec<u8>>> {
        match what {
            What::Points if members.get("points").is_none() => self.columns(members),
            What::Points => self.list(members, "points"),
            What::Vectors => {
                let mut members = members.clone();
                // Two names of one field: the last counts.
                let name = members.last_of(&["points", "vectors"]).unwrap_or("points");
                members.remove(if name == "points" { "vectors" } else { "points" });
                self.list(&members, name)
            }
            What::Selection => self.selection(members),
        }
    }

    /// A list of objects with ids.
    fn list(&self, members: &Members<'_>, name: &'static str) -> Result<Parts<Vec<u8>>> {
        let text = members.get(name).unwrap_or("[]");
        let mut of_shards: Vec<Vec<&str>> = self.none();
        self.reader(text)?.array(|r, _| {
            let (id, point) = element(r, text)?;
            of_shards[self.shard_of(&id)].push(point);
            Ok(())
        })?;
        Ok(self.or_first(bodies(members, &of_shards, name, write_texts), members))
    }

    /// `{batch: {ids, vectors, payloads}}`.
    fn columns(&self, members: &Members<'_>) -> Result<Parts<Vec<u8>>> {
        let columns = Members::parse(members.get("batch").unwrap_or("{}").as_bytes())?;
        let ids = columns.get("ids").unwrap_or("[]");
        let mut places: Vec<Vec<usize>> = self.none();
        self.reader(ids)?.array(|r, at| {
            places[self.shard_of(&read_id(r)?)].push(at);
            Ok(())
        })?;
        let mut parts: Vec<Members<'_>> = vec![columns.clone(); self.shards];
        set_each(&mut parts, "ids", picked(ids, &places)?);
        if let Some(payloads) = columns.get("payloads") {
            set_each(&mut parts, "payloads", picked(payloads, &places)?);
        }
        match columns.get("vectors") {
            Some(vectors) if vectors.starts_with('{') => {
                let named = Members::parse(vectors.as_bytes())?;
                let mut of_shards: Vec<Members<'_>> = vec![named.clone(); self.shards];
                for (name, column) in named.iter().filter(|(_, column)| *column != "null") {
                    for (part, picked) in of_shards.iter_mut().zip(picked(column, &places)?) {
                        part.set(name, picked);
                    }
                }
                set_each(&mut parts, "vectors", of_shards.iter().map(Members::text).collect());
            }
            Some(vectors) => set_each(&mut parts, "vectors", picked(vectors, &places)?),
            None => {}
        }
        let parts: Vec<Vec<String>> = parts
            .iter()
            .zip(&places)
            .map(|(part, places)| if places.is_empty() { Vec::new() } else { vec![part.text()] })
            .collect();
        let write = |out: &mut Vec<u8>, part: &Vec<String>| out.extend_from_slice(part[0].as_bytes());
        Ok(self.or_first(bodies(members, &parts, "batch", write), members))
    }

    /// `points` or `filter`; versions go with their ids.
    fn selection(&self, members: &Members<'_>) -> Result<Parts<Vec<u8>>> {
        let Some(points) = members.get("points") else {
            return Ok(vec![Some(members.text().into_bytes()); self.shards]);
        };
        let mut of_shards: Vec<Vec<&str>> = self.none();
        for text in elements(points)? {
            let id = read_id(&mut self.reader(text)?)?;
            of_shards[self.shard_of(&id)].push(text);
        }
        let versions = members.get("if_version").filter(|versions| versions.starts_with('{'));
        let Some(versions) = versions else {
            return Ok(self.or_first(bodies(members, &of_shards, "points", write_texts), members));
        };
        let versions = Members::parse(versions.as_bytes())?;
        let own = |shard: usize| {
            let is_own =
                |key: &str| textual_id(key, self.layout.ids).is_some_and(|id| self.shard_of(&id) == shard);
            versions.matching(is_own).text()
        };
        let parts = of_shards.iter().enumerate().map(|(shard, points)| {
            let mut members = members.clone();
            members.set("if_version", own(shard));
            body(&members, points, "points", write_texts)
        });
        Ok(self.or_first(parts.collect(), members))
    }

    /// The parts; where there is none, the whole for the first shard.
    fn or_first(&self, mut parts: Parts<Vec<u8>>, members: &Members<'_>) -> Parts<Vec<u8>> {
        if parts.iter().all(Option::is_none) {
            parts[0] = Some(members.text().into_bytes());
        }
        parts
    }
}

/// The name of an operation of a batch, and its body.
pub(super) fn operation_of<'o>(operation: &'o Members<'_>) -> Option<(&'o str, &'o str)> {
    operation.iter().filter(|(_, body)| *body != "null").last()
}

/// `{name: body}`
fn wrapped(name: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + name.len() + 5);
    let mut object = ObjectWriter::start(&mut out);
    object.key(name).extend_from_slice(body);
    object.end();
    out
}

/// Reads an object with an id: the id, and the object's text, of a reader over `text`.
pub(super) fn element<'t>(reader: &mut Reader<'t>, text: &'t str) -> Result<(PointId, &'t str)> {
    let (start, mut id) = (reader.position(), None);
    reader.object(|r, key| {
        match key {
            "id" => id = r.optional(read_id)?,
            _ => r.skip()?,
        }
        Ok(())
    })?;
    let id = id.ok_or_else(|| reader.missing("id"))?;
    Ok((id, text[start..reader.position()].trim_end()))
}

/// For each shard the list of the elements at its places.
fn picked(list: &str, places: &[Vec<usize>]) -> Result<Vec<String>> {
    let all = elements(list)?;
    let pick = |places: &Vec<usize>| {
        let mut out = Vec::new();
        write_list(&mut out, places.iter().filter_map(|&at| all.get(at)), |out, text| {
            out.extend_from_slice(text.as_bytes());
        });
        String::from_utf8(out).unwrap_or_default()
    };
    Ok(places.iter().map(pick).collect())
}

fn set_each(parts: &mut [Members<'_>], name: &'static str, values: Vec<String>) {
    parts.iter_mut().zip(values).for_each(|(part, value)| part.set(name, value));
}

fn write_texts(out: &mut Vec<u8>, texts: &Vec<&str>) {
    write_list(out, texts, |out, text| out.extend_from_slice(text.as_bytes()));
}

/// For each shard the object with its own value of one member; nothing for a shard that has none of it.
fn bodies<T>(
    members: &Members<'_>,
    of_shards: &[Vec<T>],
    name: &'static str,
    write: impl Fn(&mut Vec<u8>, &Vec<T>) + Copy,
) -> Parts<Vec<u8>> {
    of_shards.iter().map(|own| body(members, own, name, write)).collect()
}

fn body<T>(
    members: &Members<'_>,
    own: &Vec<T>,
    name: &'static str,
    write: impl Fn(&mut Vec<u8>, &Vec<T>),
) -> Option<Vec<u8>> {
    if own.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    members.write_with(&mut out, |out, key| {
        let is_it = key == name;
        if is_it {
            write(out, own);
        }
        is_it
    });
    Some(out)
}
