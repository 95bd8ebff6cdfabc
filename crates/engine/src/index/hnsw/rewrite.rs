//! Writing a graph anew: without its dead nodes, and in the order in which walks meet the others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::insert::BuildScratch;
use super::nodes::{Link, Nodes};
use super::search::score;
use super::select::Selection;
use super::{Hnsw, pack_entry};
use crate::index::{Space, Stopped};
use crate::types::Metric;

/// Nodes that a thread takes at a time, and between two stop checks.
const STEP: usize = 256;

/// Candidates for the links of a node whose neighbours died, for each link that it can have in an upper layer.
const CANDIDATES_PER_LINK: usize = 16;

/// A node that was not met yet, …
const UNSEEN: u32 = u32::MAX;
/// … and one that is left out of the new graph, in a list of new numbers.
const DEAD: u32 = u32::MAX - 1;

/// The nodes of a graph that is being replaced by another one.
struct Renumbered<'a, S> {
    space: &'a S,
    /// The old number of each new node.
    old: &'a [u32],
}

impl<S: Space> Space for Renumbered<'_, S> {
    type Query = S::Query;

    fn one(&self, query: &S::Query, node: u32) -> f32 {
        self.space.one(query, self.old[node as usize])
    }

    fn four(&self, query: &S::Query, nodes: [u32; 4]) -> [f32; 4] {
        self.space.four(query, nodes.map(|node| self.old[node as usize]))
    }

    fn prefetch(&self, node: u32) {
        self.space.prefetch(self.old[node as usize]);
    }

    fn look_ahead(&self) -> usize {
        self.space.look_ahead()
    }

    fn can_read(&self, node: u32) -> bool {
        self.space.can_read(self.old[node as usize])
    }

    fn metric(&self) -> Metric {
        self.space.metric()
    }

    fn load(&self, node: u32, query: &mut S::Query) {
        self.space.load(self.old[node as usize], query);
    }

    fn is_same(&self, a: u32, b: u32) -> bool {
        self.space.is_same(self.old[a as usize], self.old[b as usize])
    }
}

/// The nodes of a new graph.
struct Order {
    /// For every old node that has links the number of the new one in its place.
    numbers: Vec<u32>,
    /// For every new node with links the old one whose place it takes: the same, or what that hung on.
    places: Vec<u32>,
    /// For every new node with links its own old number.
    old: Vec<u32>,
    /// The old number of each node that hangs on another one, and the new number of that.
    twins: Vec<(u32, u32)>,
}

/// What one thread needs to choose links.
struct Work<Q> {
    selection: Selection<Q>,
    centre: Q,
    links: Vec<Link>,
    dead: Vec<u32>,
    near: Vec<u32>,
}

impl Hnsw {
    /// A new graph of the nodes that `keep` says yes to, in breadth-first order from the entry point, and the present
    /// number of each of its nodes, in order: the caller copies their codes.
    ///
    /// Links to nodes that are left out give way to the best of what these linked to, over two such nodes at most
    /// (the consolidation of FreshDiskANN, arXiv 2105.09613). Levels stay. Every node of the new graph can be reached.
    ///
    /// Searches and insertions may go on meanwhile. Nodes claimed since the call began, or not linked yet, are not in
    /// the new graph; the caller inserts their rows into it. `space` holds all nodes that there are at the call.
    /// `threads` (at least 1) work on it. `keep` is asked once a node. `stop` is asked now and then and ends it all
    /// with [`Stopped`]. Memory: the new graph and 16 bytes a node of the present one.
    pub fn rewrite<S: Space>(
        &self,
        space: &S,
        keep: &impl Fn(u32) -> bool,
        threads: usize,
        stop: &(impl Fn() -> bool + Sync),
    ) -> Result<(Hnsw, Vec<u32>), Stopped> {
        let Order { numbers, places, mut old, twins } = self.breadth_first(keep, stop)?;
        let mut new = Hnsw::new(self.params);
        new.nodes = Nodes::new(self.params.m, self.params.seed, (old.len() + twins.len()) as u32);
        for (&node, &place) in old.iter().zip(&places) {
            new.nodes.append(self.nodes.row_of(node), self.nodes.level_of(place));
        }
        // The newest of a heap was met first.
        for &(twin, first) in twins.iter().rev() {
            let number = new.nodes.append(self.nodes.row_of(twin), 0);
            new.nodes.hang(number, first);
            old.push(twin);
        }
        let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let work = || self.carry_links_over(space, &new, &numbers, &places, &next, &is_stopped, stop);
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        if is_stopped.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        new.choose_entry();
        new.keep_forest();
        let joined = new.join_parts(&Renumbered { space, old: &old }, &mut BuildScratch::new(), stop);
        joined.map(|_| (new, old))
    }

    fn breadth_first(&self, keep: &impl Fn(u32) -> bool, stop: &impl Fn() -> bool) -> Result<Order, Stopped> {
        let len = self.len();
        let mut order = Order {
            numbers: vec![UNSEEN; len as usize],
            places: Vec::new(),
            old: Vec::new(),
            twins: Vec::new(),
        };
        let mut queue = Vec::new();
        let mut heap = Vec::new();
        let mut meet = |place: u32, queue: &mut Vec<u32>| {
            // Nodes inserted since the start are beyond the list.
            let Some(number @ &mut UNSEEN) = order.numbers.get_mut(place as usize) else { return };
            queue.push(place);
            heap.clear();
            heap.extend(self.heap(place).filter(|&node| node < len && keep(node)));
            // The lowest row takes the place, so that every view that holds one of the heap holds it.
            let Some(&first) = heap.iter().min_by_key(|&&node| self.row_of(node)) else {
                *number = DEAD;
                return;
            };
            *number = order.old.len() as u32;
            order.places.push(place);
            order.old.push(first);
            order.twins.extend(heap.iter().filter(|&&node| node != first).map(|&twin| (twin, *number)));
        };
        if let Some((entry, _)) = self.entry() {
            meet(entry, &mut queue);
        }
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            if at.is_multiple_of(STEP) && stop() {
                return Err(Stopped);
            }
            at += 1;
            self.nodes.for_each_link(node, 0, |link| meet(link.node(), &mut queue));
        }
        Ok(order)
    }

    /// Writes the links of some new nodes after others, until there are none left.
    #[expect(clippy::too_many_arguments, reason = "what the threads of one rewrite share")]
    fn carry_links_over<S: Space>(
        &self,
        space: &S,
        new: &Hnsw,
        numbers: &[u32],
        places: &[u32],
        next: &AtomicUsize,
        is_stopped: &AtomicBool,
        stop: &impl Fn() -> bool,
    ) {
        let mut work: Work<S::Query> = Work {
            selection: Selection::default(),
            links: Vec::new(),
            centre: S::Query::default(),
            dead: Vec::new(),
            near: Vec::new(),
        };
        loop {
            let from = next.fetch_add(STEP, Ordering::Relaxed);
            if from >= places.len() || is_stopped.load(Ordering::Relaxed) {
                return;
            }
            if stop() {
                is_stopped.store(true, Ordering::Relaxed);
                return;
            }
            let to = places.len().min(from + STEP);
            for (number, &node) in (from as u32..).zip(&places[from..to]) {
                for layer in 0..=new.nodes.level_of(number) {
                    self.choose_links(space, numbers, (node, layer), &mut work);
                    let chosen = work
                        .selection
                        .chosen
                        .iter()
                        .map(|&(_, link)| link.renumbered(numbers[link.node() as usize]));
                    new.nodes.write(number, layer, chosen);
                }
            }
        }
    }

    /// Leaves the links, in old numbers, that a node is to have in the new graph in `work.selection.chosen`.
    fn choose_links<S: Space>(
        &self,
        space: &S,
        numbers: &[u32],
        (node, layer): (u32, usize),
        work: &mut Work<S::Query>,
    ) {
        let Work { selection, centre, links, dead, near } = work;
        let number = |node: u32| numbers.get(node as usize).copied().unwrap_or(UNSEEN);
        selection.candidates.clear();
        selection.chosen.clear();
        dead.clear();
        links.clear();
        // Under the lock: a list that is being rewritten may seem to have a link twice.
        self.nodes.lock(node).read(layer, links);
        for &link in links.iter() {
            match number(link.node()) {
                UNSEEN => {}
                DEAD => dead.push(link.node()),
                _ => selection.chosen.push((0.0, link)),
            }
        }
        if dead.is_empty() {
            return;
        }
        // Over the dead to the living behind them, and over one more where that is dead too.
        near.clear();
        let most = CANDIDATES_PER_LINK * self.params.m;
        let (direct, mut at) = (dead.len(), 0);
        while at < dead.len() && near.len() < most {
            let is_direct = at < direct;
            let between = dead[at];
            at += 1;
            self.nodes.for_each_link(between, layer, |link| {
                let other = link.node();
                match number(other) {
                    UNSEEN => {}
                    DEAD if is_direct => dead.push(other),
                    DEAD => {}
                    _ if other != node => near.push(other),
                    _ => {}
                }
            });
        }
        let present = &selection.chosen;
        near.sort_unstable();
        near.dedup();
        near.retain(|&other| present.iter().all(|(_, link)| link.node() != other));
        let marks: Vec<Link> = present.iter().map(|&(_, link)| link).collect();
        let kept = marks.iter().copied();
        let links: Vec<Link> = kept.chain(near.iter().map(|&other| Link::new(other, false))).collect();
        near.clear();
        near.extend(links.iter().map(|link| link.node()));
        space.load(node, centre);
        let mut of_node = links.iter();
        score(space, centre, near, |candidate| {
            let &link = of_node.next().expect("as many distances as links");
            selection.candidates.push((candidate.distance(), link, link.in_tree()));
        });
        // A full list: the links that this node would have got from the nodes that come after it are not made again.
        let capacity = self.nodes.capacity(layer);
        selection.choose(space, capacity, capacity);
    }

    /// Makes the first node of the highest level the entry point, and the one with the lowest row the root.
    pub(super) fn choose_entry(&self) {
        let linked = || (0..self.len()).filter(|&node| !self.nodes.is_twin(node));
        let levels = linked().map(|node| (self.nodes.level_of(node), node));
        // The first of equals is the greatest by this order.
        if let Some((level, node)) = levels.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))) {
            self.entry.store(pack_entry(node, level), Ordering::Release);
        }
        if let Some(root) = linked().min_by_key(|&node| self.nodes.row_of(node)) {
            self.root.store(u64::from(root) + 1, Ordering::Release);
        }
    }
}
