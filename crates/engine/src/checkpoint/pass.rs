//! One pass of a checkpoint over a view: writing what is new of points, payloads and rows.

use super::extents::{Extent, ExtentWriter};
use super::manifest::{FieldManifest, Manifest};
use super::point_column::{StoredPlace, encode_point};
use super::{Folder, file_path};
use crate::allocator::buffer;
use crate::config::Indexing;
use crate::faults::PlantedFault;
use crate::state::{DeclaredIndex, Payload, PayloadRef, PointRef, View};
use crate::storage::StorageError;
use crate::types::{PointOffset, Row, RowRange};
use std::collections::{BTreeMap, BTreeSet};

/// Points in a chunk of the points column.
pub(crate) const CHUNK_POINTS: usize = 2048;
/// Payloads are gathered into extents of about this size.
const PAYLOAD_EXTENT_BYTES: usize = 1 << 20;

/// What a pass has written.
pub(crate) struct Written {
    /// Names everything of the view; its graphs are those of the manifest before.
    pub manifest: Manifest,
    pub payloads: Vec<MovedPayload>,
    pub rows: Vec<WrittenRows>,
}

/// A payload that the checkpoint has written.
pub(crate) struct MovedPayload {
    /// Offset of its point.
    pub offset: PointOffset,
    /// The payload as it was.
    pub from: Payload,
    /// Its place in the file.
    pub extent_offset: u64,
    pub len: u32,
}

/// A full chunk of rows that the checkpoint has written.
pub(crate) struct WrittenRows {
    pub field: usize,
    pub chunk: u32,
    /// Where the rows begin in the file.
    pub offset: u64,
}

/// Writes and syncs what is new of a view into the data file `number`. Of the files in `compacted`, what is in use is
/// copied into it too.
///
/// # Errors
/// The disk's.
pub(crate) fn write_view(
    folder: &Folder<'_>,
    number: u32,
    view: &View,
    previous: &Manifest,
    compacted: BTreeSet<u32>,
) -> Result<Written, StorageError> {
    let path = file_path(folder.dir, number);
    let mut pass = Pass {
        view,
        previous,
        kept: previous.payloads.iter().map(|extent| extent.file).collect(),
        compacted,
        writer: ExtentWriter::create(folder.storage, &path, folder.collection, number)?,
        payloads: Vec::new(),
        moved: Vec::new(),
        rows: Vec::new(),
    };
    let point_chunks = pass.points()?;
    let mut fields = pass.fields()?;
    fields.extend(pass.sparse_fields()?);
    pass.writer.finish()?;
    pass.payloads.sort_unstable_by_key(|extent| (extent.file, extent.offset));
    let described = |index: &DeclaredIndex| {
        let mut schema = Vec::new();
        index.schema().write_json(&mut schema);
        (index.path().to_string().into_bytes(), schema)
    };
    let manifest = Manifest {
        collection: Some(folder.collection),
        op: view.op,
        lsn: view.lsn,
        next_file: number + 1,
        config: view.state.config.to_json(),
        indexes: view.state.indexes.iter().map(described).collect(),
        points: view.state.points.len() as u32,
        point_chunks,
        payloads: pass.payloads,
        fields,
        operations: view.state.operations.clone(),
        writers: previous.writers.clone(),
    };
    Ok(Written { manifest, payloads: pass.moved, rows: pass.rows })
}

/// One pass over a view, writing what is new.
pub(super) struct Pass<'a> {
    pub view: &'a View,
    pub previous: &'a Manifest,
    /// Files whose payloads the manifest before names. A payload in another one must be written again.
    kept: BTreeSet<u32>,
    /// Files that are copied forward.
    pub compacted: BTreeSet<u32>,
    pub writer: ExtentWriter,
    payloads: Vec<Extent>,
    moved: Vec<MovedPayload>,
    pub rows: Vec<WrittenRows>,
}

impl Pass<'_> {
    /// Writes payloads, then the chunks of points that changed; returns all chunks.
    fn points(&mut self) -> Result<Vec<Extent>, StorageError> {
        let points = &self.view.state.points;
        let chunks = points.len().div_ceil(CHUNK_POINTS);
        let mut dirty = Vec::new();
        let mut gathered = Vec::new();
        let mut waiting: Vec<(PointOffset, Payload, usize, u32)> = Vec::new();
        let mut places: BTreeMap<PointOffset, StoredPlace> = BTreeMap::new();
        let mut used: BTreeSet<u32> = BTreeSet::new();
        for chunk in 0..chunks {
            let range = chunk * CHUNK_POINTS..points.len().min((chunk + 1) * CHUNK_POINTS);
            let kept = self.previous.point_chunks.get(chunk);
            let complete = range.end as u64 <= u64::from(self.previous.points);
            let mut changed = kept.is_none_or(|extent| self.compacted.contains(&extent.file)) || !complete;
            for offset in range {
                let point = points.at(PointOffset::new(offset as u32));
                changed |= is_changed(point, self.previous, &self.kept);
                let write = match point.payload() {
                    PayloadRef::Empty => false,
                    PayloadRef::Memory(_) => true,
                    PayloadRef::Stored { file, .. } => {
                        self.compacted.contains(&file) || !self.kept.contains(&file)
                    }
                };
                if write {
                    changed = true;
                    let bytes = point.document();
                    let offset = PointOffset::new(offset as u32);
                    waiting.push((offset, point.payload().to_payload(), gathered.len(), bytes.len() as u32));
                    gathered.extend_from_slice(bytes);
                    if gathered.len() >= PAYLOAD_EXTENT_BYTES {
                        self.flush_payloads(&mut gathered, &mut waiting, &mut places)?;
                    }
                } else if let PayloadRef::Stored { file, .. } = point.payload() {
                    used.insert(file);
                }
            }
            if changed {
                dirty.push(chunk);
            }
        }
        self.flush_payloads(&mut gathered, &mut waiting, &mut places)?;
        let is_used = |file: &u32| used.contains(file) && !PlantedFault::KeptPayloadsNotNamed.is_on();
        self.payloads.extend(self.previous.payloads.iter().filter(|extent| is_used(&extent.file)));
        let mut extents: Vec<Option<Extent>> = self.previous.point_chunks.iter().copied().map(Some).collect();
        extents.resize(chunks, None);
        for chunk in dirty {
            let range = chunk * CHUNK_POINTS..points.len().min((chunk + 1) * CHUNK_POINTS);
            let mut bytes = Vec::new();
            for offset in range {
                let offset = PointOffset::new(offset as u32);
                encode_point(points.at(offset), places.get(&offset), &mut bytes);
            }
            extents[chunk] = Some(self.writer.append(&bytes)?);
        }
        Ok(extents.into_iter().flatten().collect())
    }

    fn flush_payloads(
        &mut self,
        gathered: &mut Vec<u8>,
        waiting: &mut Vec<(PointOffset, Payload, usize, u32)>,
        places: &mut BTreeMap<PointOffset, StoredPlace>,
    ) -> Result<(), StorageError> {
        if gathered.is_empty() {
            return Ok(());
        }
        let extent = self.writer.append(gathered)?;
        for (offset, from, at, len) in waiting.drain(..) {
            let extent_offset = extent.offset + at as u64;
            places.insert(offset, StoredPlace { file: extent.file, offset: extent_offset, len });
            self.moved.push(MovedPayload { offset, from, extent_offset, len });
        }
        self.payloads.push(extent);
        gathered.clear();
        Ok(())
    }

    /// Writes the chunks of rows that grew; graphs stay as they were.
    fn fields(&mut self) -> Result<Vec<FieldManifest>, StorageError> {
        let mut fields = Vec::new();
        for (field, table) in self.view.fields.iter().enumerate() {
            // As in memory, so that a full chunk on disk can take the place of the one there.
            let chunk_rows = table.rows.chunk_rows();
            let kept = self.previous.fields.get(field).cloned().unwrap_or_default();
            let mut chunks = Vec::new();
            let mut is_dropping = false;
            for chunk in 0..table.len().div_ceil(chunk_rows) {
                let range = RowRange::of_chunk(chunk, chunk_rows).before(table.end());
                let old = kept.chunks.get(chunk as usize).copied().flatten();
                if !table.holds(range.start) {
                    is_dropping |= old.is_some();
                    chunks.push(None);
                    continue;
                }
                let is_whole = range.end.get() <= kept.rows || PlantedFault::AddedRowsLeftOut.is_on();
                let old = old.filter(|extent| is_whole && !self.compacted.contains(&extent.file));
                chunks.push(Some(match old {
                    Some(extent) => extent,
                    None => {
                        let mut bytes = buffer(range.len() * (table.rows.row_bytes() + table.place_bytes()));
                        table.rows.expect_run(range.numbers());
                        range.iter().for_each(|row| bytes.extend_from_slice(table.row(row)));
                        range.iter().for_each(|row| table.store_place(row, &mut bytes));
                        let extent = self.writer.append(&bytes)?;
                        if range.len() == chunk_rows as usize {
                            self.rows.push(WrittenRows { field, chunk, offset: extent.offset });
                        }
                        extent
                    }
                }));
            }
            // The graph in memory has no node for a row of these chunks, the one on disk may be older. One without codes
            // leads nowhere through rows that cannot be read. A field that is to have none keeps none.
            let is_wanted = self.view.state.config.indexing(field) != Indexing::Never;
            let graph = kept.graph.filter(|graph| is_wanted && (!is_dropping || graph.encoder.is_some()));
            fields.push(FieldManifest { rows: table.len(), chunks, graph });
        }
        Ok(fields)
    }
}

/// Whether a manifest has something else of a point: its operation, a row (one that was moved leaves the operation alone),
/// or the payload, which is in none of the files that were `kept`.
pub(crate) fn is_changed(point: PointRef<'_>, previous: &Manifest, kept: &BTreeSet<u32>) -> bool {
    let is_new_row = |(field, kept): (usize, &FieldManifest)| {
        !PlantedFault::MovedRowsLeftOut.is_on()
            && point.row(field).is_some_and(|row| row >= Row::new(kept.rows))
    };
    let is_new_payload = || match point.payload() {
        PayloadRef::Empty => false,
        PayloadRef::Memory(_) => true,
        PayloadRef::Stored { file, .. } => !kept.contains(&file),
    };
    point.version() > previous.op || previous.fields.iter().enumerate().any(is_new_row) || is_new_payload()
}
