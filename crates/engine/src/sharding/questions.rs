//! A read as questions to shards, and their answers.
//!
//! Each kind of read is an `async` function that waits for nothing but answers. [`ShardedRead`] runs it up to where it waits,
//! hands its questions out, and goes on when it has the answers. So a read is written as if its shards answered at once, and
//! parts of it that do not depend on each other ask in one step.

use super::read::{self, Parsed};
use super::request::{Layout, ShardedRequest};
use crate::api::response::write_list;
use crate::api::{Operation, Strictness};
use crate::config::fields::ObjectWriter;
use crate::error::Error;
use crate::json::Reader;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Instant;

/// A question to one shard: a request that it is to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The number of the shard.
    pub shard: u32,
    /// The collection whose shard it is, where that is not the collection of the read.
    pub collection: Option<String>,
    /// What to do.
    pub operation: Operation,
    /// Point id from the path.
    pub target: Option<String>,
    /// The body, as JSON.
    pub body: Vec<u8>,
    /// How strictly it is to be taken, whatever the read says.
    pub strictness: Strictness,
}

/// What comes next of a read.
#[derive(Debug)]
pub enum Step {
    /// Questions; their answers are to be given to [`ShardedRead::advance`] in this order.
    Ask(Vec<Ask>),
    /// The whole success envelope.
    Done(Vec<u8>),
}

/// A future of this module.
pub(super) type Task<'t, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 't>>;

/// A read of a collection of several shards.
pub struct ShardedRead {
    desk: Desk,
    /// The read; nothing where the answer of the one shard is the answer.
    work: Option<Task<'static, Vec<u8>>>,
    /// For each question that is out the places of the answers that it gives.
    sent: Vec<Vec<usize>>,
}

impl ShardedRead {
    /// Begins a read. `other` says the layouts of other collections, which examples and groups may be looked up in; `None` for
    /// one that does not exist. The `time` of the answer counts from `start`. With one shard the request is read, and asked as
    /// it is unless it names collections: its answer is the answer.
    ///
    /// # Errors
    /// Those of the parser of the operation, [`Error::VectorsWanted`] included; `NeedsJson` where vectors are packed; `BadRequest`
    /// for what is not available for a collection of several shards; `CollectionNotFound` for another collection.
    pub fn begin(
        request: &ShardedRequest<'_>,
        layout: &Layout,
        other: &dyn Fn(&str) -> Option<Layout>,
        start: Instant,
    ) -> Result<(ShardedRead, Step), Error> {
        let desk = Desk::default();
        // The other forms have no texts, and what is wrong with them the one shard says.
        let parsed = match layout.shards <= 1 && !request.is_text() {
            true => None,
            false => Some(Parsed::of(request, layout, other, desk.clone())?),
        };
        // A shard knows collections by other names.
        let parsed = parsed.filter(|parsed| layout.shards > 1 || parsed.names_collections());
        let Some(parsed) = parsed else {
            let ask = Ask {
                shard: 0,
                collection: None,
                operation: request.operation,
                target: request.target.map(str::to_string),
                body: request.body.to_vec(),
                strictness: request.strictness,
            };
            let read = ShardedRead { desk, work: None, sent: vec![Vec::new()] };
            return Ok((read, Step::Ask(vec![ask])));
        };
        let work = read::answer(parsed, start);
        let mut read = ShardedRead { desk, work: Some(Box::pin(work)), sent: Vec::new() };
        let step = read.run()?;
        Ok((read, step))
    }

    /// Goes on with the answers to the last questions, in their order: the success envelope of the shard, or nothing for a shard
    /// that is to be left out. Then the result is that of the others.
    ///
    /// # Errors
    /// Those of the operation; `ShardUnavailable` where nothing can be said without a shard that is left out; `Internal` for
    /// answers that do not fit the questions. The read is over then.
    pub fn advance(&mut self, answers: Vec<Option<Vec<u8>>>) -> Result<Step, Error> {
        if answers.len() != self.sent.len() {
            return Err(broken());
        }
        if self.work.is_none() {
            let only = answers.into_iter().next().flatten();
            return only.map(Step::Done).ok_or_else(|| no_answer("collection"));
        }
        let sent = std::mem::take(&mut self.sent);
        for (places, answer) in sent.into_iter().zip(answers) {
            self.desk.answer(&places, answer)?;
        }
        self.run()
    }

    /// Runs the read up to where it waits for answers.
    fn run(&mut self) -> Result<Step, Error> {
        let work = self.work.as_mut().ok_or_else(broken)?;
        match work.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(done) => done.map(Step::Done),
            Poll::Pending => {
                let (asks, sent) = together(self.desk.take_new());
                self.sent = sent;
                Ok(Step::Ask(asks))
            }
        }
    }
}

/// The error for an answer that is none to its question.
pub(super) fn broken() -> Error {
    Error::Internal("an answer of a shard that does not fit the question".to_string())
}

/// The error where a shard did not answer without which there is no answer.
pub(super) fn no_answer(of_what: &str) -> Error {
    Error::ShardUnavailable(format!("the shard of the {of_what} did not answer"))
}

/// The operation that has several of these in one request.
fn batch_of(operation: Operation) -> Option<Operation> {
    match operation {
        Operation::Search => Some(Operation::SearchBatch),
        Operation::Query => Some(Operation::QueryBatch),
        Operation::Recommend => Some(Operation::RecommendBatch),
        Operation::Discover => Some(Operation::DiscoverBatch),
        _ => None,
    }
}

/// The questions that are asked in one request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Searches of the collection, in this batch of a shard.
    Batch(Operation, u32),
    /// The question with this place.
    Alone(usize),
}

/// Makes one request of the searches of a kind that go to one shard. With each question the places of the answers that it gives.
fn together(asks: Vec<(usize, Ask)>) -> (Vec<Ask>, Vec<Vec<usize>>) {
    let mut kinds: HashMap<Kind, Vec<(usize, Ask)>> = HashMap::new();
    let mut order = Vec::new();
    for (place, ask) in asks {
        let kind = match batch_of(ask.operation) {
            Some(batch) => Kind::Batch(batch, ask.shard),
            None => Kind::Alone(place),
        };
        let of_kind = kinds.entry(kind).or_default();
        if of_kind.is_empty() {
            order.push(kind);
        }
        of_kind.push((place, ask));
    }
    let one = |kind| {
        let (places, mut asks): (Vec<usize>, Vec<Ask>) =
            kinds.remove(&kind).unwrap_or_default().into_iter().unzip();
        if let [first, _, ..] = &asks[..] {
            let mut body = Vec::new();
            let mut object = ObjectWriter::start(&mut body);
            write_list(object.key("searches"), &asks, |out, ask| out.extend_from_slice(&ask.body));
            object.end();
            let operation = batch_of(first.operation).unwrap_or(first.operation);
            return (Ask { operation, body, ..first.clone() }, places);
        }
        (asks.remove(0), places)
    };
    order.into_iter().map(one).unzip()
}

/// The result in a shard's answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    envelope: Arc<str>,
    result: Range<usize>,
}

impl Answer {
    /// Takes the result of an envelope.
    pub fn of(envelope: Vec<u8>) -> Result<Answer, Error> {
        let envelope: Arc<str> = String::from_utf8(envelope).map_err(|_| broken())?.into();
        let mut result = None;
        let mut reader = Reader::new(envelope.as_bytes())?;
        let read = reader.object(|r, key| {
            let start = r.position();
            let length = r.raw()?.len();
            if key == "result" {
                result = Some(start..start + length);
            }
            Ok(())
        });
        drop(reader);
        let result = result.filter(|_| read.is_ok()).ok_or_else(broken)?;
        Ok(Answer { envelope, result })
    }

    /// An answer that was made here.
    pub fn whole(result: String) -> Answer {
        let end = result.len();
        Answer { envelope: result.into(), result: 0..end }
    }

    /// The result.
    pub fn text(&self) -> &str {
        &self.envelope[self.result.clone()]
    }

    /// A part of the result, by its place in [`text`](Self::text).
    pub fn part(&self, place: Range<usize>) -> Answer {
        let from = self.result.start;
        Answer { envelope: Arc::clone(&self.envelope), result: from + place.start..from + place.end }
    }

    /// The elements of a result that is an array.
    pub fn elements(&self) -> Result<Vec<Answer>, Error> {
        let mut found = Vec::new();
        Reader::new(self.text().as_bytes())?.array(|r, _| {
            let start = r.position();
            let length = r.raw()?.len();
            found.push(self.part(start..start + length));
            Ok(())
        })?;
        Ok(found)
    }
}

/// Where questions are laid down and answers are found.
#[derive(Clone, Default)]
pub(super) struct Desk(Arc<Mutex<Questions>>);

#[derive(Default)]
struct Questions {
    /// Those that were not handed out yet, each with the place of its answer.
    new: Vec<(usize, Ask)>,
    /// The answers of all questions so far: none, a missing one, or one.
    answers: Vec<Option<Option<Answer>>>,
}

impl Desk {
    /// The answers to some questions; nothing for a shard that is left out.
    pub async fn ask(&self, asks: Vec<Ask>) -> Vec<Option<Answer>> {
        let places = {
            let mut questions = self.0.lock();
            let first = questions.answers.len();
            let places = first..first + asks.len();
            questions.new.extend(places.clone().zip(asks));
            questions.answers.resize_with(places.end, || None);
            places
        };
        poll_fn(|_| {
            let mut questions = self.0.lock();
            let answers = &mut questions.answers[places.clone()];
            if answers.iter().all(Option::is_some) {
                Poll::Ready(answers.iter_mut().map(|answer| answer.take().flatten()).collect())
            } else {
                Poll::Pending
            }
        })
        .await
    }

    fn take_new(&self) -> Vec<(usize, Ask)> {
        std::mem::take(&mut self.0.lock().new)
    }

    /// Lays down what one question, of several searches if it has several places, was answered.
    fn answer(&self, places: &[usize], envelope: Option<Vec<u8>>) -> Result<(), Error> {
        let answers = match (envelope.map(Answer::of).transpose()?, places) {
            (None, _) => vec![None; places.len()],
            (Some(answer), [_]) => vec![Some(answer)],
            (Some(answer), _) => answer.elements()?.into_iter().map(Some).collect(),
        };
        if answers.len() != places.len() {
            return Err(broken());
        }
        let mut questions = self.0.lock();
        for (place, answer) in places.iter().zip(answers) {
            questions.answers[*place] = Some(answer);
        }
        Ok(())
    }
}

/// What all of some tasks answer, which go on at the same time; the first error in their order.
pub(super) async fn all<T: Send>(mut tasks: Vec<Task<'_, T>>) -> Result<Vec<T>, Error> {
    let mut answers: Vec<Option<Result<T, Error>>> = tasks.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (task, answer) in tasks.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(ready) = task.as_mut().poll(context)
            {
                *answer = Some(ready);
            }
        }
        if answers.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}
