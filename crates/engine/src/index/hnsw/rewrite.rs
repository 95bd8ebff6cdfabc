//! Rewriting a graph: without its dead nodes, and with the others in the order in which walks meet them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::computer::DistanceComputer;
use super::forest::TreeMarks;
use super::insert::BuildScratch;
use super::nodes::{Link, Nodes};
use super::select::Selection;
use super::{Hnsw, pack_entry};
use crate::index::{Space, Stopped};
use crate::types::{Metric, Node};

/// Nodes that a thread takes at a time, and between two stop checks.
const STEP: usize = 256;

/// Candidates for the links of a node whose neighbours died, for each link that it can have in an upper layer.
const CANDIDATES_PER_LINK: usize = 16;

/// In a list of new numbers, a node that was not met yet, …
const UNSEEN: u32 = u32::MAX;
/// … and one that is left out of the new graph.
const DEAD: u32 = u32::MAX - 1;

/// The nodes of a graph that is being replaced by another one.
struct Renumbered<'a, S> {
    space: &'a S,
    /// The old number of each new node.
    old: &'a [Node],
}

impl<S: Space> Space for Renumbered<'_, S> {
    type Query = S::Query;

    fn one(&self, query: &S::Query, node: Node) -> f32 {
        self.space.one(query, self.old[node.index()])
    }

    fn four(&self, query: &S::Query, nodes: [Node; 4]) -> [f32; 4] {
        self.space.four(query, nodes.map(|node| self.old[node.index()]))
    }

    fn prefetch(&self, node: Node) {
        self.space.prefetch(self.old[node.index()]);
    }

    fn look_ahead(&self) -> usize {
        self.space.look_ahead()
    }

    fn can_read(&self, node: Node) -> bool {
        self.space.can_read(self.old[node.index()])
    }

    fn metric(&self) -> Metric {
        self.space.metric()
    }

    fn load(&self, node: Node, query: &mut S::Query) {
        self.space.load(self.old[node.index()], query);
    }

    fn is_same(&self, a: Node, b: Node) -> bool {
        self.space.is_same(self.old[a.index()], self.old[b.index()])
    }
}

/// The nodes of a new graph.
struct Order {
    /// For every old node that has links the number of the new one in its place, or [`UNSEEN`] or [`DEAD`].
    numbers: Vec<u32>,
    /// For every new node with links the old one whose place it takes: the same, or the one that it is a duplicate of.
    places: Vec<Node>,
    /// For every new node with links its own old number.
    old: Vec<Node>,
    /// The old number of each duplicate, and the new number of the node that it is a duplicate of.
    duplicates: Vec<(Node, Node)>,
}

/// What the threads of one rewrite share.
struct Rewrite<'a, S, F> {
    present: &'a Hnsw,
    new: &'a Hnsw,
    space: &'a S,
    /// As in [`Order`].
    numbers: &'a [u32],
    places: &'a [Node],
    /// Number of the first new node whose links no thread has taken on.
    next: AtomicUsize,
    is_stopped: AtomicBool,
    stop: &'a F,
}

/// What one thread needs to choose links.
struct LinkChoice<Q> {
    selection: Selection<Q>,
    centre: Q,
    links: Vec<Link>,
    dead: Vec<Node>,
    near: Vec<Node>,
}

impl Hnsw {
    /// A new graph of the nodes that `keep` returns true for, in breadth-first order from the entry point, and the present
    /// number of each of its nodes, in order: the caller copies their codes.
    ///
    /// Links to nodes that are left out are replaced by the best of what these linked to, over two such nodes at most
    /// (the consolidation of FreshDiskANN, arXiv 2105.09613). Levels stay. Every node of the new graph can be reached.
    ///
    /// Walks and insertions may go on meanwhile. Nodes allocated since the call began, or not linked yet, are not in
    /// the new graph; the caller inserts their rows into it. `space` holds all nodes that there are at the call.
    /// `threads` (at least 1) work on it. `keep` is called once for each node. `stop` is called every few hundred nodes
    /// and ends the rewrite with [`Stopped`]. Memory: the new graph and 16 bytes a node of the present one.
    pub fn rewrite<S: Space>(
        &self,
        space: &S,
        keep: &impl Fn(Node) -> bool,
        threads: usize,
        stop: &(impl Fn() -> bool + Sync),
    ) -> Result<(Hnsw, Vec<Node>), Stopped> {
        let Order { numbers, places, mut old, duplicates } = self.breadth_first(keep, stop)?;
        let mut new = Hnsw::new(self.params);
        new.nodes = Nodes::new(self.params.m, self.params.seed, (old.len() + duplicates.len()) as u32);
        for (&node, &place) in old.iter().zip(&places) {
            new.nodes.append(self.nodes.row_of(node), self.nodes.level_of(place));
        }
        // Chains have the newest first, and each is written from its end.
        for &(duplicate, original) in duplicates.iter().rev() {
            let number = new.nodes.append(self.nodes.row_of(duplicate), 0);
            new.nodes.add_duplicate(number, original);
            old.push(duplicate);
        }
        let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (numbers, places) = (&numbers, &places);
        let rewrite = Rewrite { present: self, new: &new, space, numbers, places, next, is_stopped, stop };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| rewrite.carry_links_over());
            }
            rewrite.carry_links_over();
        });
        if rewrite.is_stopped.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        new.choose_entry();
        let pairs = new.keep_forest(&[TreeMarks::of(&new)]);
        if pairs + 1 < places.len() {
            new.join_parts(&Renumbered { space, old: &old }, &mut BuildScratch::new(), stop)?;
        }
        Ok((new, old))
    }

    fn breadth_first(
        &self,
        keep: &impl Fn(Node) -> bool,
        stop: &impl Fn() -> bool,
    ) -> Result<Order, Stopped> {
        let len = self.len();
        let mut order = Order {
            numbers: vec![UNSEEN; len as usize],
            places: Vec::new(),
            old: Vec::new(),
            duplicates: Vec::new(),
        };
        let mut queue = Vec::new();
        let mut equal = Vec::new();
        let mut meet = |place: Node, queue: &mut Vec<Node>| {
            // Nodes inserted since the start are beyond the list.
            let Some(number @ &mut UNSEEN) = order.numbers.get_mut(place.index()) else { return };
            queue.push(place);
            equal.clear();
            equal.extend(self.with_duplicates(place).filter(|&node| node.get() < len && keep(node)));
            // The lowest row takes the place, so that every view that holds one of the equal nodes holds it.
            let Some(&first) = equal.iter().min_by_key(|&&node| self.row_of(node)) else {
                *number = DEAD;
                return;
            };
            let new = Node::new(order.old.len() as u32);
            *number = new.get();
            order.places.push(place);
            order.old.push(first);
            let duplicates = equal.iter().filter(|&&node| node != first);
            order.duplicates.extend(duplicates.map(|&duplicate| (duplicate, new)));
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

    /// Makes the first node of the highest level the entry point, and the one with the lowest row the root.
    pub(super) fn choose_entry(&self) {
        let linked = || self.all_nodes().filter(|&node| !self.nodes.is_duplicate(node));
        let levels = linked().map(|node| (self.nodes.level_of(node), node));
        // The first of equals is the greatest by this order.
        if let Some((level, node)) = levels.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))) {
            self.entry.store(pack_entry(node, level), Ordering::Release);
        }
        if let Some(root) = linked().min_by_key(|&node| self.nodes.row_of(node)) {
            self.root.store(u64::from(root.get()) + 1, Ordering::Release);
        }
    }
}

impl<S: Space, F: Fn() -> bool> Rewrite<'_, S, F> {
    /// Writes the links of new nodes, some at a time, until there are none left.
    fn carry_links_over(&self) {
        let mut choice: LinkChoice<S::Query> = LinkChoice {
            selection: Selection::default(),
            links: Vec::new(),
            centre: S::Query::default(),
            dead: Vec::new(),
            near: Vec::new(),
        };
        let places = self.places;
        loop {
            let from = self.next.fetch_add(STEP, Ordering::Relaxed);
            if from >= places.len() || self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            if (self.stop)() {
                self.is_stopped.store(true, Ordering::Relaxed);
                return;
            }
            let to = places.len().min(from + STEP);
            for (number, &node) in (from as u32..).map(Node::new).zip(&places[from..to]) {
                for layer in 0..=self.new.nodes.level_of(number) {
                    self.choose_links(node, layer, &mut choice);
                    let chosen = choice
                        .selection
                        .chosen
                        .iter()
                        .map(|&(_, link)| link.renumbered(Node::new(self.number(link.node()))));
                    self.new.nodes.write(number, layer, chosen);
                }
            }
        }
    }

    /// Leaves the links, in old numbers, that a node is to have in the new graph in `choice.selection.chosen`.
    fn choose_links(&self, node: Node, layer: usize, choice: &mut LinkChoice<S::Query>) {
        self.split_links(node, layer, choice);
        if choice.dead.is_empty() {
            return;
        }
        self.gather_behind_dead(node, layer, choice);
        let LinkChoice { selection, centre, links, near, .. } = choice;
        links.clear();
        links.extend(selection.chosen.iter().map(|&(_, link)| link));
        near.retain(|&other| links.iter().all(|link| link.node() != other));
        links.extend(near.iter().map(|&other| Link::new(other, false)));
        near.clear();
        near.extend(links.iter().map(|link| link.node()));
        self.space.load(node, centre);
        let mut of_node = links.iter();
        DistanceComputer::new(self.space, centre).score(near, |candidate| {
            let &link = of_node.next().expect("as many distances as links");
            selection.candidates.push((candidate.distance(), link, link.in_tree()));
        });
        // A full list: the links that this node would have got from the nodes that come after it are not made again.
        let capacity = self.present.nodes.capacity(layer);
        selection.choose(self.space, capacity, capacity);
    }

    /// Puts the present links of a node that stay into `choice.selection.chosen`, and the neighbours that are left out
    /// into `choice.dead`.
    fn split_links(&self, node: Node, layer: usize, choice: &mut LinkChoice<S::Query>) {
        let LinkChoice { selection, links, dead, .. } = choice;
        selection.candidates.clear();
        selection.chosen.clear();
        dead.clear();
        links.clear();
        // Under the lock: a list that is being rewritten may seem to have a link twice.
        self.present.nodes.lock(node).read(layer, links);
        for &link in links.iter() {
            match self.number(link.node()) {
                UNSEEN => {}
                DEAD => dead.push(link.node()),
                _ => selection.chosen.push((0.0, link)),
            }
        }
    }

    /// Puts the living neighbours of the dead neighbours of a node into `choice.near`, ascending, and those behind one
    /// more dead node.
    fn gather_behind_dead(&self, node: Node, layer: usize, choice: &mut LinkChoice<S::Query>) {
        let LinkChoice { dead, near, .. } = choice;
        near.clear();
        let most = CANDIDATES_PER_LINK * self.present.params.m;
        let (direct, mut at) = (dead.len(), 0);
        while at < dead.len() && near.len() < most {
            let is_direct = at < direct;
            let between = dead[at];
            at += 1;
            self.present.nodes.for_each_link(between, layer, |link| {
                let other = link.node();
                match self.number(other) {
                    UNSEEN => {}
                    DEAD if is_direct => dead.push(other),
                    DEAD => {}
                    _ if other != node => near.push(other),
                    _ => {}
                }
            });
        }
        near.sort_unstable();
        near.dedup();
    }

    /// The new number of an old node, or [`UNSEEN`] or [`DEAD`].
    fn number(&self, node: Node) -> u32 {
        self.numbers.get(node.index()).copied().unwrap_or(UNSEEN)
    }
}
