//! The inverted index of a text field: from tokens to points, and optionally each point's tokens in order.

use super::bounds::Bounds;
use super::column::Column;
use super::memory::{Weight, ordered_map_bytes};
use super::postings::{self, Postings};
use crate::allocator::shared_bytes;
use crate::payload::text::{Pattern, TextMatch, TextOptions, Tokenizer};
use crate::point_set::PointSet;
use crate::types::PointOffset;
use imbl::{OrdMap, Vector};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The inverted index of a text field. A clone takes constant time and is a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Words {
    tokenizer: Tokenizer,
    postings: Column<Arc<str>>,
    /// Kept with `phrase_matching` only.
    order: Option<Order>,
}

/// The tokens of each point in order.
#[derive(Clone, Debug, Default)]
struct Order {
    /// Number of each token that some point has.
    numbers: OrdMap<Arc<str>, u32>,
    /// Numbers that no token has any more, for reuse.
    free: Vector<u32>,
    /// The token numbers of each point's texts, with [`GAP`] between two texts.
    sequences: OrdMap<PointOffset, Arc<[u32]>>,
}

/// Never the number of a token: memory does not suffice for 2³² tokens.
const GAP: u32 = u32::MAX;

impl Words {
    /// An index without points.
    pub(super) fn new(options: &TextOptions) -> Words {
        Words {
            tokenizer: Tokenizer::new(options),
            postings: Column::default(),
            order: options.phrase_matching().then(Order::default),
        }
    }

    /// Bytes of the tokens, of their points and of their order.
    pub(super) fn memory_bytes(&self) -> u64 {
        let order = self.order.as_ref().map_or(0, |order| {
            let names: u64 = order.numbers.keys().map(Weight::outside).sum();
            let sequences: u64 =
                order.sequences.values().map(|tokens| shared_bytes(size_of_val(&**tokens))).sum();
            let maps = ordered_map_bytes(order.numbers.len(), size_of::<(Arc<str>, u32)>())
                + ordered_map_bytes(order.sequences.len(), size_of::<(PointOffset, Arc<[u32]>)>());
            names + sequences + maps + (order.free.len() * size_of::<u32>()) as u64
        });
        self.postings.memory_bytes() + order
    }

    pub(super) fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Replaces the texts of a point. Postings of tokens that both have are not changed.
    pub(super) fn change<'t>(
        &mut self,
        offset: PointOffset,
        before: impl Iterator<Item = &'t str>,
        after: impl Iterator<Item = &'t str>,
    ) {
        let (gone, _) = self.read(before);
        let (tokens, sequence) = self.read(after);
        for token in tokens.difference(&gone) {
            self.postings.insert(&**token, offset);
        }
        for token in gone.difference(&tokens) {
            self.postings.remove(&**token, offset);
            if let Some(order) = &mut self.order
                && self.postings.get(&**token).is_none()
                && let Some(number) = order.numbers.remove(&**token)
            {
                order.free.push_back(number);
            }
        }
        let Some(order) = &mut self.order else { return };
        let numbers: HashMap<&str, u32> =
            tokens.iter().map(|token| (&**token, order.number_or_new(token))).collect();
        let sequence: Arc<[u32]> =
            sequence.iter().map(|token| token.as_ref().map_or(GAP, |token| numbers[&**token])).collect();
        if sequence.is_empty() {
            order.sequences.remove(&offset);
        } else {
            order.sequences.insert(offset, sequence);
        }
    }

    /// The distinct tokens of some texts; and, if the order is kept, all tokens in order with `None` between two texts.
    fn read<'t>(&self, texts: impl Iterator<Item = &'t str>) -> (BTreeSet<Box<str>>, Vec<Option<Box<str>>>) {
        let (mut tokens, mut sequence) = (BTreeSet::new(), Vec::new());
        for text in texts {
            if !sequence.is_empty() {
                sequence.push(None);
            }
            self.tokenizer.document(text, |token| {
                if !tokens.contains(token) {
                    tokens.insert(Box::from(token));
                }
                if self.order.is_some() {
                    sequence.push(Some(Box::from(token)));
                }
                ControlFlow::Continue(())
            });
        }
        (tokens, sequence)
    }

    /// Points one of whose texts has the tokens of a pattern. `multivalued` has the points with more than one text, whose
    /// tokens may be in different texts. `work` is the budget of tokens that may be read in order.
    pub(super) fn matching(&self, pattern: &Pattern, multivalued: &PointSet, work: &Cell<usize>) -> Bounds {
        if pattern.how() == TextMatch::Any {
            let found = pattern.tokens().filter_map(|token| self.postings.get(token));
            return Bounds::exact(postings::union(found));
        }
        let hits = self.with_all(pattern.tokens());
        match pattern.how() {
            _ if pattern.is_single() => Bounds::exact(hits),
            TextMatch::Phrase => self.checked(pattern, PointSet::new(), hits, work),
            TextMatch::All | TextMatch::Any => {
                let spread = &hits & multivalued;
                if spread.is_empty() {
                    return Bounds::exact(hits);
                }
                self.checked(pattern, &hits - &spread, spread, work)
            }
        }
    }

    /// Points that may hold a text, because they have all its tokens; `None` if the text has no tokens.
    pub(super) fn candidates(&self, text: &str) -> Option<PointSet> {
        let (tokens, _) = self.read(std::iter::once(text));
        (!tokens.is_empty()).then(|| self.with_all(tokens.iter().map(|token| &**token)))
    }

    /// Points that have all the tokens.
    fn with_all<'t>(&self, tokens: impl Iterator<Item = &'t str>) -> PointSet {
        let found: Option<Vec<&Postings>> = tokens.map(|token| self.postings.get(token)).collect();
        found.map_or_else(PointSet::new, postings::intersection)
    }

    /// Decides doubtful points by the order of their tokens, if that is kept, as far as the budget suffices.
    fn checked(
        &self,
        pattern: &Pattern,
        certain: PointSet,
        doubtful: PointSet,
        work: &Cell<usize>,
    ) -> Bounds {
        let Some(order) = &self.order else { return Bounds::new(certain, doubtful) };
        let numbers = pattern.tokens().zip(0..);
        let mut wanted: Vec<(u32, u32)> =
            numbers.filter_map(|(token, place)| Some((*order.numbers.get(token)?, place))).collect();
        wanted.sort_unstable();
        let (mut hits, mut undecided) = (Vec::new(), Vec::new());
        let mut tokens_left = work.get();
        for offset in &doubtful {
            let Some(sequence) = order.sequences.get(&offset) else { continue };
            if tokens_left < sequence.len() {
                tokens_left = 0;
                undecided.push(offset);
                continue;
            }
            tokens_left -= sequence.len();
            if is_in(pattern, &wanted, sequence) {
                hits.push(offset);
            }
        }
        work.set(tokens_left);
        Bounds::new(&certain | &PointSet::from_sorted(&hits), PointSet::from_sorted(&undecided))
    }
}

impl Order {
    fn number_or_new(&mut self, token: &str) -> u32 {
        if let Some(number) = self.numbers.get(token) {
            return *number;
        }
        let number = self.free.pop_back().unwrap_or(self.numbers.len() as u32);
        self.numbers.insert(token.into(), number);
        number
    }
}

/// Whether one of the texts of a sequence matches. `wanted` has the numbers of the pattern's tokens, ascending, with
/// their positions in the pattern.
fn is_in(pattern: &Pattern, wanted: &[(u32, u32)], sequence: &[u32]) -> bool {
    sequence.split(|number| *number == GAP).any(|text| {
        let mut search = pattern.search();
        text.iter().any(|number| {
            let place = wanted.binary_search_by_key(number, |(wanted, _)| *wanted).ok();
            search.step(place.map(|at| wanted[at].1))
        })
    })
}
