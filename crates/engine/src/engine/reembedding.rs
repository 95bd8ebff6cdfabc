//! Reads about fields that are being embedded anew (C19): reports for clients, and texts for the worker of this process.

use super::Request;
use super::read::Read;
use crate::api::{self, summaries};
use crate::error::Error;

/// Stands in a path for the unnamed vector. No other vector can have such a name.
const UNNAMED: &str = "\"\"";

/// The name in the path of the vector field that is embedded anew.
pub(super) fn embedded_field(request: &Request) -> &str {
    match request.target.as_deref() {
        None | Some(UNNAMED) => "",
        Some(name) => name,
    }
}

impl Read<'_> {
    /// Answers how far the re-embedding of a field is.
    pub(super) fn reembedding(&mut self) -> Result<(), Error> {
        let held = self.enter()?;
        let collection = held.collection()?;
        let view = collection.current_view();
        let config = &view.state.config;
        let of = config.reembedding_of(embedded_field(self.request))?;
        let shadow = &config.fields()[config.shadow_of(of)].1;
        summaries::write_reembedding(self.out, of, shadow, &collection.report_of(&view, of));
        Ok(())
    }

    /// Answers which fields of all collections are being embedded anew.
    pub(super) fn list_reembeddings(&mut self) {
        let mut found = Vec::new();
        for entry in self.core.catalog.entries() {
            let Some(collection) = entry.collection() else { continue };
            let view = collection.view();
            let fields = view.state.config.reembeddings().iter();
            found.extend(fields.map(|of| (entry.name.clone(), of.field.to_string())));
        }
        summaries::write_fields_of_collections(self.out, &found);
    }

    /// Answers the texts that are to be embedded next, in the form in which they are sent back.
    pub(super) fn next_texts(&mut self) -> Result<(), Error> {
        let (most, error) = api::next_texts(self.body)?;
        let held = self.enter()?;
        let next = held.collection()?.next_texts(embedded_field(self.request), most, error)?;
        summaries::write_next_texts(self.out, &next);
        Ok(())
    }
}
