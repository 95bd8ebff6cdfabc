//! The graph of a vector field, filled in the background from the rows that readers already see.

use super::coding::Sample;
use crate::arena::LinkArena;
use crate::config::GraphParams;
use crate::field::table::FieldTable;
use crate::index::{BuildScratch, Codes, Distance, Hnsw, HnswParams, Originals};
use crate::scheduling::yield_to_reads;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::types::{Metric, Node, OpNumber, Row, RowRange};
use crate::vectors::{CodeQuery, CodeTable, Encoder};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Claims that memory is allocated for ahead: more than there are threads that index.
const PROVIDED_CLAIMS: u32 = 64;

/// A graph over the rows of a field before [`FieldGraph::indexed`], with the codes that walks compare. The rows from there on
/// are the tail, which searches scan exactly.
pub struct FieldGraph {
    /// The graph itself.
    pub hnsw: Hnsw,
    pub(crate) graph_params: GraphParams,
    pub(crate) metric: Metric,
    /// Codes of the nodes; `None` where nodes are compared by their originals, because its parameters have no codes or
    /// because codes would not distinguish neighbours.
    pub(crate) codes: Option<NodeCodes>,
    pub(crate) nodes: NodesOfRows,
    /// Number of the first row that no indexer has claimed.
    claimed: AtomicU32,
    /// Number of the first row of the tail. Every row before it is in the graph, or was dead when it was claimed.
    indexed: AtomicU32,
    /// Finished claims beyond `indexed`: start → end.
    finished: Mutex<BTreeMap<Row, Row>>,
    /// Number of nodes when the graph was last rewritten in the order of walks; 0 for never.
    pub(crate) ordered: u32,
    /// One more than the number of the file that an earlier state of the graph was written to; 0 for none.
    file: AtomicU32,
    /// Rows of the table when it was last checked whether the codes suit them.
    rows_at_check: AtomicU32,
}

/// The codes of a graph's nodes, and how vectors become codes.
pub(crate) struct NodeCodes {
    pub encoder: Arc<Encoder>,
    pub table: CodeTable,
}

/// The memory of an indexer, for reuse.
#[derive(Default)]
pub struct IndexScratch {
    over_codes: BuildScratch<CodeQuery>,
    over_originals: BuildScratch<Vec<f32>>,
    vector: Vec<f32>,
    query: CodeQuery,
}

impl FieldGraph {
    /// Rows that an indexer claims at a time. The tail begins at the oldest claim that is not finished. While the indexer of
    /// that claim waits for a processor, searches scan the rows that others have indexed after it, so claims are short.
    pub const CLAIM_ROWS: u32 = 16;

    /// An empty graph for the rows of a table. A sample of them decides which codes are used.
    pub fn new(
        graph_params: GraphParams,
        metric: Metric,
        table: &FieldTable,
        op: OpNumber,
        seed: u64,
    ) -> FieldGraph {
        let params = HnswParams { m: graph_params.m, ef_construct: graph_params.ef_construct, seed };
        let encoder =
            graph_params.codes.and_then(|coding| Sample::of(table, op, metric, coding).encoder(seed));
        let codes =
            encoder.map(|encoder| NodeCodes { table: CodeTable::new(&encoder), encoder: Arc::new(encoder) });
        let graph = Self::with(Hnsw::new(params), graph_params, metric, codes, Row::FIRST);
        graph.rows_at_check.store(table.len(), Ordering::Relaxed);
        graph
    }

    /// A graph whose nodes are the rows before `indexed`, except those that were dead when they were claimed.
    pub(crate) fn with(
        hnsw: Hnsw,
        graph_params: GraphParams,
        metric: Metric,
        codes: Option<NodeCodes>,
        indexed: Row,
    ) -> FieldGraph {
        let nodes = NodesOfRows::of(&hnsw, None);
        FieldGraph {
            hnsw,
            graph_params,
            metric,
            codes,
            nodes,
            claimed: AtomicU32::new(indexed.get()),
            indexed: AtomicU32::new(indexed.get()),
            finished: Mutex::new(BTreeMap::new()),
            ordered: 0,
            file: AtomicU32::new(0),
            rows_at_check: AtomicU32::new(indexed.get()),
        }
    }

    /// Takes note that the graph has been written to a file.
    pub(crate) fn is_now_in(&self, file: u32) {
        self.file.store(file + 1, Ordering::Relaxed);
    }

    /// Whether an earlier state of this graph, and not of another one of the field, is in a file.
    pub(crate) fn is_in(&self, file: u32) -> bool {
        self.file.load(Ordering::Relaxed) == file + 1
    }

    /// Whether its codes, or the lack of codes, suit the present vectors of the table.
    pub(crate) fn suits(&self, table: &FieldTable, op: OpNumber) -> bool {
        self.rows_at_check.store(table.len(), Ordering::Relaxed);
        let Some(coding) = self.graph_params.codes else { return true };
        let encoder = self.codes.as_ref().map(|codes| &*codes.encoder);
        Sample::of(table, op, self.metric, coding).suits(encoder, self.hnsw.params().seed)
    }

    /// Whether the table has grown by half since it was last checked whether codes suit its vectors.
    pub(crate) fn needs_code_check(&self, table: &FieldTable) -> bool {
        let checked = self.rows_at_check.load(Ordering::Relaxed);
        self.graph_params.codes.is_some() && table.len() - checked.min(table.len()) > checked / 2
    }

    /// Whether the graph was made with these parameters.
    pub fn fits(&self, graph_params: &GraphParams) -> bool {
        self.graph_params == *graph_params
    }

    /// First row of the tail.
    ///
    /// A reader loads this *before* its view: a row that was skipped because it was dead is then dead in the
    /// reader's view too.
    pub fn indexed(&self) -> Row {
        Row::new(self.indexed.load(Ordering::Acquire))
    }

    /// First row that no indexer has claimed.
    pub fn claimed(&self) -> Row {
        Row::new(self.claimed.load(Ordering::Acquire))
    }

    /// Claims some rows of the table and inserts the live ones into the graph. Several threads may do this at once. Returns
    /// false when there was nothing to claim.
    pub fn index_some(&self, table: &FieldTable, op: OpNumber, scratch: &mut IndexScratch) -> bool {
        let len = table.len();
        self.provide(len);
        let claim = self.claimed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |from| {
            (from < len).then(|| len.min(from + Self::CLAIM_ROWS))
        });
        let Ok(from) = claim else { return false };
        let claimed = RowRange::of_len(Row::new(from), (len - from).min(Self::CLAIM_ROWS));
        for row in claimed.iter() {
            if table.alive(row, op) {
                self.insert(table, row, scratch);
                yield_to_reads();
            }
        }
        self.finish(claimed);
        true
    }

    /// Allocates what the next claims need, before they are made: a claim that is never finished would hold up the boundary
    /// of the graph for good.
    fn provide(&self, len: u32) {
        let from = self.claimed().get();
        if from < len {
            // Rows from the boundary on are inserted, claimed or waiting.
            let pending = len.saturating_sub(self.indexed().get());
            let more = pending.min(PROVIDED_CLAIMS * Self::CLAIM_ROWS);
            self.hnsw.provide(more);
            self.nodes.provide(Row::new(len.min(from.saturating_add(more))));
            if let Some(codes) = &self.codes {
                codes.table.provide(self.hnsw.len().saturating_add(more));
            }
        }
    }

    pub(crate) fn insert(&self, table: &FieldTable, row: Row, scratch: &mut IndexScratch) {
        let slot = self.hnsw.allocate(row);
        let node = slot.node();
        table.vector(row, &mut scratch.vector);
        match &self.codes {
            Some(codes) => {
                codes.table.fill(node, &codes.encoder, &scratch.vector, &mut scratch.query);
                self.nodes.set(row, node);
                self.hnsw.insert(&Codes::new(&codes.table), slot, &scratch.query, &mut scratch.over_codes);
            }
            None => {
                self.nodes.set(row, node);
                let space = self.originals(table);
                self.hnsw.insert(&space, slot, &scratch.vector, &mut scratch.over_originals);
            }
        }
    }

    /// The node of a row.
    pub fn node_of(&self, row: Row) -> Option<Node> {
        self.nodes.of_row(row)
    }

    /// The nodes as their original vectors in a table.
    pub(crate) fn originals<'a>(&'a self, table: &'a FieldTable) -> Originals<'a> {
        let distance = Distance::of(self.metric, table.format);
        Originals::new(&table.rows, distance, table.dim, &self.hnsw)
    }

    /// Bytes of codes in memory.
    pub fn codes_bytes(&self) -> usize {
        self.codes.as_ref().map_or(0, |codes| codes.table.memory_bytes())
    }

    /// Bytes of links in memory, with the row of each node and the node of each row.
    pub fn links_bytes(&self) -> usize {
        self.hnsw.memory_bytes() + self.nodes.bytes()
    }

    /// About what a node takes: as the nodes so far, or what codes of a byte for each component would.
    pub fn node_bytes(&self, dim: usize) -> u64 {
        const FEW: u32 = 10_000;
        let nodes = self.hnsw.len();
        if nodes < FEW {
            return (dim + 16 * self.hnsw.params().m + 64) as u64;
        }
        (self.codes_bytes() + self.links_bytes()) as u64 / u64::from(nodes)
    }

    /// About as many bytes as a checkpoint would write of it.
    pub fn file_bytes(&self) -> u64 {
        (self.codes_bytes() + self.links_bytes()) as u64
    }

    fn finish(&self, claimed: RowRange) {
        let mut finished = self.finished.lock();
        finished.insert(claimed.start, claimed.end);
        let mut indexed = self.indexed();
        while let Some(end) = finished.remove(&indexed) {
            indexed = end;
        }
        self.indexed.store(indexed.get(), Ordering::Release);
    }
}

/// The node of each row: for searches that start from rows instead of walking.
pub(crate) struct NodesOfRows {
    /// Rows before this have no node.
    first: Row,
    /// One more than the node, 0 for none.
    nodes: LinkArena,
}

impl NodesOfRows {
    /// The rows of a graph before the first insertion into it. `least` is the least row that will be inserted; it may be left
    /// out if it is not before the rows of the graph.
    pub(crate) fn of(hnsw: &Hnsw, least: Option<Row>) -> NodesOfRows {
        let first = hnsw.all_nodes().map(|node| hnsw.row_of(node)).min().unwrap_or(Row::FIRST);
        let first = least.map_or(first, |least| first.min(least));
        let nodes = NodesOfRows { first, nodes: LinkArena::new(1, hnsw.len()) };
        hnsw.all_nodes().for_each(|node| nodes.set(hnsw.row_of(node), node));
        nodes
    }

    fn provide(&self, end: Row) {
        self.nodes.provide(end.get().saturating_sub(self.first.get()));
    }

    fn set(&self, row: Row, node: Node) {
        let place = row.get() - self.first.get();
        // Only walks find a row beyond the arena, which has space for a thousand million rows.
        if place < LinkArena::MAX_ROWS {
            // The code of the node was written before, so a reader that finds the node finds its code.
            self.nodes.reserve(place)[0].store(node.get() + 1, Ordering::Release);
        }
    }

    /// The node that stands for a row.
    #[inline(always)]
    pub fn of_row(&self, row: Row) -> Option<Node> {
        let word = self.nodes.row(row.get().checked_sub(self.first.get())?).first()?;
        word.load(Ordering::Acquire).checked_sub(1).map(Node::new)
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes()
    }
}
