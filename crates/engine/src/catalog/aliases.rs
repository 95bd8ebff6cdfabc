//! Aliases: further names of collections (C12).
//!
//! An alias names a collection by its number, so it goes with that collection and never means a later one of the same name.
//! No name is both an alias and a collection. A batch of changes is one record of the log.

use super::{ALIASES, Catalog, Entry, file};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::MAX_ALIASES;
use crate::recent_operations::CallIdentity;
use imbl::OrdMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The collections of aliases, by alias.
pub(super) type Aliases = OrdMap<String, Alias>;

/// What an alias stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alias {
    /// Number of the collection.
    pub id: u64,
    /// Number of the one whose place that collection has taken, and has until it is published.
    pub before: Option<u64>,
    /// Its name.
    pub collection: String,
}

/// One of several changes that are made together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AliasAction {
    /// Makes an alias, or lets an existing one stand for another collection.
    Create {
        /// The alias.
        alias: String,
        /// The name of the collection, not an alias of it.
        collection: String,
    },
    /// Removes an alias, if there is one.
    Delete {
        /// The alias.
        alias: String,
    },
    /// Gives an alias another name. An alias that had that name is replaced.
    Rename {
        /// The alias.
        from: String,
        /// Its new name.
        to: String,
    },
}

impl Catalog {
    /// Changes aliases, in the order given; all of it is durable when this returns, or nothing has happened. A call that was
    /// applied before changes nothing.
    ///
    /// # Errors
    /// `OutcomeUnknown`, `CollectionNotFound`, `CollectionDeleted`, `CollectionExists`, `AliasNotFound`, `BadRequest` at the
    /// limit of aliases, and the log's.
    pub fn change_aliases(
        &self,
        actions: &[AliasAction],
        identity: Option<CallIdentity>,
    ) -> Result<(), Error> {
        let mut recorded = self.recorded.lock();
        if self.was_applied(&recorded, identity)? {
            return Ok(());
        }
        let before = Aliases::clone(&self.aliases.load());
        let mut after = before.clone();
        let mut changed = BTreeMap::new();
        for action in actions {
            self.apply(action, &mut after, &mut changed)?;
        }
        if after.len() > MAX_ALIASES && after.len() > before.len() {
            return Err(Error::bad(format!("actions: at most {MAX_ALIASES} aliases")));
        }
        let logged = if PlantedFault::AliasBatchHalved.is_on() { 1 } else { changed.len() };
        let body = file::encode_aliases(changed.iter().take(logged).map(|(alias, id)| (*id, alias.as_str())));
        if after.len() > before.len() {
            self.shared.admit_growth(body.len() as u64)?;
        }
        self.append(&mut recorded, ALIASES, identity, &body)?;
        self.aliases.store(Arc::new(after));
        Ok(())
    }

    /// Applies an action. The numbers of the collections that aliases stand for now, 0 for none, are in `changed`.
    fn apply(
        &self,
        action: &AliasAction,
        aliases: &mut Aliases,
        changed: &mut BTreeMap<String, u64>,
    ) -> Result<(), Error> {
        match action {
            AliasAction::Create { alias, collection } => {
                let target = self.target(collection)?;
                self.refuse_collection(alias)?;
                changed.insert(alias.clone(), target.id);
                aliases.insert(alias.clone(), target);
            }
            AliasAction::Delete { alias } => {
                if aliases.remove(alias).is_some() {
                    changed.insert(alias.clone(), 0);
                }
            }
            AliasAction::Rename { from, to } => {
                let target = aliases.remove(from).ok_or_else(|| Error::AliasNotFound(from.clone()))?;
                self.refuse_collection(to)?;
                changed.insert(from.clone(), 0);
                changed.insert(to.clone(), target.id);
                aliases.insert(to.clone(), target);
            }
        }
        Ok(())
    }

    /// The collection of that name, for an alias.
    fn target(&self, collection: &str) -> Result<Alias, Error> {
        let entry = self.entries.load().get(collection).cloned();
        match entry {
            None => Err(Error::CollectionNotFound(collection.to_string())),
            Some(entry) if entry.is_deleting() => Err(Error::CollectionDeleted(collection.to_string())),
            Some(entry) => Ok(Alias { id: entry.id, before: None, collection: entry.name.clone() }),
        }
    }

    /// An error if a collection has that name.
    fn refuse_collection(&self, name: &str) -> Result<(), Error> {
        match self.entries.load().get(name) {
            None => Ok(()),
            Some(entry) if entry.is_deleting() => Err(Error::CollectionDeleted(name.to_string())),
            Some(_) => Err(Error::CollectionExists(name.to_string())),
        }
    }

    /// An error unless a collection can be created under that name.
    pub(super) fn refuse_taken(&self, name: &str) -> Result<(), Error> {
        self.refuse_collection(name)?;
        if self.aliases.load().contains_key(name) && !PlantedFault::AliasNameTaken.is_on() {
            return Err(Error::AliasExists(name.to_string()));
        }
        Ok(())
    }

    /// The entry of a collection that has that name or that alias.
    pub(super) fn named(&self, name: &str) -> Option<Arc<Entry>> {
        if let Some(entry) = self.entries.load().get(name) {
            return Some(Arc::clone(entry));
        }
        let mut aliases = self.aliases.load();
        loop {
            let alias = aliases.get(name)?;
            let is_named = |entry: &&Arc<Entry>| entry.id == alias.id || Some(entry.id) == alias.before;
            if let Some(entry) = self.entries.load().get(&alias.collection).filter(is_named) {
                return Some(Arc::clone(entry));
            }
            // Aliases change before what they name goes.
            let now = self.aliases.load();
            if Arc::ptr_eq(&aliases, &now) {
                return None;
            }
            aliases = now;
        }
    }

    /// The name of the collection that has that name or that alias; what was asked for where there is none.
    pub fn resolved(&self, name: &str) -> String {
        self.named(name).map_or_else(|| name.to_string(), |entry| entry.name.clone())
    }

    /// All aliases in their order, each with the name of its collection.
    pub fn aliases(&self) -> Vec<(String, String)> {
        self.aliases.load().iter().map(|(alias, target)| (alias.clone(), target.collection.clone())).collect()
    }

    /// The aliases of one collection.
    pub fn aliases_of(&self, id: u64) -> Vec<(String, String)> {
        let aliases = self.aliases.load();
        let own = aliases.iter().filter(|(_, target)| target.id == id);
        own.map(|(alias, target)| (alias.clone(), target.collection.clone())).collect()
    }

    /// Gives the aliases of a collection to the one that takes its place and its name, and is published next. The recorded state
    /// is locked.
    pub(super) fn move_aliases(&self, from: u64, to: u64) {
        let aliases = self.aliases.load();
        if aliases.values().any(|target| target.id == from) {
            let moved = |(alias, target): (&String, &Alias)| {
                let moved = || Alias { id: to, before: Some(from), collection: target.collection.clone() };
                (alias.clone(), if target.id == from { moved() } else { target.clone() })
            };
            self.aliases.store(Arc::new(aliases.iter().map(moved).collect()));
        }
    }

    /// Removes the aliases of a collection whose deletion is durable. The recorded state is locked.
    pub(super) fn forget_aliases(&self, id: u64) {
        let aliases = self.aliases.load();
        if aliases.values().any(|target| target.id == id) {
            let left = aliases.iter().filter(|(_, target)| target.id != id);
            self.aliases
                .store(Arc::new(left.map(|(alias, target)| (alias.clone(), target.clone())).collect()));
        }
    }
}
