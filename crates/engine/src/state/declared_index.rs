//! Field indexes as a collection declares them: there, or still being built.

use crate::json::Reader;
use crate::payload::{FieldIndex, FieldSchema, JsonPath, Tokenizer};
use crate::point_set::PointSet;
use crate::types::PointOffset;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A declared field index. Its definition is in force as soon as it is durable; filters are planned without it until
/// it is built, which changes no answer (C7).
#[derive(Clone)]
pub enum DeclaredIndex {
    /// It has every point of its state.
    Built(FieldIndex),
    /// A thread in the background has it to build.
    Building(IndexDraft),
}

/// What is known of an index that is being built. A clone is the same draft.
#[derive(Clone)]
pub struct IndexDraft {
    /// The definition, without points.
    blank: FieldIndex,
    /// Points that were changed since the declaration: a builder that began with an older state has to read them again.
    touched: PointSet,
    /// It is automatic (C23): no client declared it.
    is_automatic: bool,
    progress: Arc<Progress>,
}

#[derive(Default)]
struct Progress {
    /// A thread is building it.
    is_taken: AtomicBool,
    /// Points indexed so far.
    points: AtomicU64,
    /// Points read so far, whether or not they have something to index.
    read: AtomicU64,
}

impl DeclaredIndex {
    /// An index that no thread has begun to build.
    pub fn new(path: JsonPath, schema: FieldSchema) -> DeclaredIndex {
        Self::draft_of(path, schema, false)
    }

    /// A draft of an automatic index (C23).
    pub fn automatic(path: JsonPath, schema: FieldSchema) -> DeclaredIndex {
        Self::draft_of(path, schema, true)
    }

    fn draft_of(path: JsonPath, schema: FieldSchema, is_automatic: bool) -> DeclaredIndex {
        DeclaredIndex::Building(IndexDraft {
            blank: FieldIndex::new(path, schema),
            touched: PointSet::new(),
            is_automatic,
            progress: Arc::default(),
        })
    }

    /// A draft from a schema as the log and the manifest keep it.
    ///
    /// # Errors
    /// A sentence when the schema cannot be read.
    pub fn restore(path: JsonPath, schema: &[u8]) -> Result<DeclaredIndex, String> {
        let schema = Reader::new(schema).and_then(|mut reader| FieldSchema::parse(&mut reader));
        Ok(DeclaredIndex::new(path, schema.map_err(|error| error.to_string())?))
    }

    /// The index, once it is built.
    pub fn built(&self) -> Option<&FieldIndex> {
        match self {
            DeclaredIndex::Built(index) => Some(index),
            DeclaredIndex::Building(_) => None,
        }
    }

    /// The path whose values are indexed.
    pub fn path(&self) -> &JsonPath {
        self.definition().path()
    }

    /// The definition.
    pub fn schema(&self) -> &FieldSchema {
        self.definition().schema()
    }

    /// How texts of the field are cut into words, from the declaration on, if it is a text index.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.definition().tokenizer()
    }

    /// Points with at least one indexed value; of an index that is being built, those it has so far.
    pub fn points_count(&self) -> u64 {
        match self {
            DeclaredIndex::Built(index) => index.points_count(),
            DeclaredIndex::Building(draft) => draft.progress.points.load(Ordering::Relaxed),
        }
    }

    fn definition(&self) -> &FieldIndex {
        match self {
            DeclaredIndex::Built(index) => index,
            DeclaredIndex::Building(draft) => &draft.blank,
        }
    }

    /// Takes note of a point that has another payload than before; none, where it was or is not there.
    pub fn replace(&mut self, offset: PointOffset, before: Option<&[u8]>, after: Option<&[u8]>) {
        match self {
            DeclaredIndex::Built(index) => index.replace(offset, before, after),
            DeclaredIndex::Building(draft) => draft.touch(offset),
        }
    }

    /// The draft, while it is one.
    pub fn draft(&self) -> Option<&IndexDraft> {
        match self {
            DeclaredIndex::Built(_) => None,
            DeclaredIndex::Building(draft) => Some(draft),
        }
    }
}

impl IndexDraft {
    /// Takes the work for this thread; false when another thread has it.
    pub fn take(&self) -> bool {
        !self.progress.is_taken.swap(true, Ordering::AcqRel)
    }

    /// Gives the work back where it is to be done another time: then another thread may take it.
    pub fn release_if(&self, is_put_off: bool) {
        self.progress.is_taken.store(!is_put_off, Ordering::Release);
    }

    /// Whether it is automatic (C23).
    pub fn is_automatic(&self) -> bool {
        self.is_automatic
    }

    /// An index of this definition without points.
    pub fn blank(&self) -> FieldIndex {
        self.blank.clone()
    }

    /// Reports how many points are indexed so far, and how many were read for that.
    pub fn report(&self, points: u64, read: u64) {
        self.progress.points.store(points, Ordering::Relaxed);
        self.progress.read.store(read, Ordering::Relaxed);
    }

    /// How many points were read so far.
    pub fn read(&self) -> u64 {
        self.progress.read.load(Ordering::Relaxed)
    }

    /// Points that were changed between the declaration and the state that this draft is from.
    pub fn touched(&self) -> &PointSet {
        &self.touched
    }

    /// The same draft among the indexes of another state, if it is still one there.
    pub fn among<'s>(
        &self,
        indexes: impl Iterator<Item = &'s DeclaredIndex>,
    ) -> Option<(usize, &'s IndexDraft)> {
        let mut drafts = indexes.enumerate().filter_map(|(at, index)| Some((at, index.draft()?)));
        drafts.find(|(_, draft)| Arc::ptr_eq(&draft.progress, &self.progress))
    }

    fn touch(&mut self, offset: PointOffset) {
        self.touched.insert(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_index_says_how_texts_are_cut_before_it_is_built_c7() {
        let path = JsonPath::parse("k").unwrap();
        let index = |schema: &[u8]| DeclaredIndex::restore(path.clone(), schema).unwrap();
        assert!(index(br#"{"type":"text","tokenizer":"prefix"}"#).tokenizer().is_some());
        assert!(index(b"\"keyword\"").tokenizer().is_none());
    }
}
