//! Which texts of a re-embedding come next, and how far it is.

use super::filling::lacking;
use crate::collection::Collection;
use crate::config::Reembedding;
use crate::error::Error;
use crate::point_set::PointSet;
use crate::scheduling::yield_to_reads;
use crate::state::View;
use crate::sync::Mutex;
use crate::types::{OpNumber, PointId, PointOffset};
use std::time::{Duration, Instant};

/// Bytes of texts that are given out at a time; one text is always. A call of a model has as many (`docs/models.md`).
const GIVEN_OUT_BYTES: usize = 256 << 10;
/// Points that are looked at in one request.
const LOOKED_AT: usize = 4096;
/// Bytes of their payloads.
const LOOKED_AT_BYTES: usize = 4 << 20;
/// Time after which a worker that has not come back is taken for gone. The longest pause of one is shorter.
const WORKER_GONE: Duration = Duration::from_secs(180);

/// The texts that a worker is to embed next.
#[derive(Debug)]
pub struct NextTexts {
    /// The operation that began the re-embedding.
    pub begun: OpNumber,
    /// Name of the model.
    pub model: Box<str>,
    /// Texts a second at most.
    pub rate: Option<u64>,
    /// Some texts; none if there are none for now.
    pub texts: Vec<TextOfPoint>,
    /// Whether there may be more behind them.
    pub has_more: bool,
}

/// The text of a point.
#[derive(Debug)]
pub struct TextOfPoint {
    /// Where the point is.
    pub at: PointOffset,
    /// Its id, which a failure names.
    pub id: PointId,
    /// Its text.
    pub text: String,
}

/// What a re-embedding is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReembeddingState {
    /// No process that could embed has asked for texts.
    Waiting,
    /// Texts are being embedded.
    Running,
    /// The model failed, and is asked again after a pause.
    Retrying,
    /// Every text has its vector.
    Ready,
}

impl ReembeddingState {
    /// Its word in answers.
    pub fn word(self) -> &'static str {
        match self {
            ReembeddingState::Waiting => "waiting",
            ReembeddingState::Running => "running",
            ReembeddingState::Retrying => "retrying",
            ReembeddingState::Ready => "ready",
        }
    }
}

/// How far a re-embedding is.
#[derive(Clone, Debug)]
pub struct ReembeddingReport {
    /// What it does.
    pub state: ReembeddingState,
    /// Points that have a new vector.
    pub done: u64,
    /// Points that have a vector in the field.
    pub total: u64,
    /// Points among `total` that were found to have no text.
    pub missing_texts: u64,
    /// How long the rest will take, as far as that is known.
    pub eta: Option<Duration>,
    /// Why the model failed last.
    pub error: Option<String>,
}

/// What is known of a re-embedding beside its state: nothing that would have to outlive a restart.
struct Progress {
    field: Box<str>,
    begun: OpNumber,
    /// Points that had no text when they were looked at.
    missing: PointSet,
    /// What `missing` says holds up to this operation.
    seen: OpNumber,
    /// Where to look next.
    cursor: PointOffset,
    /// Why the model failed last; none since it has made vectors.
    error: Option<String>,
    /// When a worker asked for the first time, and the points that were done then.
    first: Option<(Instant, u64)>,
    /// When one asked last.
    asked: Option<Instant>,
}

/// The progress of the re-embeddings of a collection.
#[derive(Default)]
pub(in crate::collection) struct Progresses(Mutex<Vec<Progress>>);

impl Progresses {
    /// Does something with the progress of a re-embedding. Those that have ended are forgotten.
    fn with<T>(&self, view: &View, of: &Reembedding, act: impl FnOnce(&mut Progress) -> T) -> T {
        let mut all = self.0.lock();
        let is_of = |progress: &Progress, one: &Reembedding| {
            progress.begun == one.begun && progress.field == one.field
        };
        let under_way = view.state.config.reembeddings();
        all.retain(|progress| under_way.iter().any(|one| is_of(progress, one)));
        if !all.iter().any(|progress| is_of(progress, of)) {
            all.push(Progress::new(of));
        }
        let at = all.iter().position(|progress| is_of(progress, of)).unwrap_or_default();
        act(&mut all[at])
    }
}

impl Progress {
    fn new(of: &Reembedding) -> Progress {
        Progress {
            field: of.field.clone(),
            begun: of.begun,
            missing: PointSet::new(),
            seen: OpNumber::NONE,
            cursor: PointOffset::new(0),
            error: None,
            first: None,
            asked: None,
        }
    }

    /// Takes up to `most` texts, from where the last call ended on.
    fn next(&mut self, view: &View, of: &Reembedding, most: usize) -> (Vec<TextOfPoint>, bool) {
        let state = &view.state;
        // What was written since may have a text now.
        for offset in state.changed_after(self.seen) {
            self.missing.remove(offset);
        }
        self.seen = view.op;
        let wanted = &lacking(state, of) - &self.missing;
        let (mut texts, mut bytes) = (Vec::new(), 0);
        let (mut looked, mut looked_bytes) = (0, 0);
        let mut is_again = false;
        loop {
            let Some(at) = wanted.at_or_after(self.cursor) else {
                // Points behind which the last call ended may be left in front of it.
                let begins_anew = self.cursor > PointOffset::new(0) && texts.is_empty() && !is_again;
                self.cursor = PointOffset::new(0);
                is_again = true;
                if begins_anew {
                    continue;
                }
                return (texts, false);
            };
            let point = state.at(at);
            let payload = point.document();
            if texts.len() == most || looked == LOOKED_AT || (looked > 0 && looked_bytes > LOOKED_AT_BYTES) {
                return (texts, true);
            }
            match of.text(payload) {
                Some(text) if !texts.is_empty() && bytes + text.len() > GIVEN_OUT_BYTES => {
                    return (texts, true);
                }
                Some(text) => {
                    bytes += text.len();
                    texts.push(TextOfPoint { at, id: point.id().into_owned(), text: text.into_owned() });
                }
                None => {
                    self.missing.insert(at);
                }
            }
            looked += 1;
            looked_bytes += payload.len();
            self.cursor = PointOffset::new(at.get() + 1);
            yield_to_reads();
        }
    }

    fn report(&self, view: &View, of: &Reembedding) -> ReembeddingReport {
        let state = &view.state;
        let lacking = lacking(state, of);
        let field = state.config.field_index(&of.field);
        let total = field.map_or(0, |field| state.with_vector_at(field).len());
        let done = total - lacking.len();
        // Those that were written since may have a text now.
        let written =
            state.changed_after(self.seen).filter(|&at| self.missing.contains(at) && lacking.contains(at));
        let missing_texts = (&lacking & &self.missing).len() - written.count() as u64;
        let left = lacking.len() - missing_texts;
        let is_asked = self.asked.is_some_and(|asked| asked.elapsed() < WORKER_GONE);
        let word = match (left, &self.error) {
            (0, _) => ReembeddingState::Ready,
            _ if !is_asked => ReembeddingState::Waiting,
            (_, Some(_)) => ReembeddingState::Retrying,
            (_, None) => ReembeddingState::Running,
        };
        let eta = self.first.and_then(|(since, before)| {
            let made = done.checked_sub(before).filter(|made| *made > 0)?;
            Some(since.elapsed().mul_f64(left as f64 / made as f64))
        });
        let error = self.error.clone().filter(|_| word == ReembeddingState::Retrying);
        let eta = if left == 0 { Some(Duration::ZERO) } else { eta };
        ReembeddingReport { state: word, done, total, missing_texts, eta, error }
    }
}

impl Collection {
    /// The next texts of the re-embedding of a field, at most `most`. `error` says why the vectors of the last ones did not
    /// come; these come again after the others.
    ///
    /// # Errors
    /// As [`CollectionConfig::reembedding_of`](crate::config::CollectionConfig::reembedding_of).
    pub fn next_texts(&self, name: &str, most: usize, error: Option<String>) -> Result<NextTexts, Error> {
        let view = self.current_view();
        let of = view.state.config.reembedding_of(name)?;
        // A batch of a second at most.
        let most = of.rate.map_or(most, |rate| most.min(usize::try_from(rate).unwrap_or(most)));
        let (texts, has_more) = self.reembeddings.with(&view, of, |progress| {
            let now = Instant::now();
            if progress.first.is_none() {
                progress.first = Some((now, progress.report(&view, of).done));
            }
            progress.asked = Some(now);
            progress.error = error;
            progress.next(&view, of, most)
        });
        let model = view.state.config.fields()[view.state.config.shadow_of(of)].1.model.as_ref();
        let model = model.map(|model| model.name.clone()).unwrap_or_default();
        Ok(NextTexts { begun: of.begun, model, rate: of.rate, texts, has_more })
    }

    /// How far the re-embedding of a field is, in a view of this collection.
    pub fn report_of(&self, view: &View, of: &Reembedding) -> ReembeddingReport {
        self.reembeddings.with(view, of, |progress| progress.report(view, of))
    }
}
