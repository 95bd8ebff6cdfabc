//! Field indexes that the engine made by itself (C23), beside those that clients declare.

use super::{DeclaredIndex, State};
use crate::filter::{Filter, Plan};
use crate::payload::{FieldIndex, FieldKind, FieldSchema, JsonPath};
use crate::types::PointOffset;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// The origin of the times of uses.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A field index that no client declared. It is derived: neither the log nor a checkpoint has it, and no client sees it but as
/// `auto_indexes`. A clone is the same index of another state.
#[derive(Clone)]
pub struct AutoIndex {
    index: DeclaredIndex,
    /// When a filter last used it, in milliseconds from [`START`].
    last_use: Arc<AtomicU64>,
}

impl AutoIndex {
    /// An index that is to be built.
    pub fn new(path: JsonPath, kind: FieldKind) -> AutoIndex {
        let index = DeclaredIndex::automatic(path, FieldSchema::new(kind));
        AutoIndex { index, last_use: Arc::new(AtomicU64::new(now_ms())) }
    }

    /// The index or its draft.
    pub fn index(&self) -> &DeclaredIndex {
        &self.index
    }

    /// The index, once it is built.
    pub fn built(&self) -> Option<&FieldIndex> {
        self.index.built()
    }

    /// The path whose values are indexed.
    pub fn path(&self) -> &JsonPath {
        self.index.path()
    }

    /// Its type.
    pub fn kind(&self) -> FieldKind {
        self.index.schema().kind()
    }

    /// The same index, built.
    #[must_use]
    pub fn with(&self, built: FieldIndex) -> AutoIndex {
        AutoIndex { index: DeclaredIndex::Built(built), last_use: Arc::clone(&self.last_use) }
    }

    /// As [`DeclaredIndex::replace`].
    pub fn replace(&mut self, offset: PointOffset, before: Option<&[u8]>, after: Option<&[u8]>) {
        self.index.replace(offset, before, after);
    }

    /// How long no filter has used it.
    pub fn idle(&self) -> Duration {
        Duration::from_millis(now_ms().saturating_sub(self.last_use.load(Ordering::Relaxed)))
    }

    fn note_use(&self) {
        self.last_use.store(now_ms(), Ordering::Relaxed);
    }
}

fn now_ms() -> u64 {
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl State {
    /// The automatic index of exactly this path, built or not.
    pub fn auto_index(&self, path: &JsonPath) -> Option<&AutoIndex> {
        self.auto_indexes.iter().find(|auto| auto.path() == path)
    }

    /// Whether a client has declared an index of exactly this path.
    pub fn has_declared(&self, path: &JsonPath) -> bool {
        self.indexes.iter().any(|index| index.path() == path)
    }

    /// Whether an index of exactly this path that a client has declared is built.
    pub fn has_built(&self, path: &JsonPath) -> bool {
        self.indexes.iter().any(|index| index.path() == path && index.built().is_some())
    }

    /// The kind of the index that filters use at a path: a declared one, else an automatic one that is built.
    pub fn kind_at(&self, path: &JsonPath) -> Option<FieldKind> {
        let declared = self.indexes.iter().find(|index| index.path() == path);
        declared.map(|index| index.schema().kind()).or_else(|| self.auto_kind_at(path))
    }

    fn auto_kind_at(&self, path: &JsonPath) -> Option<FieldKind> {
        self.auto_index(path)?.built().map(|index| index.schema().kind())
    }

    /// Plans a filter, and notes which automatic indexes answer it.
    pub fn plan(&self, filter: &Filter) -> Plan {
        if !self.auto_indexes.is_empty() {
            for path in filter.indexes(&|path| self.auto_kind_at(path)).used {
                self.auto_index(&path).into_iter().for_each(AutoIndex::note_use);
            }
        }
        filter.plan(self, &self.live)
    }

    /// The same state without its automatic indexes.
    #[must_use]
    pub fn without_auto_indexes(&self) -> State {
        State { auto_indexes: Arc::default(), ..self.clone() }
    }
}
