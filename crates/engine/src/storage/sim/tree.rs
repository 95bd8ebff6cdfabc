//! The names of a simulated disk: which of them are durable, and the changes that no sync has covered.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};

use super::file::SimContent;
use super::random_source::RandomSource;
use crate::storage::memory::tree::{Content, Entries, NameLog, Node, NodeId, ROOT, Tree, set_all};

/// All names and contents, and which of them a power cut leaves.
pub(super) type SimTree = Tree<SimContent, Names>;

/// What is durable of the names in each directory, and the later changes in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    durable: HashMap<NodeId, Entries>,
    pending: Vec<NameChange>,
}

/// One change of names in one directory; a rename changes two names at once, so that they survive or vanish together.
#[derive(Clone, Debug)]
struct NameChange {
    dir: NodeId,
    entries: Vec<(String, Option<NodeId>)>,
}

impl NameLog for Names {
    fn record(&mut self, dir: NodeId, entries: Vec<(String, Option<NodeId>)>) {
        self.pending.push(NameChange { dir, entries });
    }
}

impl Names {
    fn make_durable(&mut self, change: &NameChange) {
        set_all(self.durable.entry(change.dir).or_default(), &change.entries);
    }

    /// Makes the pending changes durable for which `arrived` returns true, and forgets the others. The argument of
    /// `arrived` says whether an earlier change of the same name was lost: then it must answer false.
    fn lose(&mut self, mut arrived: impl FnMut(bool) -> bool) {
        let mut lost: HashSet<(NodeId, String)> = HashSet::new();
        for change in std::mem::take(&mut self.pending) {
            let follows_a_loss =
                change.entries.iter().any(|(name, _)| lost.contains(&(change.dir, name.clone())));
            if arrived(follows_a_loss) {
                self.make_durable(&change);
            } else {
                lost.extend(change.entries.into_iter().map(|(name, _)| (change.dir, name)));
            }
        }
    }
}

impl SimTree {
    /// Bytes in all files that have a name.
    pub(super) fn used_bytes(&self) -> u64 {
        self.reachable()
            .iter()
            .filter_map(|id| self.content(*id))
            .map(|content| content.bytes().len() as u64)
            .sum()
    }

    pub(super) fn sync_dir(&mut self, dir: NodeId) {
        let pending = std::mem::take(&mut self.names.pending);
        let (synced, others) = pending.into_iter().partition::<Vec<_>, _>(|change| change.dir == dir);
        self.names.pending = others;
        for change in &synced {
            self.names.make_durable(change);
        }
    }

    /// Simulates a power cut. Each name keeps a prefix of its unsynced changes.
    pub(super) fn lose_power(&mut self, random: &mut RandomSource) {
        let percent = [0, 25, 50, 75, 100][random.below(5)];
        self.names.lose(|follows_a_loss| !follows_a_loss && random.chance(percent));
        self.show_durable_names();
        for id in self.file_ids() {
            if let Some(content) = self.file_mut(id) {
                content.lose_power(random);
            }
        }
    }

    /// How many changes of names, and of files that have a name, no sync has covered.
    pub(super) fn unsynced(&self) -> usize {
        let files = self.named_at_all();
        let contents = files.iter().filter_map(|id| self.content(*id)).map(SimContent::unsynced);
        self.names.pending.len() + contents.sum::<usize>()
    }

    /// Simulates a power cut after which exactly those [`unsynced`](Self::unsynced) changes are on the disk for which
    /// `arrived` returns true, names first. A change of a name is lost if an earlier change of that name is.
    pub(super) fn lose_power_keeping(&mut self, mut arrived: impl FnMut() -> bool) {
        let files = self.named_at_all();
        // Called for every change, so that the number of calls does not depend on the answers.
        self.names.lose(|follows_a_loss| arrived() && !follows_a_loss);
        for id in files {
            if let Some(content) = self.file_mut(id) {
                content.lose_power_keeping(&mut arrived);
            }
        }
        self.show_durable_names();
    }

    /// See [`SimContent::drop_caches`].
    pub(super) fn drop_caches(&mut self, random: &mut RandomSource) {
        for id in self.file_ids() {
            if let Some(content) = self.file_mut(id) {
                content.drop_caches(random);
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
                Some(content) => content.bytes().hash(hasher),
                None => self.hash_dir(*id, hasher),
            }
        }
        hasher.write_u8(0);
    }

    fn file_mut(&mut self, id: NodeId) -> Option<&mut SimContent> {
        match self.nodes.get_mut(&id) {
            Some(Node::File(content)) => Some(content),
            _ => None,
        }
    }

    /// Makes the durable names those that programs see, and forgets what has no name any more.
    fn show_durable_names(&mut self) {
        for (id, node) in &mut self.nodes {
            if let Node::Dir(entries) = node {
                *entries = self.names.durable.get(id).cloned().unwrap_or_default();
            }
        }
        let reachable = self.reachable();
        self.nodes.retain(|id, _| reachable.contains(id));
        self.names.durable.retain(|id, _| reachable.contains(id));
    }

    /// All files, in the order of their making, so that equal seeds tear equal files.
    fn file_ids(&self) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Files and directories that have a name, had one that may come back, or may get one, in the order of their
    /// making.
    fn named_at_all(&self) -> Vec<NodeId> {
        let mut seen = BTreeSet::from([ROOT]);
        let mut open = vec![ROOT];
        while let Some(dir) = open.pop() {
            let durable = self.names.durable.get(&dir);
            let pending = self.names.pending.iter().filter(|change| change.dir == dir);
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

    /// Files and directories that have a name.
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
