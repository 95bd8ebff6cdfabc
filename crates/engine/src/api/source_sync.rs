//! The bodies of a sync of a source and of its plan (C20).

use super::body::{self, Budget, Result, field_error};
use super::id::read_id;
use super::strictness::RequestBody;
use super::text_input;
use super::upsert::object_bytes_by;
use super::vector::VectorReader;
use crate::change::Revision;
use crate::collection::update::{
    ContentHash, NamedVectors, SourceSync, SyncContent, SyncEntries, SyncEntry, Texts,
};
use crate::config::{NamedModels, VectorModels};
use crate::error::Error;
use crate::filter::Filter;
use crate::json::{Kind, Mark, Reader, TwoNames};
use crate::limits::{Limits, MAX_SYNC_ENTRIES};
use crate::payload::JsonPath;
use crate::scheduling::yield_to_reads;
use crate::types::PointId;
use std::ops::Range;

/// The longest `sync_id`, in bytes.
const MAX_SYNC_ID_BYTES: usize = 128;

/// A sync, or a part of one.
#[derive(Debug)]
pub struct SyncRequest {
    /// What the scope is to hold, or what the part has of it.
    pub sync: SourceSync,
    /// None of a sync in one request.
    pub part: Option<SyncPart>,
}

/// Which part of a sync a request has.
#[derive(Debug)]
pub struct SyncPart {
    /// What the parts of the sync have in common.
    pub sync_id: Box<str>,
    /// Whether no part comes after it.
    pub is_last: bool,
    /// What the last part says of how many points of the source were staged before, if it does.
    pub staged: Option<u64>,
}

/// Reads the body of a sync.
pub(super) fn read_sync(body: &(impl RequestBody + ?Sized), limits: &Limits) -> Result<SyncRequest> {
    let (draft, marks) = body::parse_with_marks(body, |reader| {
        let mut draft = Draft::default();
        let (mut named, mut forms) = (None, VectorReader::of_documents().with_any_number_of_texts());
        reader.object(|r, key| {
            match key {
                "points" => draft.points = r.optional(|r| read_points(r, &mut forms, limits))?,
                "model" => named = r.optional(|r| NamedModels::read(r, limits.max_named_vectors))?,
                "if_revision" => draft.if_revision = r.optional(read_revision)?,
                "sync_id" => draft.sync_id = r.optional(read_sync_id)?,
                "last" => draft.last = r.optional(Reader::bool)?,
                "staged" => draft.staged = r.optional(Reader::u64)?,
                _ if draft.common.field(r, key, limits)? => {}
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        draft.finish(reader, forms.into_models().naming(&named.unwrap_or_default()))
    })?;
    draft.with_texts(body.bytes(), &marks)
}

/// Reads the body of a plan: a sync of entries without content.
pub(super) fn read_plan(reader: &mut Reader<'_>, limits: &Limits) -> Result<SourceSync> {
    let (mut common, mut points) = (Common::default(), None);
    reader.object(|r, key| {
        match key {
            "points" => points = r.optional(read_bare_points)?,
            _ if common.field(r, key, limits)? => {}
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let (scope, hash_key) = common.finish(reader)?;
    let mut entries = SyncEntries::default();
    for (id, hash) in points.ok_or_else(|| reader.missing("points"))? {
        let _ = entries.put(SyncEntry { id, hash, content: None });
    }
    Ok(SourceSync::new(scope, hash_key, entries, VectorModels::default()))
}

/// What a sync and a plan have in common.
#[derive(Default)]
struct Common {
    scope: Option<Filter>,
    all: Option<bool>,
    hash_key: Option<JsonPath>,
}

impl Common {
    /// Reads the value of a field if it is one of these. False if not.
    fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "scope" => self.scope = reader.optional(|r| Filter::parse(r, limits))?,
            "all" => self.all = reader.optional(Reader::bool)?,
            "hash_key" => self.hash_key = reader.optional(read_hash_key)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The scope and the key. `reader` is just behind the object.
    fn finish(self, reader: &Reader<'_>) -> Result<(Filter, JsonPath)> {
        let scope = self.scope.ok_or_else(|| reader.missing("scope"))?;
        match (scope.restricts(), self.all == Some(true)) {
            (true, false) | (false, true) => {}
            (false, false) => {
                return Err(field_error(reader, "scope", "matches every point: say so (all: true)"));
            }
            (true, true) => {
                return Err(field_error(
                    reader,
                    "all",
                    "goes with an empty scope, and this one has conditions",
                ));
            }
        }
        Ok((scope, self.hash_key.ok_or_else(|| reader.missing("hash_key"))?))
    }
}

/// What was read of a sync.
#[derive(Default)]
struct Draft {
    common: Common,
    points: Option<Vec<ReadPoint>>,
    if_revision: Option<Revision>,
    sync_id: Option<Box<str>>,
    last: Option<bool>,
    staged: Option<u64>,
}

/// A point as it was read: whether it needs content is known when all is read.
struct ReadPoint {
    id: PointId,
    hash: Option<ContentHash>,
    vectors: Option<NamedVectors>,
    payload: Option<Box<[u8]>>,
    /// Its texts among the marks.
    marks: Range<usize>,
}

impl Draft {
    /// Checks which fields go together. `reader` is just behind the object.
    fn check(&self, reader: &Reader<'_>) -> Result<()> {
        let is_last = self.last == Some(true);
        let wrong = match (&self.sync_id, is_last) {
            (None, true) => Some(("last", "goes with sync_id")),
            (None, false) if self.staged.is_some() => Some(("staged", "goes with sync_id")),
            (Some(_), false) if self.staged.is_some() => {
                Some(("staged", "goes with the last part (last: true)"))
            }
            (Some(_), false) if self.if_revision.is_some() => {
                Some(("if_revision", "goes with the last part (last: true)"))
            }
            _ => None,
        };
        wrong.map_or(Ok(()), |(field, why)| Err(field_error(reader, field, why)))
    }

    /// What it is, but for its texts. `reader` is just behind the object.
    fn finish(self, reader: &Reader<'_>, models: VectorModels) -> Result<ReadSync> {
        self.check(reader)?;
        let points = self.points.ok_or_else(|| reader.missing("points"))?;
        let (scope, hash_key) = self.common.finish(reader)?;
        let (is_last, staged) = (self.last == Some(true), self.staged);
        let part = self.sync_id.map(|sync_id| SyncPart { sync_id, is_last, staged });
        Ok(ReadSync { scope, hash_key, points, models, if_revision: self.if_revision, part })
    }
}

/// A sync that was read, but for its texts.
struct ReadSync {
    scope: Filter,
    hash_key: JsonPath,
    points: Vec<ReadPoint>,
    models: VectorModels,
    if_revision: Option<Revision>,
    part: Option<SyncPart>,
}

impl ReadSync {
    fn with_texts(self, body: &[u8], marks: &[Mark]) -> Result<SyncRequest> {
        let ReadSync { scope, hash_key, points, models, if_revision, part } = self;
        let mut entries = SyncEntries::default();
        for (place, point) in points.into_iter().enumerate() {
            let _ = entries.put(point.entry(place, &hash_key, body, marks)?);
        }
        let mut sync = SourceSync::new(scope, hash_key, entries, models);
        sync.if_revision = if_revision;
        Ok(SyncRequest { sync, part })
    }
}

impl ReadPoint {
    /// The entry, at a place of the list.
    fn entry(self, place: usize, key: &JsonPath, body: &[u8], marks: &[Mark]) -> Result<SyncEntry> {
        let id = self.id;
        let (vectors, payload) = match (self.vectors, self.payload, self.hash) {
            (None, None, Some(hash)) => return Ok(SyncEntry { id, hash, content: None }),
            (None, None, None) => return Err(Error::MissingField(format!("points[{place}].hash"))),
            (_, _, Some(_)) => {
                let why = "goes with an id alone: of a point with content the payload has it";
                return Err(Error::bad(format!("points[{place}].hash: {why}")));
            }
            (None, Some(_), None) => return Err(Error::MissingField(format!("points[{place}].vector"))),
            (Some(vectors), payload, None) => (vectors, payload.unwrap_or_else(|| Box::from(&b"{}"[..]))),
        };
        let hash = ContentHash::of(&payload, key).ok_or_else(|| {
            Error::bad(format!(
                "points[{place}].payload: expected a string of at most 256 bytes or an integer at '{key}' (hash_key)"
            ))
        })?;
        let texts = text_input::inputs(body, &marks[self.marks])?;
        let texts = if texts.is_empty() { Texts::None } else { Texts::Wanted(texts) };
        Ok(SyncEntry { id, hash, content: Some(Box::new(SyncContent { vectors, payload, place, texts })) })
    }
}

fn read_points(reader: &mut Reader<'_>, forms: &mut VectorReader, limits: &Limits) -> Result<Vec<ReadPoint>> {
    let place = reader.path();
    let mut budget = Budget::new(limits);
    let (mut points, mut scratch) = (Vec::new(), Vec::new());
    reader.array(|r, index| {
        check_count(&place, index)?;
        let first = r.marked().unwrap_or(0);
        let (mut id, mut hash, mut payload) = (None, None, None);
        let mut vectors = TwoNames::default();
        r.object(|r, key| {
            match key {
                "id" => id = r.optional(read_id)?,
                "hash" => hash = r.optional(read_hash)?,
                "vector" | "vectors" => {
                    vectors.put(key == "vectors", r.optional(|r| forms.of_point(r, limits))?);
                }
                "payload" => payload = r.optional(|r| object_bytes_by(r, &mut scratch))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let vectors = vectors.take();
        if vectors.is_some() || payload.is_some() {
            budget.take(&place)?;
        }
        let id = id.ok_or_else(|| r.missing("id"))?;
        let marks = first..r.marked().unwrap_or(0);
        points.push(ReadPoint { id, hash, vectors, payload, marks });
        yield_to_reads();
        Ok(())
    })?;
    Ok(points)
}

fn read_bare_points(reader: &mut Reader<'_>) -> Result<Vec<(PointId, ContentHash)>> {
    let place = reader.path();
    let mut points = Vec::new();
    reader.array(|r, index| {
        check_count(&place, index)?;
        let (mut id, mut hash) = (None, None);
        r.object(|r, key| {
            match key {
                "id" => id = r.optional(read_id)?,
                "hash" => hash = r.optional(read_hash)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let id = id.ok_or_else(|| r.missing("id"))?;
        points.push((id, hash.ok_or_else(|| r.missing("hash"))?));
        Ok(())
    })?;
    Ok(points)
}

fn check_count(place: &str, index: usize) -> Result<()> {
    if index < MAX_SYNC_ENTRIES {
        return Ok(());
    }
    let why = "points of a source a request: send it in parts (sync_id)";
    Err(Error::bad(format!("{place}: at most {MAX_SYNC_ENTRIES} {why}")))
}

fn read_hash(reader: &mut Reader<'_>) -> Result<ContentHash> {
    let found = match reader.peek()? {
        Kind::String => ContentHash::text(&reader.string()?),
        Kind::Number => ContentHash::integer(reader.number_text()?),
        _ => None,
    };
    found.ok_or_else(|| reader.error("expected a string of at most 256 bytes or an integer"))
}

fn read_hash_key(reader: &mut Reader<'_>) -> Result<JsonPath> {
    let key = JsonPath::read(reader)?;
    if key.names_one_value() { Ok(key) } else { Err(reader.error("must name one value, without []")) }
}

fn read_revision(reader: &mut Reader<'_>) -> Result<Revision> {
    let text = reader.string()?;
    Revision::parse(&text)
        .ok_or_else(|| reader.error("expected 32 hexadecimal digits, as an answer has them"))
}

fn read_sync_id(reader: &mut Reader<'_>) -> Result<Box<str>> {
    let text = reader.string()?;
    if text.is_empty() || text.len() > MAX_SYNC_ID_BYTES {
        return Err(reader.error(format!("must have 1 to {MAX_SYNC_ID_BYTES} bytes, got {}", text.len())));
    }
    Ok(Box::from(&*text))
}
