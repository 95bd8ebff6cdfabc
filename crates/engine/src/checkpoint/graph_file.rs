//! Graph files: the links of one vector field's graph and the codes of its nodes.
//!
//! A graph is derived data. One that is missing or damaged, or has other parameters, is built again in the background, while
//! searches scan.

use super::cause::{Cause, Unopened};
use super::extents::{self, Extent, ExtentWriter};
use super::verification::verify_all;
use super::{Folder, file_path};
use crate::arena::LinkArena;
use crate::change::{Input, Undecodable};
use crate::config::{Coding, CollectionConfig, GraphParams};
use crate::field::graph::{FieldGraph, NodeCodes};
use crate::field::table::FieldTable;
use crate::index::{BuildScratch, Codes, Hnsw, ReadGraph};
use crate::scheduling::in_pieces;
use crate::storage::{Map, StorageError};
use crate::types::{OpNumber, Row, RowRange};
use crate::vectors::{CodeParams, CodeTable, Encoder};
use std::sync::Arc;

/// Codes are gathered into extents of about this size, so that a checkpoint holds no second copy of them all.
const CODES_EXTENT_BYTES: usize = 16 << 20;

/// Beside the bits of a component: the graph does without codes that it might have.
const LACKING: u8 = 1 << 7;

/// Codes keep half of the components.
const HALF: u8 = 1;
/// Beside it: what codes are like was chosen to fit the vectors. It is where earlier releases had a byte that is 0 or 1,
/// and take the codes for those that were asked for.
const FITTING: u8 = 1 << 1;

/// What a manifest says of a graph file.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphManifest {
    /// What the graph was made with.
    pub graph_params: GraphParams,
    /// Rows before this are in it, or were dead.
    pub indexed: Row,
    /// Nodes when the graph was last written in the order of its walks; 0 for never.
    pub ordered: u32,
    /// The links.
    pub links: Extent,
    /// What the codes keep, where there are codes. There may be none although the parameters have some.
    pub params: Option<CodeParams>,
    /// Their encoder, where there are codes.
    pub encoder: Option<Extent>,
    /// The codes in the order of the nodes, all extents but the last of the same number of them.
    pub codes: Vec<Extent>,
}

impl GraphManifest {
    /// Number of the file.
    pub fn file(&self) -> u32 {
        self.links.file
    }

    /// Everything that the file holds.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        [self.links].into_iter().chain(self.encoder).chain(self.codes.iter().copied())
    }

    /// Appends it to a manifest.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [
            self.graph_params.m as u32,
            self.graph_params.ef_construct as u32,
            self.indexed.get(),
            self.ordered,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.links.encode(out);
        let Some(coding) = self.graph_params.codes else { return out.push(0) };
        let (params, lacking) = match self.params {
            Some(params) => (params, 0),
            None => (CodeParams::default(), LACKING),
        };
        let fitting = if coding == Coding::Fitting { FITTING } else { 0 };
        let half = if params.half { HALF } else { 0 };
        out.extend_from_slice(&[params.bits | lacking, half | fitting]);
        out.extend_from_slice(&params.quantile.unwrap_or(0.0).to_le_bytes());
        if let Some(encoder) = &self.encoder {
            encoder.encode(out);
            Extent::encode_all(&self.codes, out);
        }
    }

    /// Reads what [`GraphManifest::encode`] wrote.
    pub(crate) fn decode(input: &mut Input<'_>) -> Result<GraphManifest, Undecodable> {
        let mut number = || -> Result<u32, Undecodable> { Ok(u32::from_le_bytes(input.array()?)) };
        let (m, ef_construct, indexed, ordered) = (number()?, number()?, Row::new(number()?), number()?);
        let links = Extent::decode(input)?;
        let graph_params = GraphParams { m: m as usize, ef_construct: ef_construct as usize, codes: None };
        let plain = GraphManifest {
            graph_params,
            indexed,
            ordered,
            links,
            params: None,
            encoder: None,
            codes: Vec::new(),
        };
        let bits = input.byte()?;
        if bits == 0 {
            return Ok(plain);
        }
        let kind = input.byte()?;
        let quantile = f32::from_le_bytes(input.array()?);
        let (bits, is_lacking) = (bits & !LACKING, bits & LACKING != 0);
        let params =
            CodeParams { bits, half: kind & HALF != 0, quantile: (quantile > 0.0).then_some(quantile) };
        let coding = if kind & FITTING != 0 { Coding::Fitting } else { Coding::Asked(params) };
        let graph_params = GraphParams { codes: Some(coding), ..graph_params };
        if is_lacking {
            let is_known = params == CodeParams::default();
            return is_known.then_some(GraphManifest { graph_params, ..plain }).ok_or(Undecodable);
        }
        Ok(GraphManifest {
            graph_params,
            params: Some(params),
            encoder: Some(Extent::decode(input)?),
            codes: Extent::decode_all(input)?,
            ..plain
        })
    }
}

/// Writes and syncs the part of a graph that has the rows before `indexed`. Rows may be inserted meanwhile.
///
/// # Errors
/// The disk's.
pub(crate) fn write(
    folder: &Folder<'_>,
    number: u32,
    graph: &FieldGraph,
    indexed: Row,
) -> Result<GraphManifest, StorageError> {
    let mut writer =
        ExtentWriter::create(folder.storage, &file_path(folder.dir, number), folder.collection, number)?;
    let mut bytes = Vec::new();
    let nodes = graph.hnsw.write_to(&mut bytes, indexed);
    let mut manifest = GraphManifest {
        graph_params: graph.graph_params,
        indexed,
        ordered: graph.ordered,
        links: writer.append(&bytes)?,
        params: graph.codes.as_ref().map(|codes| codes.encoder.params()),
        encoder: None,
        codes: Vec::new(),
    };
    if let Some(codes) = &graph.codes {
        bytes.clear();
        codes.encoder.write_to(&mut bytes);
        manifest.encoder = Some(writer.append(&bytes)?);
        let gathered = (CODES_EXTENT_BYTES / codes.table.node_bytes()).max(1);
        for nodes in nodes.chunks(gathered) {
            bytes.clear();
            for run in nodes.chunk_by(|a, b| a.get() + 1 == b.get()) {
                let first = run[0].get();
                codes.table.write_to(first..first + run.len() as u32, &mut bytes);
            }
            manifest.codes.push(writer.append(&bytes)?);
        }
    }
    writer.finish()?;
    graph.is_now_in(number);
    Ok(manifest)
}

/// The graph of `rows` rows that a checkpoint kept, or `None` when it is of another format or has other parameters, or the
/// field is to have none. Only [`KeptGraph::complete`] compares it with the rows.
///
/// # Errors
/// Why the file cannot be used.
pub(crate) fn read(
    folder: &Folder<'_>,
    kept: &GraphManifest,
    config: &CollectionConfig,
    (field, rows): (usize, Row),
    threads: usize,
) -> Result<Option<KeptGraph>, Unopened> {
    if config.graph_params(field).is_none() {
        return Ok(None);
    }
    let path = file_path(folder.dir, kept.file());
    let map = match extents::open(folder.storage, &path, folder.collection, kept.file()) {
        Ok(map) => map,
        Err(fault) if fault.cause == Cause::OtherFormat => return Ok(None),
        Err(fault) => return Err(fault),
    };
    let all: Vec<Extent> = kept.extents().collect();
    verify_all(folder.storage, folder.dir, &all, threads).map_err(|(extent, why)| why.unopened(&extent))?;
    Ok(decode(&map, kept, config, (field, rows), threads))
}

/// A graph as its file has it, before it is compared with the rows.
pub(crate) struct KeptGraph {
    graph: FieldGraph,
    is_connected: bool,
}

impl KeptGraph {
    /// The graph, with all ways that it needs; `None` where it is not of these rows, which are all loaded.
    pub(crate) fn complete(self, table: &FieldTable) -> Option<FieldGraph> {
        let KeptGraph { graph, is_connected } = self;
        // A walk reads the rows: behind one that was dropped it would find nothing.
        let reads_rows = graph.codes.is_none();
        if reads_rows && graph.hnsw.all_nodes().any(|node| !table.holds(graph.hnsw.row_of(node))) {
            return None;
        }
        // Whatever led to that: what is alive and in no graph would be found by no walk.
        let can_tell = graph.indexed().get() < LinkArena::MAX_ROWS;
        let rows = RowRange::new(Row::FIRST, graph.indexed());
        if can_tell
            && rows.iter().any(|row| table.alive(row, OpNumber::MAX) && graph.nodes.of_row(row).is_none())
        {
            return None;
        }
        // A graph that was cut at its boundary, or written while it grew, may have lost ways; every row stays reachable.
        if !is_connected {
            match &graph.codes {
                Some(codes) => graph.hnsw.repair(&Codes::new(&codes.table), &mut BuildScratch::new()),
                None => graph.hnsw.repair(&graph.originals(table), &mut BuildScratch::new()),
            };
        }
        Some(graph)
    }
}

/// The parameters that a graph has been made with, in today's terms: the default codes of earlier releases count as codes
/// that were chosen to fit the vectors, until the choice is made again.
fn adopted(kept: GraphParams, wanted: Option<GraphParams>) -> GraphParams {
    let is_usual = kept.codes == Some(Coding::Asked(CodeParams::default()));
    match wanted {
        Some(GraphParams { codes: Some(Coding::Fitting), .. }) if is_usual => {
            GraphParams { codes: Some(Coding::Fitting), ..kept }
        }
        _ => kept,
    }
}

/// What a graph file holds, once it was compared with its checksums.
fn decode(
    map: &Map,
    kept: &GraphManifest,
    config: &CollectionConfig,
    (field, rows): (usize, Row),
    threads: usize,
) -> Option<KeptGraph> {
    // What a checkpoint of another operation left behind is no graph of these rows.
    let indexed = kept.indexed.min(rows);
    let params = &config.fields()[field].1;
    let links = kept.links.bytes(map).ok()?;
    let ReadGraph { hnsw, is_connected } = Hnsw::read_from(links, indexed.get(), threads).ok()?;
    let codes = match kept.params.zip(kept.encoder) {
        None => None,
        Some((code_params, encoder)) => {
            let encoder = Encoder::read_from(encoder.bytes(map).ok()?).ok()?;
            let fits = encoder.metric() == params.metric
                && encoder.dim() == params.size
                && encoder.params() == code_params;
            let table = CodeTable::new(&encoder);
            if !fits || !read_codes(map, &kept.codes, &table, hnsw.len(), threads) {
                return None;
            }
            map.drop_resident(0..map.len());
            Some(NodeCodes { encoder: Arc::new(encoder), table })
        }
    };
    let graph_params = adopted(kept.graph_params, config.graph_params(field));
    let mut graph = FieldGraph::with(hnsw, graph_params, params.metric, codes, indexed);
    graph.ordered = kept.ordered;
    graph.is_now_in(kept.file());
    Some(KeptGraph { graph, is_connected })
}

/// Reads the codes of all nodes, and returns whether there were as many as nodes, and sound.
fn read_codes(map: &Map, extents: &[Extent], table: &CodeTable, nodes: u32, threads: usize) -> bool {
    let mut pieces = Vec::with_capacity(extents.len());
    let mut first = 0;
    for extent in extents {
        let Ok(bytes) = extent.bytes(map) else { return false };
        // More codes than nodes: a file of something else.
        match u32::try_from(bytes.len() / table.node_bytes()) {
            Ok(held) if held <= nodes - first => pieces.push((first, bytes)),
            _ => return false,
        }
        first += (bytes.len() / table.node_bytes()) as u32;
    }
    table.reserve(first);
    let read = |at: usize| {
        let (first, bytes) = pieces[at];
        table.read_from(first, bytes)
    };
    first == nodes && in_pieces(threads, pieces.len(), read).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENT: Extent = Extent { file: 7, crc: 1, offset: 32, len: 64 };

    fn manifest(coding: Option<Coding>, params: Option<CodeParams>) -> GraphManifest {
        GraphManifest {
            graph_params: GraphParams { m: 16, ef_construct: 100, codes: coding },
            indexed: Row::new(5),
            ordered: 3,
            links: EXTENT,
            params,
            encoder: params.map(|_| EXTENT),
            codes: params.map_or(Vec::new(), |_| vec![EXTENT; 2]),
        }
    }

    fn bytes(manifest: &GraphManifest) -> Vec<u8> {
        let mut bytes = Vec::new();
        manifest.encode(&mut bytes);
        bytes
    }

    #[test]
    fn what_a_manifest_says_of_codes_is_read_back() {
        let asked = [
            CodeParams::plain(1),
            CodeParams::plain(4),
            CodeParams { half: true, ..CodeParams::plain(1) },
            CodeParams { quantile: Some(0.9), ..CodeParams::plain(8) },
        ];
        let asked = asked.map(|params| (Some(Coding::Asked(params)), Some(params)));
        let others = [
            (None, None),
            (Some(Coding::Fitting), Some(CodeParams::plain(4))),
            (Some(Coding::Fitting), Some(CodeParams::plain(8))),
            (Some(Coding::Fitting), None),
            (Some(Coding::Asked(CodeParams::plain(8))), None),
        ];
        for (coding, params) in asked.into_iter().chain(others) {
            let manifest = manifest(coding, params);
            let bytes = bytes(&manifest);
            let read = GraphManifest::decode(&mut Input(&bytes)).expect("what was written");
            assert_eq!(read, manifest);
        }
    }

    /// Before codes were chosen, eight bits were the default.
    #[test]
    fn codes_of_earlier_releases_are_taken_for_chosen_ones() {
        let of = |codes| GraphParams { m: 16, ef_construct: 100, codes };
        let (eight, four) = (Coding::Asked(CodeParams::plain(8)), Coding::Asked(CodeParams::plain(4)));
        for (kept, wanted, taken) in [
            (Some(eight), Some(Coding::Fitting), Some(Coding::Fitting)),
            (Some(eight), Some(eight), Some(eight)),
            (Some(four), Some(Coding::Fitting), Some(four)),
            (Some(Coding::Fitting), Some(eight), Some(Coding::Fitting)),
            (None, Some(Coding::Fitting), None),
        ] {
            assert_eq!(adopted(of(kept), Some(of(wanted))), of(taken));
        }
        assert_eq!(adopted(of(Some(eight)), None), of(Some(eight)));
    }
}
