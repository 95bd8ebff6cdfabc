//! `kithdb check`: verifies a data directory that no server has open, as a start does and further. Nothing is written.

use super::advice::{
    NOT_NEEDED, QUARANTINED, REBUILD, RESTORE, WRITTEN_AGAIN, advice, field_name, log_effect, part_name,
};
use super::finding::{Finding, Findings, Severity};
use super::repair::MAX_REPORTED_UNLISTED;
use crate::catalog::{
    self, CATALOG, OpenError, PreviewedCollection, Source, StartPreview, UnlistedCollections,
};
use crate::checkpoint::is_unfinished;
use crate::collection::{FileFault, Inspection, OpeningOptions, Part, Unopened, directory, inspect};
use crate::storage::{ErrorKind, OTHER_IS_SOUND, ReadOnly, Storage};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A collection that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedCollection {
    /// Its number, which its folder carries.
    pub id: u64,
    /// Its name; nothing where that is lost.
    pub name: Option<String>,
    /// Live points, log included; nothing when it would be quarantined.
    pub points: Option<u64>,
    /// Why it would be quarantined.
    pub fault: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// What is to be reported, the catalog first, then the log, then the collections.
    pub findings: Findings,
    /// The collections by number.
    pub collections: Vec<CheckedCollection>,
    /// Files that were read.
    pub files: u64,
    /// Bytes that were compared with a checksum.
    pub bytes: u64,
}

/// Checks a data directory, or one collection of it. The caller holds its lock.
///
/// # Errors
/// When the directory cannot be checked: the disk fails, a file has a later format, or no collection has that name.
/// Damage is not an error: it is reported.
pub fn check(
    storage: Arc<dyn Storage>,
    only: Option<&str>,
    options: OpeningOptions,
) -> Result<CheckReport, OpenError> {
    let storage: Arc<dyn Storage> = Arc::new(ReadOnly::new(storage));
    let mut run = Run { storage, row_chunk_bytes: options.row_chunk_bytes, report: CheckReport::default() };
    let preview = match catalog::preview_start(&run.storage, Source::File, only, options) {
        Ok(preview) => preview,
        Err(OpenError::CatalogLost(what)) => {
            run.without_catalog(&what)?;
            return Ok(run.report);
        }
        Err(error) => return Err(error),
    };
    if let Some(only) = only.filter(|only| !preview.collections.iter().any(|found| found.name == *only)) {
        return Err(OpenError::Catalog(format!("there is no collection {only}")));
    }
    if let Some((file, what)) = &preview.catalog_fault {
        run.one_of_two(file, what);
    }
    run.log(&preview)?;
    for found in &preview.collections {
        run.collection(found)?;
    }
    if only.is_none() {
        let kept = run.unlisted(&preview)?;
        run.leftovers(&preview, &kept)?;
    }
    Ok(run.report)
}

struct Run {
    storage: Arc<dyn Storage>,
    row_chunk_bytes: usize,
    report: CheckReport,
}

impl Run {
    fn find(
        &mut self,
        severity: Severity,
        file: impl Into<String>,
        collection: Option<&str>,
        [what, effect, advice]: [&str; 3],
    ) {
        self.report.findings.push(Finding {
            severity,
            file: file.into(),
            collection: collection.map(str::to_string),
            what: what.to_string(),
            effect: effect.to_string(),
            advice: advice.to_string(),
        });
    }

    /// Checks the files of a collection.
    ///
    /// # Errors
    /// When a later release wrote one of them: nothing can be said of it.
    fn inspect(&mut self, id: u64) -> Result<Inspection, OpenError> {
        let found = inspect(&*self.storage, id, self.row_chunk_bytes, &mut |_| true);
        self.report.files += found.files;
        self.report.bytes += found.bytes;
        found.refuse_other_formats().map_err(OpenError::Catalog)?;
        Ok(found)
    }

    /// Checks the files of all folders when the catalog, and with it the names of the collections, is lost.
    fn without_catalog(&mut self, what: &str) -> Result<(), OpenError> {
        let what = &format!("{what}, and its copy in the folder collections is of no use either");
        let effect = "the server does not start: nobody knows the names of the collections";
        let advice =
            "restore a backup; or let `kithdb repair` find the collections and name them after their numbers";
        self.find(Severity::Damage, "catalog/CATALOG", None, [what, effect, advice]);
        for id in folders(&*self.storage)? {
            let found = self.inspect(id)?;
            self.faults(&format!("number {id}"), &found.faults);
            self.nameless(id, None, "the list of collections is lost");
        }
        Ok(())
    }

    /// A file of which there are two is damaged, and the other is not.
    fn one_of_two(&mut self, file: &str, what: &str) {
        let effect = format!("none: {OTHER_IS_SOUND}");
        self.find(Severity::Derived, file, None, [what, &effect, WRITTEN_AGAIN]);
    }

    /// Lists a collection that a start would not know.
    fn nameless(&mut self, id: u64, name: Option<&str>, fault: &str) {
        let (name, fault) = (name.map(str::to_string), Some(fault.to_string()));
        self.report.collections.push(CheckedCollection { id, name, points: None, fault });
    }

    /// Finds collections that have records in the log or a folder, but no creation that a start would find. Returns the
    /// numbers of those that a repair keeps.
    fn unlisted(&mut self, preview: &StartPreview) -> Result<BTreeSet<u64>, OpenError> {
        let StartPreview { report, fault, .. } = preview;
        if fault.is_none() && report.damages.is_empty() {
            return Ok(BTreeSet::new());
        }
        let catalog = catalog::salvage_catalog(&*self.storage, Source::File, fault.is_some())?;
        let known: BTreeSet<u64> = preview.collections.iter().map(|found| found.id).collect();
        let mut kept = BTreeSet::new();
        for (id, name, _) in catalog.entries().iter().filter(|(id, ..)| !known.contains(id)) {
            if catalog.is_nameless(*id) {
                let what = "the folder of a collection of which the record of its creation is lost";
                let effect = "the server does not start";
                let advice =
                    format!("restore a backup; or let `kithdb repair` keep what verifies, as {name}");
                self.find(Severity::Damage, directory(*id), None, [what, effect, &advice]);
                let inspection = self.inspect(*id)?;
                self.faults(name, &inspection.faults);
                self.nameless(*id, None, "the record of its creation is lost");
            } else {
                self.nameless(*id, Some(name), "its creation stands behind damage of the log");
            }
            kept.insert(*id);
        }
        let unlisted = UnlistedCollections::find(&*self.storage, &catalog)?.records;
        let advice = "restore a backup: without its creation nobody knows what its vectors are";
        for (&id, records) in unlisted.iter().take(MAX_REPORTED_UNLISTED) {
            let what = format!(
                "records of the collection with the number {id} that no list has: {records}. Its creation, or its \
                 deletion, is lost with the log"
            );
            let effect = "nothing of it can be served, nor kept by a repair";
            self.find(Severity::Damage, "log", None, [&what, effect, advice]);
            self.nameless(id, None, "the record of its creation, or of its deletion, is lost");
        }
        if unlisted.len() > MAX_REPORTED_UNLISTED {
            let what = format!(
                "records of {} more collections that no list has",
                unlisted.len() - MAX_REPORTED_UNLISTED
            );
            self.find(Severity::Damage, "log", None, [&what, "as above", advice]);
        }
        Ok(kept)
    }

    fn log(&mut self, preview: &StartPreview) -> Result<(), OpenError> {
        let StartPreview { report, damaged, fault, .. } = preview;
        for name in self.storage.list("log")? {
            self.report.files += 1;
            self.report.bytes += self.storage.len_of(&format!("log/{name}"))?;
        }
        if let Some(fault) = report.mark_fault.as_ref().filter(|fault| fault.has_other) {
            self.one_of_two(fault.path, &fault.what);
        }
        for damage in &report.damages {
            let (severity, effect, advice) = log_effect(preview, damage);
            self.find(severity, damage.file(), None, [&damage.to_string(), &effect, advice]);
        }
        let name_of = |id: u64| preview.collections.iter().find(|found| found.id == id);
        for record in damaged {
            let (file, what) = record.describe(&*self.storage);
            let collection = record.collection;
            let found = name_of(collection);
            let name = found.map(|found| found.name.as_str());
            let (severity, effect, advice) = match found {
                _ if collection == CATALOG && fault.is_some() => {
                    (Severity::Damage, "what it did to the list of collections is lost", RESTORE)
                }
                _ if collection == CATALOG => {
                    (Severity::Note, "none: the file CATALOG holds what it did", NOT_NEEDED)
                }
                Some(PreviewedCollection { outcome: Err(_), .. }) => {
                    (Severity::Damage, "the collection is quarantined", RESTORE)
                }
                Some(_) => {
                    (Severity::Note, "none: the collection's checkpoint holds what it did", NOT_NEEDED)
                }
                None => (Severity::Note, "none for the collections that are there", NOT_NEEDED),
            };
            self.find(severity, file, name, [&what, effect, advice]);
        }
        if let Some(fault) = fault {
            let effect = "the server does not start";
            let advice = "restore a backup; or let `kithdb repair` go on without these records";
            self.find(Severity::Damage, "log", None, [fault, effect, advice]);
        }
        if report.torn_bytes > 0 {
            let what = format!("{} bytes at the end of the log were never acknowledged", report.torn_bytes);
            let effect = "none: this is what a crash leaves behind";
            self.find(Severity::Note, "log", None, [&what, effect, "nothing: the next start cuts them off"]);
        }
        Ok(())
    }

    fn collection(&mut self, found: &PreviewedCollection) -> Result<(), OpenError> {
        let PreviewedCollection { id, name, outcome } = found;
        let inspection = self.inspect(*id)?;
        self.faults(name, &inspection.faults);
        let has_data_faults = inspection.faults.iter().any(|fault| !fault.part.is_derived());
        let folder = directory(*id);
        match outcome {
            Err(Unopened { what, cause }) if cause.is_unknown() => {
                return Err(OpenError::Catalog(format!("the collection {name}: {what}")));
            }
            Err(Unopened { what, cause }) if !has_data_faults => {
                self.find(Severity::Damage, folder, Some(name), [what, QUARANTINED, advice(*cause)]);
            }
            Err(_) => {}
            Ok(opening) => {
                for what in opening.contradictions() {
                    let effect = "answers may leave points out or count them twice";
                    self.find(Severity::Damage, folder.clone(), Some(name), [&what, effect, RESTORE]);
                }
                let reported: BTreeSet<&str> =
                    inspection.faults.iter().filter_map(|fault| graph_field(&fault.part)).collect();
                for field in opening.refused_graphs() {
                    if !reported.contains(field.as_str()) {
                        let what = format!(
                            "the graph of {} is of another format or has other parameters",
                            field_name(field)
                        );
                        let effect = "searches are exact until it is built again";
                        self.find(Severity::Derived, folder.clone(), Some(name), [&what, effect, REBUILD]);
                    }
                }
            }
        }
        for orphan in &inspection.orphans {
            let effect = "none: the manifest does not name it";
            let advice = "nothing: the next checkpoint removes it";
            let what = "a file that a crash left behind";
            self.find(Severity::Note, orphan.clone(), Some(name), [what, effect, advice]);
        }
        self.report.collections.push(CheckedCollection {
            id: *id,
            name: Some(name.clone()),
            points: outcome.as_ref().ok().map(|opening| opening.points_count() as u64),
            fault: outcome.as_ref().err().map(|fault| fault.what.clone()),
        });
        Ok(())
    }

    /// One finding for each piece of a collection's files that is not as it was written.
    fn faults(&mut self, name: &str, faults: &[FileFault]) {
        for FileFault { path, part, what, cause } in faults {
            let what = format!("{}: {what}", part_name(part));
            let (severity, effect, advice) = match (part.is_derived(), cause) {
                (true, _) => {
                    let effect = "none for the data: searches are exact until it is built again";
                    (Severity::Derived, effect, REBUILD)
                }
                (false, cause) => (Severity::Damage, QUARANTINED, advice(*cause)),
            };
            self.find(severity, path.clone(), Some(name), [&what, effect, advice]);
        }
    }

    /// Folders without a collection, those `kept` by a repair left out.
    fn leftovers(&mut self, preview: &StartPreview, kept: &BTreeSet<u64>) -> Result<(), OpenError> {
        let known: BTreeSet<u64> = preview.collections.iter().map(|found| found.id).collect();
        for id in folders(&*self.storage)? {
            if known.contains(&id) || kept.contains(&id) {
                continue;
            }
            if is_unfinished(&*self.storage, id)? {
                let what = "the folder of a clone or a recovery that did not come to its end";
                let advice = "nothing: the next start removes it";
                self.find(Severity::Note, directory(id), None, [what, "none", advice]);
            } else if id < preview.next_id {
                let what = "the folder of a collection that was deleted";
                let advice = "nothing: the next start removes it";
                self.find(Severity::Note, directory(id), None, [what, "none", advice]);
            } else if self.storage.list(&directory(id))?.is_empty() {
                let what = "an empty folder that the catalog does not list";
                self.find(Severity::Note, directory(id), None, [what, "none", "nothing"]);
            } else {
                let what = "the folder of a collection that the catalog does not list";
                let effect = "the server does not start";
                let advice = "if somebody has put it there, move it out of the data directory; if not, restore a \
                              backup; or let `kithdb repair` set it aside";
                self.find(Severity::Damage, directory(id), None, [what, effect, advice]);
            }
        }
        Ok(())
    }
}

/// The numbers of all folders of collections.
pub(super) fn folders(storage: &dyn Storage) -> Result<Vec<u64>, OpenError> {
    let names = match storage.list("collections") {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        names => names?,
    };
    Ok(names.iter().filter_map(|name| u64::from_str_radix(name, 16).ok()).collect())
}

fn graph_field(part: &Part) -> Option<&str> {
    match part {
        Part::Graph { field } => Some(field),
        _ => None,
    }
}

impl CheckReport {
    /// Whether nothing but notes was found.
    pub fn is_clean(&self) -> bool {
        self.findings.unlisted == 0
            && self.findings.listed.iter().all(|finding| finding.severity == Severity::Note)
    }
}
