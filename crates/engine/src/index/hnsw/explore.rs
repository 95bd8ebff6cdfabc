//! A walk that its caller prolongs, and that keeps everything it meets.

use super::Hnsw;
use super::computer::DistanceComputer;
use super::pool::{Candidate, Pool};
use super::visited::BLOCK;
use super::walk::{HOPS_PER_CHECK, WalkParams, WalkScratch, gather};
use crate::index::{Space, Stopped};
use crate::types::Node;

/// How an exploration goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Further {
    /// How wide it becomes.
    pub width: usize,
    /// From now on it compares only nodes that are wanted. It still goes on from others that it had compared before.
    pub only_wanted: bool,
}

/// What an exploration has met.
#[derive(Default)]
pub(super) struct Explored {
    /// The best of what it has met, as many as it is wide.
    nearest: Pool,
    /// Everything that it has met, in that order.
    met: Vec<Candidate>,
}

impl Hnsw {
    /// Walks as [`Hnsw::walk`] through all nodes, and then, each time as `pause` returns, on from there until it returns
    /// none. `pause` is given the distance of the worst node within the present width, none where everything was
    /// met, and what was met since its last call, in no order, duplicates left out.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true, as in [`Hnsw::walk`].
    pub fn explore<S: Space>(
        &self,
        (space, query): (&S, &S::Query),
        params: &WalkParams,
        wanted: &impl Fn(Node) -> bool,
        pause: &mut impl FnMut(Option<f32>, &[Candidate]) -> Option<Further>,
        scratch: &mut WalkScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<(), Stopped> {
        let computer = DistanceComputer::new(space, query);
        self.find_starts(computer, params, scratch);
        let WalkScratch { visited, fresh, starts, work, explored: Explored { nearest, met }, .. } = scratch;
        let mut marks = visited.begin(self.len());
        if let Some(node) = params.avoided {
            marks.visit(node);
        }
        nearest.begin(params.ef.max(1));
        met.clear();
        for &start in starts.iter() {
            if marks.visit(start.node()) {
                met.push(start);
                nearest.offer(start);
            }
        }
        let (mut hops, mut reported, mut only_wanted) = (0u32, 0, false);
        loop {
            while let Some(node) = nearest.expand_next() {
                if hops.is_multiple_of(HOPS_PER_CHECK) && stop() {
                    return Err(Stopped);
                }
                hops += 1;
                work.hops += 1;
                if let Some(next) = nearest.peek_next() {
                    self.nodes.prefetch(next);
                }
                for words in self.nodes.words(node, 0).chunks(BLOCK) {
                    gather(space, words, &mut marks, fresh);
                    if only_wanted {
                        fresh.retain(wanted);
                    }
                    work.distances += fresh.nodes().len() as u64;
                    computer.score(fresh.nodes(), |candidate| {
                        met.push(candidate);
                        if nearest.offer(candidate) {
                            self.nodes.prefetch(candidate.node());
                        }
                    });
                }
            }
            let radius = nearest.is_full().then(|| nearest.entries().last().map(|worst| worst.distance()));
            let Some(further) = pause(radius.flatten(), &met[reported..]) else { return Ok(()) };
            reported = met.len();
            only_wanted |= further.only_wanted;
            nearest.widen(further.width, met);
        }
    }
}

impl Pool {
    /// Takes a candidate that was met for the first time, if it is good enough. True when it is the next to be expanded.
    #[inline(always)]
    fn offer(&mut self, candidate: Candidate) -> bool {
        self.admits(candidate) && self.insert(candidate)
    }

    /// Makes the pool wider, with the best of all that was offered to it.
    fn widen(&mut self, ef: usize, offered: &[Candidate]) {
        let more = ef.saturating_sub(self.entries().len());
        let worst = self.entries().last().filter(|_| self.is_full()).map(|worst| worst.unexpanded());
        // A pool that is not full has everything.
        let Some(worst) = worst else { return self.extend(ef, &[]) };
        let mut further: Vec<Candidate> = offered.iter().copied().filter(|&one| one > worst).collect();
        if further.len() > more && more > 0 {
            further.select_nth_unstable(more - 1);
        }
        further.truncate(more);
        further.sort_unstable();
        self.extend(ef, &further);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pool_that_becomes_wider_has_the_best_of_all_that_was_offered(
            distances in prop::collection::vec(0u8..20, 0..40),
            (width, wider) in (1usize..12, 1usize..24),
        ) {
            let offered: Vec<Candidate> =
                (0u32..).zip(&distances).map(|(node, &distance)| Candidate::new(f32::from(distance), Node::new(node))).collect();
            let offer_all = |width: usize| {
                let mut pool = Pool::default();
                pool.begin(width);
                for &one in &offered {
                    pool.offer(one);
                }
                pool
            };
            let nodes = |pool: &Pool| pool.entries().iter().map(|entry| entry.node()).collect::<Vec<_>>();
            let mut pool = offer_all(width);
            pool.widen(wider, &offered);
            prop_assert_eq!(nodes(&pool), nodes(&offer_all(width.max(wider))));
        }
    }
}
