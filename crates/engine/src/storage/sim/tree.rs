//! The names of a simulated disk: directories, their durable entries, and the changes that no sync has covered.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};

use super::dice::Dice;
use super::file::Content;

/// Number of a file or directory, as on a real file system: names come and go, the node stays.
pub(super) type NodeId = u64;

const ROOT: NodeId = 0;

type Entries = BTreeMap<String, NodeId>;

#[derive(Clone, Debug)]
enum Node {
    File(Content),
    Dir { live: Entries, durable: Entries },
}

/// One change of names in one directory; a rename changes two names at once, so that they survive or vanish together.
#[derive(Clone, Debug)]
struct NameChange {
    dir: NodeId,
    entries: Vec<(String, Option<NodeId>)>,
}

/// All names and contents.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: HashMap<NodeId, Node>,
    next: NodeId,
    pending: Vec<NameChange>,
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut tree = Self { nodes: HashMap::new(), next: ROOT, pending: Vec::new() };
        tree.add(Node::Dir { live: Entries::new(), durable: Entries::new() });
        tree
    }

    fn add(&mut self, node: Node) -> NodeId {
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, node);
        id
    }

    fn entries(&self, dir: NodeId) -> Option<&Entries> {
        match self.nodes.get(&dir) {
            Some(Node::Dir { live, .. }) => Some(live),
            _ => None,
        }
    }

    /// The node that a path names; the empty path names the root.
    pub(super) fn find(&self, path: &str) -> Option<NodeId> {
        path.split('/')
            .filter(|part| !part.is_empty())
            .try_fold(ROOT, |dir, part| self.entries(dir)?.get(part).copied())
    }

    pub(super) fn find_dir(&self, path: &str) -> Option<NodeId> {
        self.find(path).filter(|id| self.entries(*id).is_some())
    }

    pub(super) fn find_file(&self, path: &str) -> Option<NodeId> {
        self.find(path).filter(|id| self.content(*id).is_some())
    }

    pub(super) fn content(&self, file: NodeId) -> Option<&Content> {
        match self.nodes.get(&file) {
            Some(Node::File(content)) => Some(content),
            _ => None,
        }
    }

    pub(super) fn content_mut(&mut self, file: NodeId) -> Option<&mut Content> {
        match self.nodes.get_mut(&file) {
            Some(Node::File(content)) => Some(content),
            _ => None,
        }
    }

    pub(super) fn names(&self, dir: NodeId) -> Vec<String> {
        self.entries(dir).map(|entries| entries.keys().cloned().collect()).unwrap_or_default()
    }

    /// Bytes in all files that have a name.
    pub(super) fn used_bytes(&self) -> u64 {
        self.reachable()
            .iter()
            .filter_map(|id| self.content(*id))
            .map(|content| content.live().len() as u64)
            .sum()
    }

    fn change(&mut self, dir: NodeId, entries: Vec<(String, Option<NodeId>)>) {
        if let Some(Node::Dir { live, .. }) = self.nodes.get_mut(&dir) {
            set_all(live, &entries);
            self.pending.push(NameChange { dir, entries });
        }
    }

    pub(super) fn create_file(&mut self, dir: NodeId, name: &str) -> NodeId {
        let id = self.add(Node::File(Content::default()));
        self.change(dir, vec![(name.to_owned(), Some(id))]);
        id
    }

    pub(super) fn create_dir(&mut self, dir: NodeId, name: &str) -> NodeId {
        let id = self.add(Node::Dir { live: Entries::new(), durable: Entries::new() });
        self.change(dir, vec![(name.to_owned(), Some(id))]);
        id
    }

    pub(super) fn rename(&mut self, dir: NodeId, from: &str, to: &str) {
        let node = self.entries(dir).and_then(|entries| entries.get(from)).copied();
        if from != to {
            self.change(dir, vec![(from.to_owned(), None), (to.to_owned(), node)]);
        }
    }

    pub(super) fn remove(&mut self, dir: NodeId, name: &str) {
        self.change(dir, vec![(name.to_owned(), None)]);
    }

    /// Empties a directory, deepest names first, as one call after the other would.
    pub(super) fn empty_dir(&mut self, dir: NodeId) {
        for name in self.names(dir) {
            if let Some(child) = self.entries(dir).and_then(|entries| entries.get(&name)).copied() {
                self.empty_dir(child);
            }
            self.remove(dir, &name);
        }
    }

    pub(super) fn sync_dir(&mut self, dir: NodeId) {
        let (mine, others) = std::mem::take(&mut self.pending).into_iter().partition(|c| c.dir == dir);
        self.pending = others;
        let mine: Vec<NameChange> = mine;
        for change in &mine {
            self.make_durable(change);
        }
    }

    fn make_durable(&mut self, change: &NameChange) {
        if let Some(Node::Dir { durable, .. }) = self.nodes.get_mut(&change.dir) {
            set_all(durable, &change.entries);
        }
    }

    /// Leaves what the disk holds after the power came back. A name keeps a prefix of its unsynced changes.
    pub(super) fn lose_power(&mut self, dice: &mut Dice) {
        let percent = [0, 25, 50, 75, 100][dice.below(5)];
        let mut stuck: HashSet<(NodeId, String)> = HashSet::new();
        for change in std::mem::take(&mut self.pending) {
            let follows_a_loss =
                change.entries.iter().any(|(name, _)| stuck.contains(&(change.dir, name.clone())));
            if !follows_a_loss && dice.chance(percent) {
                self.make_durable(&change);
            } else {
                stuck.extend(change.entries.into_iter().map(|(name, _)| (change.dir, name)));
            }
        }
        self.show_durable_names();
        for id in self.file_ids() {
            if let Some(content) = self.content_mut(id) {
                content.lose_power(dice);
            }
        }
    }

    /// How many changes of names, and of files that have a name, no sync has covered.
    pub(super) fn unsynced(&self) -> usize {
        let files = self.named_at_all();
        let contents = files.iter().filter_map(|id| self.content(*id)).map(Content::unsynced);
        self.pending.len() + contents.sum::<usize>()
    }

    /// Leaves what the disk holds if of the [`unsynced`](Self::unsynced) changes, names first, exactly those arrived for
    /// which `arrived` says so; but no change of a name without those before it.
    pub(super) fn lose_power_keeping(&mut self, mut arrived: impl FnMut() -> bool) {
        let files = self.named_at_all();
        let mut stuck: HashSet<(NodeId, String)> = HashSet::new();
        for change in std::mem::take(&mut self.pending) {
            let follows_a_loss =
                change.entries.iter().any(|(name, _)| stuck.contains(&(change.dir, name.clone())));
            // Asked in any case: one answer for each change.
            if arrived() && !follows_a_loss {
                self.make_durable(&change);
            } else {
                stuck.extend(change.entries.into_iter().map(|(name, _)| (change.dir, name)));
            }
        }
        for id in files {
            if let Some(content) = self.content_mut(id) {
                content.lose_power_keeping(&mut arrived);
            }
        }
        self.show_durable_names();
    }

    /// See [`Content::drop_caches`].
    pub(super) fn drop_caches(&mut self, dice: &mut Dice) {
        for id in self.file_ids() {
            if let Some(content) = self.content_mut(id) {
                content.drop_caches(dice);
            }
        }
    }

    /// Feeds every path and its bytes to a hasher.
    pub(super) fn hash_into(&self, hasher: &mut impl Hasher) {
        self.hash_dir(ROOT, hasher);
    }

    fn hash_dir(&self, dir: NodeId, hasher: &mut impl Hasher) {
        for (name, id) in self.entries(dir).into_iter().flatten() {
            name.hash(hasher);
            match self.content(*id) {
                Some(content) => content.live().hash(hasher),
                None => self.hash_dir(*id, hasher),
            }
        }
        hasher.write_u8(0);
    }

    fn show_durable_names(&mut self) {
        for node in self.nodes.values_mut() {
            if let Node::Dir { live, durable } = node {
                live.clone_from(durable);
            }
        }
        let reachable = self.reachable();
        self.nodes.retain(|id, _| reachable.contains(id));
    }

    /// All files, in the order of their making, so that equal seeds tear equal files.
    fn file_ids(&self) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Files and directories that have a name, had one that may come back, or may get one, in the order of their making.
    fn named_at_all(&self) -> Vec<NodeId> {
        let mut seen = BTreeSet::from([ROOT]);
        let mut open = vec![ROOT];
        while let Some(dir) = open.pop() {
            let durable = match self.nodes.get(&dir) {
                Some(Node::Dir { durable, .. }) => Some(durable),
                _ => None,
            };
            let pending = self.pending.iter().filter(|change| change.dir == dir);
            let pending = pending.flat_map(|change| &change.entries).filter_map(|(_, node)| *node);
            let named = self.entries(dir).into_iter().chain(durable).flat_map(Entries::values).copied();
            for child in named.chain(pending) {
                if seen.insert(child) {
                    open.push(child);
                }
            }
        }
        seen.into_iter().collect()
    }

    fn reachable(&self) -> HashSet<NodeId> {
        let mut seen = HashSet::from([ROOT]);
        let mut open = vec![ROOT];
        while let Some(dir) = open.pop() {
            for &child in self.entries(dir).into_iter().flat_map(Entries::values) {
                if seen.insert(child) {
                    open.push(child);
                }
            }
        }
        seen
    }
}

fn set_all(entries: &mut Entries, changes: &[(String, Option<NodeId>)]) {
    for (name, node) in changes {
        match node {
            Some(id) => entries.insert(name.clone(), *id),
            None => entries.remove(name),
        };
    }
}
