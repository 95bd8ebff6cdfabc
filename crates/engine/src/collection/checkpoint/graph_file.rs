//! Graph files: the links of one vector field's graph and the codes of its nodes.
//!
//! A graph is derived data. One that is missing, damaged or of another recipe is built again in the background, while
//! searches scan.

use super::cause::Cause;
use super::extents::{self, Extent, ExtentWriter};
use super::file_path;
use super::verification::verify_all;
use crate::collection::change::{Input, Undecodable};
use crate::collection::config::{CollectionConfig, Recipe};
use crate::collection::field::FieldTable;
use crate::collection::indexing::graph::{FieldGraph, NodeCodes, may_lack};
use crate::index::{BuildScratch, Codes, Hnsw};
use crate::storage::{Map, Storage, StorageError};
use crate::vectors::{CodeParams, CodeTable, Encoder};
use std::sync::Arc;

/// Codes are gathered into extents of about this size, so that a checkpoint holds no second copy of them all.
const CODES_EXTENT_BYTES: usize = 16 << 20;

/// Marks codes of the recipe that the graph does without.
const LACKING: u8 = 1 << 7;

/// What a manifest says of a graph file.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphManifest {
    /// What the graph was made with.
    pub recipe: Recipe,
    /// Rows below this are in it, or were dead.
    pub indexed: u32,
    /// Nodes when the graph was last written in the order of its walks; 0 for never.
    pub ordered: u32,
    /// The links.
    pub links: Extent,
    /// The encoder of the codes, where there are codes. There may be none although the recipe has some.
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
    pub(in crate::collection) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.recipe.m as u32, self.recipe.ef_construct as u32, self.indexed, self.ordered] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.links.encode(out);
        match (&self.recipe.codes, &self.encoder) {
            (Some(params), encoder) => {
                let lacking = if encoder.is_none() { LACKING } else { 0 };
                out.extend_from_slice(&[params.bits | lacking, u8::from(params.half)]);
                out.extend_from_slice(&params.quantile.unwrap_or(0.0).to_le_bytes());
                if let Some(encoder) = encoder {
                    encoder.encode(out);
                    Extent::encode_all(&self.codes, out);
                }
            }
            (None, _) => out.push(0),
        }
    }

    /// Reads what [`GraphManifest::encode`] wrote.
    pub(in crate::collection) fn decode(input: &mut Input<'_>) -> Result<GraphManifest, Undecodable> {
        let mut number = || -> Result<u32, Undecodable> { Ok(u32::from_le_bytes(input.array()?)) };
        let (m, ef_construct, indexed, ordered) = (number()?, number()?, number()?, number()?);
        let links = Extent::decode(input)?;
        let recipe = Recipe { m: m as usize, ef_construct: ef_construct as usize, codes: None };
        let plain = GraphManifest { recipe, indexed, ordered, links, encoder: None, codes: Vec::new() };
        let bits = input.byte()?;
        if bits == 0 {
            return Ok(plain);
        }
        let half = input.byte()? == 1;
        let quantile = f32::from_le_bytes(input.array()?);
        let (bits, is_lacking) = (bits & !LACKING, bits & LACKING != 0);
        let codes = CodeParams { bits, half, quantile: (quantile > 0.0).then_some(quantile) };
        let recipe = Recipe { codes: Some(codes), ..recipe };
        if is_lacking {
            let is_known = may_lack(codes);
            return is_known.then_some(GraphManifest { recipe, ..plain }).ok_or(Undecodable);
        }
        Ok(GraphManifest {
            recipe,
            encoder: Some(Extent::decode(input)?),
            codes: Extent::decode_all(input)?,
            ..plain
        })
    }
}

/// The folder of a collection.
pub(in crate::collection) struct Folder<'a> {
    pub storage: &'a dyn Storage,
    /// Its path.
    pub dir: &'a str,
    /// Number of the collection.
    pub collection: u64,
}

/// Writes and syncs the part of a graph that has the rows below `indexed`. Rows may be inserted meanwhile.
///
/// # Errors
/// The disk's.
pub(in crate::collection) fn write(
    folder: &Folder<'_>,
    number: u32,
    graph: &FieldGraph,
    indexed: u32,
) -> Result<GraphManifest, StorageError> {
    let mut writer =
        ExtentWriter::create(folder.storage, &file_path(folder.dir, number), folder.collection, number)?;
    let mut bytes = Vec::new();
    let nodes = graph.hnsw.write_to(&mut bytes, indexed);
    let mut manifest = GraphManifest {
        recipe: graph.recipe,
        indexed,
        ordered: graph.ordered,
        links: writer.append(&bytes)?,
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
            for run in nodes.chunk_by(|a, b| a + 1 == *b) {
                codes.table.write_to(run[0]..run[0] + run.len() as u32, &mut bytes);
            }
            manifest.codes.push(writer.append(&bytes)?);
        }
    }
    writer.finish()?;
    Ok(manifest)
}

/// The graph that a checkpoint kept, or `None` when it is of another format or recipe.
///
/// # Errors
/// A sentence when the file is not what was written.
pub(in crate::collection) fn load(
    folder: &Folder<'_>,
    kept: &GraphManifest,
    config: &CollectionConfig,
    field: usize,
    table: &FieldTable,
    threads: usize,
) -> Result<Option<FieldGraph>, String> {
    let path = file_path(folder.dir, kept.file());
    let map = match extents::open(folder.storage, &path, folder.collection, kept.file()) {
        Ok(map) => map,
        Err(fault) if fault.cause == Cause::OtherFormat => return Ok(None),
        Err(fault) => return Err(fault.what),
    };
    let all: Vec<Extent> = kept.extents().collect();
    verify_all(folder.storage, folder.dir, &all, threads).map_err(|(extent, why)| why.sentence(&extent))?;
    Ok(decode(&map, kept, config, field, table))
}

/// What a graph file holds, once it was compared with its checksums.
fn decode(
    map: &Map,
    kept: &GraphManifest,
    config: &CollectionConfig,
    field: usize,
    table: &FieldTable,
) -> Option<FieldGraph> {
    // What a checkpoint of another operation left behind is no graph of these rows.
    let indexed = kept.indexed.min(table.len());
    let metric = config.fields()[field].1.metric;
    let hnsw = Hnsw::read_from(kept.links.bytes(map).ok()?, indexed).ok()?;
    let codes = match kept.recipe.codes.zip(kept.encoder) {
        // A walk reads the rows: behind one that was dropped it would find nothing.
        None if (0..hnsw.len()).any(|node| !table.rows.holds(hnsw.row_of(node))) => return None,
        None => None,
        Some((params, encoder)) => {
            let encoder = Encoder::read_from(encoder.bytes(map).ok()?).ok()?;
            let fits = encoder.metric() == metric && encoder.dim() == table.dim && encoder.params() == params;
            let table = CodeTable::new(&encoder);
            let mut first = 0;
            for extent in &kept.codes {
                let bytes = extent.bytes(map).ok()?;
                // More codes than nodes: a file of something else.
                let nodes = u32::try_from(bytes.len() / table.node_bytes()).ok()?;
                if !fits || nodes > hnsw.len() - first {
                    return None;
                }
                table.read_from(first, bytes).ok()?;
                first += nodes;
            }
            if !fits || first != hnsw.len() {
                return None;
            }
            map.drop_resident(0..map.len());
            Some(NodeCodes { encoder: Arc::new(encoder), table })
        }
    };
    let mut graph = FieldGraph::with(hnsw, kept.recipe, metric, codes, indexed);
    graph.ordered = kept.ordered;
    // A graph that was cut at its boundary, or written while it grew, may have lost ways; every row stays reachable.
    match &graph.codes {
        Some(codes) => graph.hnsw.repair(&Codes::new(&codes.table), &mut BuildScratch::new()),
        None => graph.hnsw.repair(&graph.originals(table), &mut BuildScratch::new()),
    };
    Some(graph)
}
