//! Names and contents of a file system in memory.

use std::collections::{BTreeMap, HashMap};

use crate::storage::{ErrorKind, Result, StorageError, path};

/// Number of a file or directory, like an inode's: names come and go, the number stays.
pub(in crate::storage) type NodeId = u64;

pub(in crate::storage) const ROOT: NodeId = 0;

/// The names in one directory.
pub(in crate::storage) type Entries = BTreeMap<String, NodeId>;

/// The bytes of one file.
pub(in crate::storage) trait Content: Default {
    fn bytes(&self) -> &[u8];

    /// Writes `bytes` from `at` on; `at` is at most the length.
    fn write(&mut self, at: usize, bytes: &[u8]);

    /// Cuts the file to `len` bytes; `len` is at most the length.
    fn truncate(&mut self, len: usize);
}

impl Content for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.resize(self.len().max(at + bytes.len()), 0);
        self[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn truncate(&mut self, len: usize) {
        Vec::truncate(self, len);
    }
}

/// Is notified of every change of names: a simulated disk keeps those that no sync has covered.
pub(in crate::storage) trait NameLog: Default {
    /// Names in `dir` that got a node or lost theirs. The two names of a rename come in one call, because they take
    /// effect together.
    fn record(&mut self, dir: NodeId, entries: Vec<(String, Option<NodeId>)>);
}

/// Keeps nothing.
impl NameLog for () {
    fn record(&mut self, _dir: NodeId, _entries: Vec<(String, Option<NodeId>)>) {}
}

#[derive(Clone, Debug)]
pub(in crate::storage) enum Node<F> {
    File(F),
    Dir(Entries),
}

/// All names and contents, as programs see them.
#[derive(Clone, Debug)]
pub(in crate::storage) struct Tree<F, L> {
    pub nodes: HashMap<NodeId, Node<F>>,
    pub names: L,
    next: NodeId,
}

impl<F: Content, L: NameLog> Tree<F, L> {
    pub fn new() -> Self {
        let mut tree = Self { nodes: HashMap::new(), names: L::default(), next: ROOT };
        tree.add(Node::Dir(Entries::new()));
        tree
    }

    /// Creates a directory and those above it.
    pub fn create_dir_all(&mut self, dir: &str) -> Result<()> {
        let mut parent = ROOT;
        let mut so_far = String::new();
        for part in dir.split('/').filter(|part| !part.is_empty()) {
            so_far = if so_far.is_empty() { part.to_owned() } else { format!("{so_far}/{part}") };
            parent = match self.find(&so_far) {
                Some(_) => self.find_dir(&so_far).ok_or_else(|| {
                    StorageError::new(ErrorKind::Exists, "create directory", dir, "a file has that name")
                })?,
                None => self.create_node(parent, part, Node::Dir(Entries::new())),
            };
        }
        Ok(())
    }

    /// Creates an empty file.
    pub fn create(&mut self, path: &str) -> Result<NodeId> {
        let (dir, name) = path::split(path);
        let dir = self.dir("create", dir)?;
        if self.find(path).is_some() {
            return Err(StorageError::new(ErrorKind::Exists, "create", path, "file exists"));
        }
        Ok(self.create_node(dir, name, Node::File(F::default())))
    }

    /// Gives a file a second name.
    pub fn link(&mut self, from: &str, to: &str) -> Result<()> {
        let file = self.file("link", from)?;
        let (dir, name) = path::split(to);
        let dir = self.dir("link", dir)?;
        if self.find(to).is_some() {
            return Err(StorageError::new(ErrorKind::Exists, "link", to, "file exists"));
        }
        self.change(dir, vec![(name.to_owned(), Some(file))]);
        Ok(())
    }

    pub fn read(&self, operation: &'static str, path: &str) -> Result<Vec<u8>> {
        let file = self.file(operation, path)?;
        Ok(self.content(file).map(|content| content.bytes().to_vec()).unwrap_or_default())
    }

    pub fn list(&self, dir: &str) -> Vec<String> {
        self.find_dir(dir).map(|id| self.names_in(id)).unwrap_or_default()
    }

    pub fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (dir, name) = path::split(from);
        let dir = self.dir("rename", dir)?;
        let source = self.find(from).ok_or_else(|| not_found("rename", from))?;
        if self.find_dir(to).is_some_and(|target| target != source) {
            return Err(StorageError::new(ErrorKind::Exists, "rename", from, "a directory has the new name"));
        }
        if from != to {
            let new_name = path::split(to).1.to_owned();
            self.change(dir, vec![(name.to_owned(), None), (new_name, Some(source))]);
        }
        Ok(())
    }

    pub fn remove(&mut self, path: &str) -> Result<()> {
        self.file("remove", path)?;
        let (dir, name) = path::split(path);
        let dir = self.dir("remove", dir)?;
        self.remove_name(dir, name);
        Ok(())
    }

    pub fn remove_dir_all(&mut self, dir: &str) -> Result<()> {
        let Some(id) = self.find_dir(dir) else { return Ok(()) };
        let (parent, name) = path::split(dir);
        let parent = self.dir("remove directory", parent)?;
        self.empty_dir(id);
        self.remove_name(parent, name);
        Ok(())
    }

    pub fn truncate(&mut self, path: &str, file: NodeId, len: u64) -> Result<()> {
        let content = self.content_mut("truncate", path, file)?;
        if len > content.bytes().len() as u64 {
            return Err(StorageError::new(ErrorKind::Io, "truncate", path, "longer than the file"));
        }
        content.truncate(len as usize);
        Ok(())
    }

    /// The node that a path names; the empty path names the root.
    pub fn find(&self, path: &str) -> Option<NodeId> {
        path.split('/')
            .filter(|part| !part.is_empty())
            .try_fold(ROOT, |dir, part| self.entries(dir)?.get(part).copied())
    }

    pub fn dir(&self, operation: &'static str, path: &str) -> Result<NodeId> {
        self.find_dir(path).ok_or_else(|| not_found(operation, path))
    }

    pub fn file(&self, operation: &'static str, path: &str) -> Result<NodeId> {
        self.find(path).filter(|id| self.content(*id).is_some()).ok_or_else(|| not_found(operation, path))
    }

    pub fn content(&self, file: NodeId) -> Option<&F> {
        match self.nodes.get(&file) {
            Some(Node::File(content)) => Some(content),
            _ => None,
        }
    }

    pub fn content_mut(&mut self, operation: &'static str, path: &str, file: NodeId) -> Result<&mut F> {
        match self.nodes.get_mut(&file) {
            Some(Node::File(content)) => Ok(content),
            _ => Err(not_found(operation, path)),
        }
    }

    pub fn entries(&self, dir: NodeId) -> Option<&Entries> {
        match self.nodes.get(&dir) {
            Some(Node::Dir(entries)) => Some(entries),
            _ => None,
        }
    }

    fn find_dir(&self, path: &str) -> Option<NodeId> {
        self.find(path).filter(|id| self.entries(*id).is_some())
    }

    fn names_in(&self, dir: NodeId) -> Vec<String> {
        self.entries(dir).map(|entries| entries.keys().cloned().collect()).unwrap_or_default()
    }

    fn add(&mut self, node: Node<F>) -> NodeId {
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, node);
        id
    }

    fn create_node(&mut self, dir: NodeId, name: &str, node: Node<F>) -> NodeId {
        let id = self.add(node);
        self.change(dir, vec![(name.to_owned(), Some(id))]);
        id
    }

    fn remove_name(&mut self, dir: NodeId, name: &str) {
        self.change(dir, vec![(name.to_owned(), None)]);
    }

    /// Empties a directory, deepest names first, as one call after the other would.
    fn empty_dir(&mut self, dir: NodeId) {
        for name in self.names_in(dir) {
            if let Some(child) = self.entries(dir).and_then(|entries| entries.get(&name)).copied() {
                self.empty_dir(child);
            }
            self.remove_name(dir, &name);
        }
    }

    fn change(&mut self, dir: NodeId, entries: Vec<(String, Option<NodeId>)>) {
        if let Some(Node::Dir(live)) = self.nodes.get_mut(&dir) {
            set_all(live, &entries);
            self.names.record(dir, entries);
        }
    }
}

/// Applies a change of names.
pub(in crate::storage) fn set_all(entries: &mut Entries, changes: &[(String, Option<NodeId>)]) {
    for (name, node) in changes {
        match node {
            Some(id) => entries.insert(name.clone(), *id),
            None => entries.remove(name),
        };
    }
}

fn not_found(operation: &'static str, path: &str) -> StorageError {
    StorageError::new(ErrorKind::NotFound, operation, path, "no such file or directory")
}
