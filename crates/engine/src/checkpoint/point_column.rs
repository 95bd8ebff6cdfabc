//! The points column of a checkpoint: a point in its bytes, and loading all points.

use super::manifest::Manifest;
use crate::change::{Input, Undecodable, put_id};
use crate::field::SparseArena;
use crate::state::{Head, LoadedIds, Payload, PayloadRef, Point, PointRef, Rows, StoredPayload};
use crate::storage::Map;
use crate::types::{OpNumber, PointId, PointOffset, Row};
use std::collections::BTreeMap;

/// The place of a payload in a data file.
pub(super) struct StoredPlace {
    pub file: u32,
    pub offset: u64,
    pub len: u32,
}

/// Appends a point as a chunk of the points column has it. `place` is that of its payload, if this pass has written it.
pub(super) fn encode_point(point: PointRef<'_>, place: Option<&StoredPlace>, out: &mut Vec<u8>) {
    out.push(u8::from(point.is_live()));
    put_id(out, &point.id());
    out.extend_from_slice(&point.version().get().to_le_bytes());
    match (point.payload(), place) {
        (_, Some(&StoredPlace { file, offset, len })) | (PayloadRef::Stored { file, offset, len, .. }, _) => {
            out.push(1);
            out.extend_from_slice(&file.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
        }
        (PayloadRef::Empty, None) => out.push(0),
        (PayloadRef::Memory(_), None) => unreachable!("every payload in memory was given a place"),
    }
    point.rows().iter().for_each(|row| out.extend_from_slice(&row.get().to_le_bytes()));
}

/// A point as a chunk of the points column has it.
pub(crate) struct ChunkPoint {
    pub live: bool,
    pub id: PointId,
    pub version: OpNumber,
    /// File, offset and length of the payload; none for `{}`.
    pub payload: Option<(u32, u64, u32)>,
    pub rows: Rows,
}

impl ChunkPoint {
    pub(crate) fn decode(input: &mut Input<'_>, positions: usize) -> Result<ChunkPoint, Undecodable> {
        let live = input.byte()? == 1;
        let id = input.id()?;
        let version = OpNumber::new(u64::from_le_bytes(input.array()?));
        let payload = match input.byte()? {
            0 => None,
            _ => Some((
                u32::from_le_bytes(input.array()?),
                u64::from_le_bytes(input.array()?),
                u32::from_le_bytes(input.array()?),
            )),
        };
        let mut rows = Rows::none(positions);
        for field in 0..positions {
            rows.set(field, Row::new(u32::from_le_bytes(input.array()?)));
        }
        Ok(ChunkPoint { live, id, version, payload, rows })
    }

    /// Appends the point to the head, with its id.
    pub(crate) fn load(self, head: &mut Head, maps: &BTreeMap<u32, Map>) -> Result<(), Undecodable> {
        self.load_with(head, maps, |head, id, offset| {
            // Deleting the id would leave the other point.
            let before = head.state.ids.insert(id, offset, &head.state.points);
            if before.is_none() { Ok(()) } else { Err(Undecodable) }
        })
    }

    /// Appends the point to the head. `enter` does so with the id of one that is live.
    fn load_with(
        self,
        head: &mut Head,
        maps: &BTreeMap<u32, Map>,
        enter: impl FnOnce(&mut Head, &PointId, PointOffset) -> Result<(), Undecodable>,
    ) -> Result<(), Undecodable> {
        let ChunkPoint { live, id, version, payload, rows } = self;
        let payload = match payload {
            None => Payload::Empty,
            Some((file, offset, len)) => {
                let map = maps.get(&file).ok_or(Undecodable)?;
                let end = offset.checked_add(u64::from(len)).ok_or(Undecodable)?;
                if end > map.len() as u64 {
                    return Err(Undecodable);
                }
                Payload::Stored(StoredPayload { file, map: map.clone(), offset, len })
            }
        };
        let offset = PointOffset::new(head.state.points.len() as u32);
        for field in 0..rows.fields() {
            if rows.row(field).is_some_and(|row| !head.revive_loaded(field, row, offset)) {
                return Err(Undecodable);
            }
        }
        if live {
            enter(head, &id, offset)?;
            head.state.live.insert(offset);
        }
        head.state.load(Point { id, version, live, payload, rows });
        Ok(())
    }
}

/// Loads the points of a checkpoint.
pub(super) fn load_points(
    head: &mut Head,
    manifest: &Manifest,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    let undecodable = |Undecodable| "a chunk of points in the .data files cannot be decoded".to_string();
    let positions = head.state.config.positions();
    let mut ids = LoadedIds::default();
    head.state.points.expect_points(manifest.points as usize);
    for extent in &manifest.point_chunks {
        let mut input = Input(extent.bytes(&maps[&extent.file])?);
        while !input.0.is_empty() {
            let point = ChunkPoint::decode(&mut input, positions).map_err(undecodable)?;
            let enter = |head: &mut Head, id: &PointId, offset| {
                ids.add(id, offset, &head.state.points);
                Ok(())
            };
            point.load_with(head, maps, enter).map_err(undecodable)?;
        }
    }
    head.state.ids = ids.into_index().ok_or_else(|| undecodable(Undecodable))?;
    // Only now is it known which rows are alive.
    head.sparse.iter_mut().for_each(SparseArena::index_loaded);
    if head.state.points.len() != manifest.points as usize {
        return Err("MANIFEST and the points in the .data files disagree".to_string());
    }
    Ok(())
}
