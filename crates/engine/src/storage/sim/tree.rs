//! The names of a simulated disk: directories, their durable entries, and the changes that no sync has covered.

use std::collections::{BTreeMap, HashMap, HashSet};

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
        for node in self.nodes.values_mut() {
            if let Node::Dir { live, durable } = node {
                live.clone_from(durable);
            }
        }
        let reachable = self.reachable();
        self.nodes.retain(|id, _| reachable.contains(id));
        // In the order of the ids, so that equal seeds tear equal files.
        let mut ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(content) = self.content_mut(id) {
                content.lose_power(dice);
            }
        }
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
