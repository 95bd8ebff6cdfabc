//! An upsert as an Arrow IPC stream (C5.13): a row is a point.
//!
//! `arrow-ipc` reads the format's metadata, and its verifier checks them before that. The columns are views
//! of the body's bytes: a component of a vector is copied once, into the vector of its point. docs/arrow.md
//! says why arrow's own arrays are not used.

mod columns;
mod faults;
mod ids;
mod lists;
mod messages;
mod payload;
mod schema;
mod texts;
mod vectors;

use super::body::{Budget, Result};
use crate::collection::update::{NamedVectors, PointInput, Update, UpdateMode};
use crate::config::VectorModels;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::json::Watch;
use crate::limits::{Limits, MAX_ARROW_POINT_BYTES};
use crate::types::IdKind;
use columns::{Column, Dictionaries, read_batch, read_dictionary};
use messages::Messages;
use schema::{Role, Table};

/// Charges further bytes that a request holds of memory, or refuses them.
pub type Charge<'c> = dyn FnMut(u64) -> Result<()> + 'c;

/// How many bytes of points are charged at a time.
const CHARGED_BYTES: u64 = 64 << 10;

/// Reads an upsert: the schema, then batches of rows and of dictionaries.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the column, and the row where there is one; what `may_go_on` and
/// `charge` return.
pub(super) fn read(
    stream: &[u8],
    ids: IdKind,
    limits: &Limits,
    Watch(may_go_on): Watch<'_>,
    charge: &mut Charge<'_>,
) -> Result<Update> {
    let mut messages = Messages::new(stream)?;
    let schema = messages.next()?;
    let schema = schema.as_ref().and_then(|first| first.message.header_as_schema());
    let table = Table::read(schema.ok_or_else(|| Error::bad("body: expected a schema first"))?, limits)?;
    let mut dictionaries = Dictionaries::new();
    let mut points = Points {
        ids,
        budget: Budget::new(limits),
        growth: Growth { unpaid: stream.len() as u64, bytes: 0, uncharged: 0, charge },
        read: Vec::new(),
        models: VectorModels::default(),
        scratch: Vec::new(),
    };
    while let Some(sent) = messages.next()? {
        may_go_on()?;
        if let Some(batch) = sent.message.header_as_record_batch() {
            let (columns, rows) = read_batch(batch, sent.body, &table, &dictionaries)?;
            points.add(&table, &columns, rows, may_go_on)?;
        } else if let Some(batch) = sent.message.header_as_dictionary_batch() {
            read_dictionary(batch, sent.body, &table, &mut dictionaries)?;
        } else {
            return Err(Error::bad("body: expected batches of rows or of dictionaries behind the schema"));
        }
    }
    if points.read.is_empty() {
        return Err(Error::bad("id: must hold at least one point"));
    }
    let (points, models) = (points.read, points.models);
    Ok(Update::Upsert { points, mode: UpdateMode::Upsert, update_filter: None, models })
}

/// The points that were read so far, and what reading the next one needs.
struct Points<'l, 'c, 'r> {
    ids: IdKind,
    budget: Budget<'l>,
    growth: Growth<'c, 'r>,
    read: Vec<PointInput>,
    models: VectorModels,
    /// The payload of the point that is being read; one buffer serves all points.
    scratch: Vec<u8>,
}

/// The memory that the points take.
struct Growth<'c, 'r> {
    /// How many bytes points may still take without a charge: the length of the body was charged before.
    unpaid: u64,
    bytes: u64,
    uncharged: u64,
    charge: &'r mut Charge<'c>,
}

impl Growth<'_, '_> {
    /// Adds the bytes of a point. Rows may refer to the same bytes of the body again and again, so the points
    /// have a limit beside that of the body.
    ///
    /// # Errors
    /// `BadRequest` beyond the limit; what `charge` returns.
    fn add(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > MAX_ARROW_POINT_BYTES as u64 && !PlantedFault::ArrowBytesNotLimited.is_on() {
            return Err(Error::bad(format!(
                "body: at most {MAX_ARROW_POINT_BYTES} bytes of vectors and payloads a request"
            )));
        }
        self.uncharged += bytes.saturating_sub(self.unpaid);
        self.unpaid = self.unpaid.saturating_sub(bytes);
        if self.uncharged >= CHARGED_BYTES {
            (self.charge)(std::mem::take(&mut self.uncharged))?;
        }
        Ok(())
    }
}

impl Points<'_, '_, '_> {
    /// Adds the rows of a batch.
    fn add(
        &mut self,
        table: &Table,
        columns: &[Column<'_>],
        rows: usize,
        may_go_on: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let before = self.read.len();
        let rows = if before > 0 && PlantedFault::LaterBatchesLeftOut.is_on() { 0 } else { rows };
        for row in 0..rows {
            PlantedFault::ArrowPointsNotLimited.skips(|| self.budget.take("id"))?;
            may_go_on()?;
            let point = self.point(table, columns, row, before)?;
            let vectors: usize = point.vectors.iter().map(|(_, vector)| vector.bytes()).sum();
            self.growth.add((vectors + point.payload.len()) as u64)?;
            self.read.push(point);
        }
        Ok(())
    }

    /// The point of a row of a batch; `before` rows of the stream are in earlier batches.
    fn point(
        &mut self,
        table: &Table,
        columns: &[Column<'_>],
        row: usize,
        before: usize,
    ) -> Result<PointInput> {
        let (mut id, mut if_version) = (None, None);
        let mut vectors: NamedVectors = Vec::new();
        self.scratch.clear();
        for ((field, role), column) in table.columns.iter().zip(columns) {
            let fault = |fault: faults::Fault| fault.at(field, before + row);
            match role {
                Role::Id => id = Some(ids::id(column, self.ids, row).map_err(fault)?),
                Role::IfVersion => if_version = ids::version(column, row).map_err(fault)?,
                Role::Vector(name, model) => {
                    if let Some(vector) = vectors::vector(column, row).map_err(fault)? {
                        let place = || format!("{}[{}]", field.name, before + row);
                        self.models.note(name, model.as_deref(), place);
                        vectors.push((name.clone(), vector));
                    }
                }
                Role::Payload => payload::whole(column, row, &mut self.scratch).map_err(fault)?,
                Role::Key => {}
            }
        }
        if self.scratch.is_empty() {
            payload::of_keys(columns, &table.columns, row, &mut self.scratch)
                .map_err(|(place, fault)| fault.at(&table.columns[place].0, before + row))?;
        }
        let id = id.ok_or_else(|| Error::MissingField("id".into()))?;
        Ok(PointInput { id, vectors, payload: Box::from(&self.scratch[..]), if_version })
    }
}
