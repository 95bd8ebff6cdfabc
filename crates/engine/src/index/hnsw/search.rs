//! Walking the graph towards a query.

use std::sync::atomic::AtomicU32;

use super::Hnsw;
use super::frontier::Frontier;
use super::pool::Candidate;
use super::two_hops::TwoHops;
use super::visited::{BLOCK, Fresh, Marks, Visited};
use crate::index::{Space, Stopped};

/// Expanded nodes between two stop checks.
pub(super) const HOPS_PER_CHECK: u32 = 4;

/// Nodes that a search returns at most where some are equal, if that is more than `ef`.
const MOST_EQUALS: usize = 4096;

/// How a search goes through the base layer.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// Width of the search and most nodes that it returns, at least 1: greater is better and slower.
    pub ef: usize,
    /// What it does at nodes that are not accepted.
    pub traversal: Traversal,
    /// Nodes to start from beside the way down from the entry point.
    pub starts: &'a [u32],
}

impl Walk<'_> {
    /// A walk of that width through all nodes alike.
    pub fn wide(ef: usize) -> Walk<'static> {
        Walk { ef, traversal: Traversal::Check, starts: &[] }
    }
}

/// What a walk does at nodes that are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traversal {
    /// Scores them and walks through them. Right when most nodes are accepted.
    Check,
    /// Goes on to their neighbours without scoring them, so that only accepted nodes cost a distance (ACORN-1, arXiv
    /// 2403.04871). Right when few nodes are accepted. When very few are, they may lie farther apart than two hops: the
    /// walk then goes on through others, in no order, for `ef` hops at most.
    TwoHop,
}

/// The memory of a search, for reuse by the next one. One for a worker, whatever the graphs it searches.
#[derive(Default)]
pub struct SearchScratch {
    pub(super) visited: Visited,
    pub(super) frontier: Frontier,
    pub(super) fresh: Fresh,
    starts: Vec<Candidate>,
    /// What was found with all twins.
    heaps: Vec<Candidate>,
    pub(super) two_hops: TwoHops,
    pub(super) work: Work,
}

/// What walks did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Nodes that were expanded in the layer that was walked.
    pub hops: u64,
    /// Nodes that were compared there.
    pub distances: u64,
}

impl SearchScratch {
    /// Empty scratch; it grows to the size of the graphs it is used on.
    pub fn new() -> SearchScratch {
        Self::default()
    }

    /// What the walks did since this was asked last.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    /// What the last walk found, best first.
    pub(super) fn found(&self) -> &[Candidate] {
        self.frontier.found()
    }
}

impl Hnsw {
    /// The nearest accepted nodes that the walk finds, best first: at most `ef` different ones, and with each all that
    /// equal it, up to a few thousand together, so that the caller can choose among equals.
    ///
    /// Nodes that `accept` refuses are not returned; it is asked about a node at most once, or twice where there are
    /// equal vectors. `stop` is asked every few hops, and ends the search with [`Stopped`].
    ///
    /// Fewer than the wanted number of nodes can come back although more are accepted, when few are or the view of the
    /// space is old; a caller that needs them scans.
    pub fn search<'s, S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        walk: &Walk,
        accept: &impl Fn(u32) -> bool,
        scratch: &'s mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<&'s [Candidate], Stopped> {
        let mut starts = std::mem::take(&mut scratch.starts);
        starts.clear();
        match self.descend(space, query, 0, scratch) {
            Some(start) => starts.push(start),
            None => self.starts_of_an_old_view(space, query, &mut starts),
        }
        let len = self.len();
        // A twin leads nowhere.
        let leads_on = |node: u32| node < len && !self.nodes.is_twin(node) && space.can_read(node);
        let further: Vec<u32> = walk.starts.iter().copied().filter(|&node| leads_on(node)).collect();
        score(space, query, &further, |candidate| starts.push(candidate));
        let ended = if self.nodes.twins.exist() {
            let any = |node| self.heap(node).any(accept);
            self.walk_from(space, query, walk, &starts, &any, scratch, stop)
        } else {
            self.walk_from(space, query, walk, &starts, accept, scratch, stop)
        };
        scratch.starts = starts;
        ended?;
        if !self.nodes.twins.exist() {
            return Ok(scratch.found());
        }
        self.unfold(walk.ef.max(1), accept, scratch);
        Ok(&scratch.heaps)
    }

    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and two are closures")]
    fn walk_from<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        walk: &Walk,
        starts: &[Candidate],
        accept: &impl Fn(u32) -> bool,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        match walk.traversal {
            Traversal::Check => self.walk(space, query, 0, starts, walk.ef, accept, scratch, stop),
            Traversal::TwoHop => self.walk_two_hops(space, query, starts, walk.ef, accept, scratch, stop),
        }
    }

    /// Puts what was found into `scratch.heaps`, each followed by its accepted twins, as long as there are fewer than
    /// `ef` or a few thousand. A heap takes no place from those behind it: distances may be estimates, and the nearest
    /// heap another one.
    fn unfold(&self, ef: usize, accept: &impl Fn(u32) -> bool, scratch: &mut SearchScratch) {
        let SearchScratch { frontier, heaps, .. } = scratch;
        heaps.clear();
        let most = ef.max(MOST_EQUALS);
        for &found in frontier.found() {
            let mut twins = self.nodes.twins.of(found.node()).peekable();
            if twins.peek().is_none() {
                heaps.push(found);
                continue;
            }
            let accepted = self.heap(found.node()).filter(|&node| accept(node));
            let from = heaps.len();
            heaps.extend(
                accepted.take(most.saturating_sub(from)).map(|node| Candidate::new(found.distance(), node)),
            );
            heaps[from..].sort_unstable();
        }
    }

    /// From the entry point greedily down to the layer above `level`: where to begin in layer `level`. None when the
    /// graph is empty, or when the space can read no node on the way.
    pub(super) fn descend<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        level: usize,
        scratch: &mut SearchScratch,
    ) -> Option<Candidate> {
        let (mut at, top) = self.entry()?;
        let SearchScratch { visited, fresh, .. } = scratch;
        // Marks last through all these layers: what was worse than the best so far still is.
        let mut marks = visited.begin(self.len());
        let mut best = space.can_read(at).then(|| Candidate::new(space.one(query, at), at));
        marks.visit(at);
        for layer in (level + 1..=top).rev() {
            loop {
                let before = best;
                for words in self.nodes.words(at, layer).chunks(BLOCK) {
                    gather(space, words, &mut marks, fresh);
                    score(space, query, fresh.nodes(), |candidate| {
                        if best.is_none_or(|best| candidate < best) {
                            best = Some(candidate);
                        }
                    });
                }
                match best {
                    Some(candidate) if best != before => at = candidate.node(),
                    _ => break,
                }
            }
        }
        best
    }

    /// Walks one layer from `starts`, which the space can read, and leaves the best accepted nodes in the scratch.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and two are closures")]
    pub(super) fn walk<S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        level: usize,
        starts: &[Candidate],
        ef: usize,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let SearchScratch { visited, frontier, fresh, work, .. } = scratch;
        let mut marks = visited.begin(self.len());
        frontier.begin(ef.max(1));
        for &start in starts {
            if marks.visit(start.node()) {
                frontier.offer(start, accept);
            }
        }
        let mut hops = 0u32;
        while let Some(node) = frontier.expand_next() {
            if hops.is_multiple_of(HOPS_PER_CHECK) && stop() {
                return Err(Stopped);
            }
            hops += 1;
            work.hops += 1;
            // While this node's neighbours are scored; one of them may yet come before it.
            if level == 0
                && let Some(next) = frontier.peek_next()
            {
                self.nodes.prefetch(next);
            }
            for words in self.nodes.words(node, level).chunks(BLOCK) {
                gather(space, words, &mut marks, fresh);
                work.distances += fresh.nodes().len() as u64;
                score(space, query, fresh.nodes(), |candidate| {
                    // Its links are on their way while the rest of the block is scored.
                    if frontier.offer(candidate, accept) && level == 0 {
                        self.nodes.prefetch(candidate.node());
                    }
                });
            }
        }
        Ok(())
    }

    /// Where a view starts that is older than the entry point and all that lies on the way down from it: at what it
    /// can read next to the entry point, and at the first node of all.
    fn starts_of_an_old_view<S: Space>(&self, space: &S, query: &S::Query, starts: &mut Vec<Candidate>) {
        if let Some((entry, _)) = self.entry() {
            let mut add = |node| {
                if space.can_read(node) {
                    starts.push(Candidate::new(space.one(query, node), node));
                }
            };
            self.nodes.for_each_link(entry, 0, |link| add(link.node()));
            self.root().into_iter().for_each(add);
        }
    }
}

/// Puts the nodes of a block of links that are met for the first time and can be read into `fresh`.
#[inline(always)]
pub(super) fn gather<S: Space>(space: &S, words: &[AtomicU32], marks: &mut Marks, fresh: &mut Fresh) {
    marks.gather(words, fresh);
    fresh.retain(|node| space.can_read(node));
}

/// Gives every node with its distance to `each`, four nodes at a time while later ones are on their way from memory.
#[inline(always)]
pub(in crate::index) fn score<S: Space>(
    space: &S,
    query: &S::Query,
    nodes: &[u32],
    mut each: impl FnMut(Candidate),
) {
    let ahead = space.look_ahead().min(nodes.len());
    nodes.iter().take(ahead).for_each(|&node| space.prefetch(node));
    let (groups, rest) = nodes.as_chunks::<4>();
    for (at, &group) in groups.iter().enumerate() {
        nodes.iter().skip(4 * at + ahead).take(4).for_each(|&node| space.prefetch(node));
        for (distance, node) in space.four(query, group).into_iter().zip(group) {
            each(Candidate::new(distance, node));
        }
    }
    match *rest {
        [] => {}
        [node] => each(Candidate::new(space.one(query, node), node)),
        // A group with one node twice costs less than two or three by themselves.
        _ => {
            let last = rest[rest.len() - 1];
            let group = std::array::from_fn(|at| rest.get(at).copied().unwrap_or(last));
            for (distance, &node) in space.four(query, group).into_iter().zip(rest) {
                each(Candidate::new(distance, node));
            }
        }
    }
}
