//! The walk towards a query: through the upper layers greedily, through the base layer with a list of candidates.

use std::sync::atomic::AtomicU32;

use super::Hnsw;
use super::computer::DistanceComputer;
use super::explore::Explored;
use super::frontier::Frontier;
use super::pool::Candidate;
use super::two_hops::TwoHops;
use super::visited::{BLOCK, Fresh, Marks, Visited};
use crate::index::{Space, Stopped};
use crate::types::Node;

/// Expanded nodes between two stop checks.
pub(super) const HOPS_PER_CHECK: u32 = 4;

/// Where there are duplicates, the most nodes that a walk returns, if that is more than `ef`.
const MAX_WITH_DUPLICATES: usize = 4096;
/// How many duplicates are looked at for each of these: most may be dead.
const LOOKS: usize = 16;

/// How to walk the base layer.
#[derive(Clone, Copy, Debug)]
pub struct WalkParams<'a> {
    /// Size of the candidate list and the most nodes that the walk returns, at least 1. A greater one finds better nodes
    /// and takes longer.
    pub ef: usize,
    /// What the walk does at nodes that are not accepted.
    pub traversal: Traversal,
    /// Nodes to start from, in addition to the one that the descent from the entry point finds.
    pub starts: &'a [Node],
    /// A node that the walk does not meet, as if it were not in the graph: that of the point whose vector is searched for,
    /// where a walk stands for one with a vector that is not stored.
    pub avoided: Option<Node>,
}

impl WalkParams<'_> {
    /// A walk of width `ef` through all nodes alike.
    pub fn wide(ef: usize) -> WalkParams<'static> {
        WalkParams { ef, traversal: Traversal::Check, starts: &[], avoided: None }
    }
}

/// What a walk does at nodes that are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traversal {
    /// Scores them and walks through them. Suits filters that accept most nodes.
    Check,
    /// Goes on to their neighbours without scoring them, so that only accepted nodes cost a distance (ACORN-1, arXiv
    /// 2403.04871). Suits filters that accept few nodes. If very few are accepted, they may lie more than two hops apart:
    /// the walk then goes on through refused nodes, in the order in which it met them, for `ef` hops at most.
    TwoHop,
}

/// The memory of walks, for reuse. Each thread needs one; it serves all graphs.
#[derive(Default)]
pub struct WalkScratch {
    pub(super) visited: Visited,
    pub(super) frontier: Frontier,
    pub(super) fresh: Fresh,
    /// Where the next walk of a layer starts: nodes that the space can read.
    pub(super) starts: Vec<Candidate>,
    /// What was found, with the duplicates of each node.
    with_duplicates: Vec<Candidate>,
    pub(super) two_hops: TwoHops,
    pub(super) explored: Explored,
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

impl WalkScratch {
    /// Empty scratch; it grows to the size of the graphs it is used on.
    pub fn new() -> WalkScratch {
        Self::default()
    }

    /// What the walks did since the last call.
    pub fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.work)
    }

    /// What the last walk of a layer found, best first.
    pub(super) fn found(&self) -> &[Candidate] {
        self.frontier.found()
    }

    /// Makes one node the only start of the next walk.
    pub(super) fn start_at(&mut self, start: Candidate) {
        self.starts.clear();
        self.starts.push(start);
    }
}

impl Hnsw {
    /// The nearest accepted nodes that the walk finds, best first: at most `ef` different ones, each with all its
    /// duplicates, up to a few thousand together, so that the caller can choose among equal vectors.
    ///
    /// `accept` says which nodes may be returned. It is called at most once for each node, or twice where the graph has
    /// duplicates. `stop` is called every few hops, and ends the walk with [`Stopped`].
    ///
    /// The walk can return fewer nodes than are wanted and accepted, if few are accepted or if the view of the space is
    /// old. A caller that needs them all has to scan.
    pub fn walk<'s, S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        params: &WalkParams,
        accept: &impl Fn(Node) -> bool,
        scratch: &'s mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<&'s [Candidate], Stopped> {
        self.walk_choosing(space, query, params, (accept, accept), scratch, stop)
    }

    /// As [`Hnsw::walk`], with a second predicate: of equal nodes, the walk returns those that `choose` accepts. It suits a
    /// caller that accepts all nodes alike and picks among those that were found. `choose` is called far less often.
    pub fn walk_choosing<'s, S: Space>(
        &self,
        space: &S,
        query: &S::Query,
        params: &WalkParams,
        (accept, choose): (&impl Fn(Node) -> bool, &impl Fn(Node) -> bool),
        scratch: &'s mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<&'s [Candidate], Stopped> {
        let computer = DistanceComputer::new(space, query);
        self.find_starts(computer, params, scratch);
        if !self.nodes.duplicates.exist() {
            self.walk_base(computer, params, accept, scratch, stop)?;
            return Ok(scratch.found());
        }
        let accept_any = |node| self.with_duplicates(node).any(accept);
        self.walk_base(computer, params, &accept_any, scratch, stop)?;
        self.add_duplicates(params.ef.max(1), choose, scratch);
        Ok(&scratch.with_duplicates)
    }

    /// Fills `scratch.starts` for a walk of the base layer.
    pub(super) fn find_starts<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        params: &WalkParams,
        scratch: &mut WalkScratch,
    ) {
        let descent = self.descend_beside(computer, 0, params.avoided, scratch);
        scratch.starts.clear();
        match descent {
            Some(start) => scratch.starts.push(start),
            None => self.starts_of_an_old_view(computer, &mut scratch.starts),
        }
        let len = self.len();
        // Duplicates have no links to go on by.
        let leads_on =
            |node: Node| node.get() < len && !self.nodes.is_duplicate(node) && computer.can_read(node);
        let further: Vec<Node> = params.starts.iter().copied().filter(|&node| leads_on(node)).collect();
        computer.score(&further, |candidate| scratch.starts.push(candidate));
    }

    fn walk_base<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        params: &WalkParams,
        accept: &impl Fn(Node) -> bool,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        match params.traversal {
            Traversal::Check => self.walk_beside(computer, 0, params, accept, scratch, stop),
            Traversal::TwoHop => self.walk_two_hops(computer, params, accept, scratch, stop),
        }
    }

    /// Fills `scratch.with_duplicates` with what was found, each node followed by its chosen duplicates: by all of them until
    /// there are `ef` or a few thousand, then by that number divided by the number of nodes found. Duplicates take no places from
    /// the nodes behind them: distances may be estimates, and another node may in truth be the nearest.
    fn add_duplicates(&self, ef: usize, choose: &impl Fn(Node) -> bool, scratch: &mut WalkScratch) {
        let WalkScratch { frontier, with_duplicates, .. } = scratch;
        with_duplicates.clear();
        let most = ef.max(MAX_WITH_DUPLICATES);
        let share = (most / frontier.found().len().max(1)).max(1);
        for &found in frontier.found() {
            let mut duplicates = self.nodes.duplicates.of(found.node()).peekable();
            if duplicates.peek().is_none() {
                with_duplicates.push(found);
                continue;
            }
            let looked_at = self.with_duplicates(found.node()).take(most.saturating_mul(LOOKS));
            let chosen = looked_at.filter(|&node| choose(node));
            let from = with_duplicates.len();
            let count = most.saturating_sub(from).max(share);
            with_duplicates.extend(chosen.take(count).map(|node| Candidate::new(found.distance(), node)));
            with_duplicates[from..].sort_unstable();
        }
    }

    /// From the entry point greedily down to the layer above `level`: where to begin in layer `level`. None when the
    /// graph is empty, or when the space can read no node on the way.
    pub(super) fn descend<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        level: usize,
        scratch: &mut WalkScratch,
    ) -> Option<Candidate> {
        self.descend_beside(computer, level, None, scratch)
    }

    /// As `descend`, but avoids a node. `None` where that is also the entry node.
    fn descend_beside<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        level: usize,
        avoided: Option<Node>,
        scratch: &mut WalkScratch,
    ) -> Option<Candidate> {
        let (mut at, top) = self.entry()?;
        if avoided == Some(at) {
            return None;
        }
        let WalkScratch { visited, fresh, .. } = scratch;
        // One set of marks serves all these layers: a node that was worse than the best so far still is.
        let mut marks = visited.begin(self.len());
        let mut best = computer.can_read(at).then(|| computer.candidate(at));
        marks.visit(at);
        if let Some(node) = avoided {
            marks.visit(node);
        }
        for layer in (level + 1..=top).rev() {
            loop {
                let before = best;
                for words in self.nodes.words(at, layer).chunks(BLOCK) {
                    gather(computer.space, words, &mut marks, fresh);
                    computer.score(fresh.nodes(), |candidate| {
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

    /// Walks one layer from `scratch.starts` and leaves the best `ef` accepted nodes in the scratch.
    pub(super) fn walk_layer<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        level: usize,
        ef: usize,
        accept: &impl Fn(Node) -> bool,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        self.walk_beside(computer, level, &WalkParams::wide(ef), accept, scratch, stop)
    }

    /// As `walk_layer`, with the width of `params`, and without the node that these avoid.
    fn walk_beside<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        level: usize,
        params: &WalkParams,
        accept: &impl Fn(Node) -> bool,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let WalkScratch { visited, frontier, fresh, starts, work, .. } = scratch;
        let mut marks = visited.begin(self.len());
        if let Some(node) = params.avoided {
            marks.visit(node);
        }
        frontier.begin(params.ef.max(1));
        for &start in starts.iter() {
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
            // Fetched while this node's neighbours are scored. It is a guess: one of them may be expanded before it.
            if level == 0
                && let Some(next) = frontier.peek_next()
            {
                self.nodes.prefetch(next);
            }
            for words in self.nodes.words(node, level).chunks(BLOCK) {
                gather(computer.space, words, &mut marks, fresh);
                work.distances += fresh.nodes().len() as u64;
                computer.score(fresh.nodes(), |candidate| {
                    // Its links are fetched while the rest of the block is scored.
                    if frontier.offer(candidate, accept) && level == 0 {
                        self.nodes.prefetch(candidate.node());
                    }
                });
            }
        }
        Ok(())
    }

    /// Where a view starts that is older than the entry point and all nodes on the descent from it: at the neighbours of
    /// the entry point that it can read, and at the first node of all.
    fn starts_of_an_old_view<S: Space>(
        &self,
        computer: DistanceComputer<'_, S>,
        starts: &mut Vec<Candidate>,
    ) {
        if let Some((entry, _)) = self.entry() {
            let mut add = |node| {
                if computer.can_read(node) {
                    starts.push(computer.candidate(node));
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
