//! Build rate, recall and query rate of the graph on a data set.
//!
//! ```text
//! cargo run --release -p kithdb-bench --bin hnsw_bench -- DIR [--mode codes|f32] [--threads N] [--m M]
//!     [--ef-construct E] [--bits 8|4|2|1] [--rerank R] [--ef 10,16,…] [--churn] [--tuned]
//! ```
//!
//! `codes` (the default) builds and walks over codes and ranks the best `R` by the originals; `f32` does without
//! codes. `--churn` then also measures recall after half of the rows were deleted and after every row was replaced
//! once in random order, with rewrites whenever 20 % are dead, each beside a graph that is built afresh.
//! `--tuned` tunes prefetching to this machine and compares it with the defaults, in turns.
//!
//! `DIR` holds a `meta.json` that names its files: row-major little-endian `base` and `query` (gzipped where the name
//! ends in `.gz`), `dtype` f16, f32 or u8, `metric` cosine or euclid, and `groundtruth`, i32 rows of the
//! `groundtruth_k` nearest. Recall counts a hit by distance, so ties at the k-th place are hits.
//!
//! Times are processor times where the system reports them (Linux), so that other work on the machine disturbs them
//! less.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use kithdb_bench::flags::Flags;
use kithdb_bench::quantile::median;
use kithdb_engine::arena::{RowArena, RowTable};
use kithdb_engine::index::fetch::FetchTable;
use kithdb_engine::index::tuning::Measurement;
use kithdb_engine::index::{
    BuildScratch, Candidate, Codes, Distance, Hnsw, HnswParams, Originals, TopK, WalkParams, WalkScratch,
    flat,
};
use kithdb_engine::types::{Metric, Row, RowRange};
use kithdb_engine::vectors::{CodeParams, CodeQuery, CodeTable, Encoder, RowFormat};

const K: usize = 10;

/// The churn rewrites the graph when the number of nodes divided by this is dead.
const REWRITE_DIVISOR: u32 = 5;

struct DataSet {
    name: String,
    dim: usize,
    metric: Metric,
    rows: RowTable,
    queries: Vec<Vec<f32>>,
    /// Distance of the k-th nearest row, by query.
    kth: Vec<f32>,
}

struct Options {
    dir: String,
    threads: usize,
    params: HnswParams,
    bits: Option<u8>,
    rerank: usize,
    efs: Vec<usize>,
    churn: bool,
    tuned: bool,
}

impl Options {
    fn parse() -> Result<Options, Box<dyn Error>> {
        let mut flags = Flags::of_this_process();
        let usual = HnswParams { m: 16, ef_construct: 200, seed: 1 };
        let dir = flags.first("the folder of a data set")?;
        let bits = match flags.value("mode", "codes".to_string())?.as_str() {
            "codes" => Some(flags.value("bits", 8)?),
            "f32" => None,
            other => return Err(format!("unknown mode {other}").into()),
        };
        let options = Options {
            dir,
            threads: flags.value("threads", 1)?,
            params: HnswParams {
                m: flags.value("m", usual.m)?,
                ef_construct: flags.value("ef-construct", usual.ef_construct)?,
                ..usual
            },
            bits,
            rerank: flags.value("rerank", 40)?,
            efs: flags.list("ef", vec![10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512])?,
            churn: flags.is_given("churn"),
            tuned: flags.is_given("tuned"),
        };
        flags.finish()?;
        Ok(options)
    }
}

/// A graph and its codes, if it has any.
struct Index<'a> {
    data: &'a DataSet,
    graph: Hnsw,
    codes: Option<(Encoder, CodeTable)>,
}

/// The memory of a search.
#[derive(Default)]
struct Scratch {
    search: WalkScratch,
    vector: Vec<f32>,
    code: CodeQuery,
    ranked: Vec<(f32, u32)>,
}

impl<'a> Index<'a> {
    fn empty(data: &'a DataSet, options: &Options) -> Index<'a> {
        let codes = options.bits.map(|bits| {
            let step = (data.rows.len() as usize / 1000).max(1);
            let sample: Vec<Vec<f32>> =
                (0..data.rows.len()).step_by(step).map(|row| data.vector(row)).collect();
            let params = CodeParams { bits, ..CodeParams::default() };
            let encoder = Encoder::train(data.metric, data.dim, params, &sample, 1);
            let table = CodeTable::new(&encoder);
            (encoder, table)
        });
        Index { data, graph: Hnsw::new(options.params), codes }
    }

    fn originals(&self) -> Originals<'_> {
        Originals::new(&self.data.rows, self.data.distance(), self.data.dim, &self.graph)
    }

    /// Inserts rows on some threads, and returns the seconds that these were on a core, together.
    fn insert(&self, rows: impl Iterator<Item = u32> + Clone + Send, threads: usize) -> f64 {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|thread| {
                    let rows = rows.clone().skip(thread).step_by(threads);
                    scope.spawn(|| self.insert_here(rows))
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker")).sum()
        })
    }

    /// Inserts rows, and returns the seconds on a core.
    fn insert_here(&self, rows: impl Iterator<Item = u32>) -> f64 {
        let start = busy_seconds();
        match &self.codes {
            Some((encoder, table)) => {
                let (mut scratch, mut query) = (BuildScratch::new(), CodeQuery::default());
                for row in rows {
                    let slot = self.graph.allocate(Row::new(row));
                    table.fill(slot.node(), encoder, &self.data.vector(row), &mut query);
                    self.graph.insert(&Codes::new(table), slot, &query, &mut scratch);
                }
            }
            None => {
                let mut scratch = BuildScratch::new();
                for row in rows {
                    let slot = self.graph.allocate(Row::new(row));
                    self.graph.insert(&self.originals(), slot, &self.data.vector(row), &mut scratch);
                }
            }
        }
        busy_seconds() - start
    }

    /// The nearest accepted rows, best first, and their exact distances.
    fn search(
        &self,
        query: &[f32],
        walk: &WalkParams,
        rerank: usize,
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Vec<(f32, u32)> {
        let accept = |node| accept(self.graph.row_of(node).get());
        let row = |c: &Candidate| (c.distance(), self.graph.row_of(c.node()).get());
        let Scratch { search, vector, code, ranked } = scratch;
        vector.clear();
        vector.extend_from_slice(query);
        let Some((encoder, table)) = &self.codes else {
            let found = self.graph.walk(&self.originals(), vector, walk, &accept, search, &|| false);
            return found.expect("nothing stops it").iter().take(K).map(row).collect();
        };
        encoder.query(query, code);
        let found = self.graph.walk(&Codes::new(table), code, walk, &accept, search, &|| false);
        ranked.clear();
        ranked.extend(found.expect("nothing stops it").iter().take(rerank.max(K)).map(row));
        if rerank > 0 {
            let (rows, distance) = (&self.data.rows, self.data.distance());
            ranked.iter().for_each(|&(_, row)| kithdb_kernels::prefetch_l2(rows.row(row)));
            ranked.iter_mut().for_each(|(d, row)| *d = distance.one(vector, rows.row(*row)));
            ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        ranked.iter().take(K).copied().collect()
    }

    /// The graph without some rows.
    fn rewritten(self, keep: impl Fn(u32) -> bool, threads: usize) -> Index<'a> {
        let keep = |node| keep(self.graph.row_of(node).get());
        let rewritten = match &self.codes {
            Some((_, table)) => self.graph.rewrite(&Codes::new(table), &keep, threads, &|| false),
            None => self.graph.rewrite(&self.originals(), &keep, threads, &|| false),
        };
        let (graph, old) = rewritten.expect("nothing stops it");
        let codes = self.codes.map(|(encoder, before)| {
            let table = CodeTable::new(&encoder);
            graph.all_nodes().zip(old).for_each(|(node, old)| table.copy_node(&before, old, node));
            (encoder, table)
        });
        Index { data: self.data, graph, codes }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse()?;
    let data = load(Path::new(&options.dir))?;
    println!("{}: {} rows × {}, {} queries", data.name, data.rows.len(), data.dim, data.queries.len());
    let index = Index::empty(&data, &options);
    let start = Instant::now();
    let busy = index.insert(0..data.rows.len(), options.threads);
    println!(
        "build: {:.1} s, {:.0} rows a core second on {} threads; {:.0} bytes of links a row; {} rows unreachable",
        start.elapsed().as_secs_f64(),
        f64::from(data.rows.len()) / busy,
        options.threads,
        index.graph.memory_bytes() as f64 / f64::from(data.rows.len()),
        index.graph.unreachable().len(),
    );
    exact(&data);
    measure("built", &index, &options, &data.kth, &|_| true);
    let start = Instant::now();
    let index = index.rewritten(|_| true, options.threads);
    println!("rewritten in {:.2} s", start.elapsed().as_secs_f64());
    measure("rewritten", &index, &options, &data.kth, &|_| true);
    if options.tuned {
        compare_fetching(&index, &options);
    }
    if options.churn {
        churn(index, &options);
    }
    Ok(())
}

/// The scan that everything is compared with.
fn exact(data: &DataSet) {
    let queries = &data.queries[..data.queries.len().min(100)];
    let start = Instant::now();
    for query in queries {
        let mut top = TopK::new(K, |a: Row, b: Row| a.cmp(&b));
        let rows = RowRange::of_len(Row::FIRST, data.rows.len());
        flat::scan_range(&data.rows, data.distance(), query, rows, &|_| true, &mut top, &|| false)
            .expect("nothing stops it");
        std::hint::black_box(top.into_sorted());
    }
    println!("exact: {:.0} queries/s", queries.len() as f64 / start.elapsed().as_secs_f64());
}

/// Recall after half of the rows died, and after all rows were replaced once.
fn churn(index: Index, options: &Options) {
    let data = index.data;
    let count = data.rows.len();
    let mix = |row: u32| row.wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    let is_live = |row: u32| mix(row) >> 31 == 0;
    let kth = data.kth_of(is_live);
    measure("half dead", &index, options, &kth, &is_live);
    let start = Instant::now();
    let half = index.rewritten(is_live, options.threads);
    println!(
        "rewritten in {:.2} s, {} unreachable",
        start.elapsed().as_secs_f64(),
        half.graph.unreachable().len()
    );
    measure("half left", &half, options, &kth, &is_live);
    let fresh = Index::empty(data, options);
    fresh.insert((0..count).filter(|&row| is_live(row)), options.threads);
    measure("half, built afresh", &fresh, options, &kth, &is_live);
    drop((half, fresh));

    // Rows of one half take the places of the other half, in random order.
    let (mut first, second): (Vec<u32>, Vec<u32>) = (0..count).partition(|&row| is_live(row));
    first.sort_by_key(|&row| mix(!row));
    let mut index = Index::empty(data, options);
    index.insert(first.iter().copied(), options.threads);
    let mut is_dead = vec![false; count as usize];
    let (mut dead, mut rewrites) = (0, 0);
    let mut born = second.iter().copied();
    first.sort_by_key(|&row| mix(row ^ 0x5555_5555));
    let step = (count as usize / 200).max(1);
    for dying in first.chunks(step) {
        dying.iter().for_each(|&row| is_dead[row as usize] = true);
        dead += dying.len() as u32;
        index.insert(born.by_ref().take(step).collect::<Vec<u32>>().into_iter(), options.threads);
        if dead * REWRITE_DIVISOR >= index.graph.len() {
            index = index.rewritten(|row| !is_dead[row as usize], options.threads);
            (dead, rewrites) = (0, rewrites + 1);
        }
    }
    index.insert(born.collect::<Vec<u32>>().into_iter(), options.threads);
    let is_live = |row: u32| !is_dead[row as usize];
    let kth = data.kth_of(is_live);
    println!("{rewrites} rewrites, {dead} dead, {} unreachable", index.graph.unreachable().len());
    measure("all replaced", &index, options, &kth, &is_live);
    let fresh = Index::empty(data, options);
    fresh.insert(second.iter().copied(), options.threads);
    measure("built afresh", &fresh, options, &kth, &is_live);
}

/// Recall, and the best rate of three rounds after a first one.
fn measure(name: &str, index: &Index, options: &Options, kth: &[f32], accept: &impl Fn(u32) -> bool) {
    let queries = &index.data.queries;
    let mut scratch = Scratch::default();
    for &ef in &options.efs {
        let walk = WalkParams::wide(ef);
        let mut search = |query: &[f32]| index.search(query, &walk, options.rerank, accept, &mut scratch);
        let mut hits = 0;
        for (query, &kth) in queries.iter().zip(kth) {
            hits += search(query).iter().filter(|&&(distance, _)| distance <= kth).count();
        }
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let start = busy_seconds();
            for query in queries {
                std::hint::black_box(search(query));
            }
            best = best.min(busy_seconds() - start);
        }
        let count = queries.len() as f64;
        let recall = hits as f64 / (count * K as f64);
        println!("{name}, ef {ef}: recall@{K} {recall:.4}, {:.0} queries/s", count / best);
    }
}

/// Measured prefetching ÷ the default, in turns: the median of the ratios.
fn compare_fetching(index: &Index, options: &Options) {
    let start = Instant::now();
    let measured = Measurement::take(Measurement::BUDGET, &AtomicBool::new(false));
    println!("fetching measured in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    for (row_bytes, medians) in measured.medians() {
        let times = medians
            .iter()
            .map(|(fetch, ns)| format!("{:?}/{}/{} {ns:.0}", fetch.hint, fetch.rows, fetch.lines));
        println!("  {row_bytes} bytes, ns a row: {}", times.collect::<Vec<_>>().join(", "));
    }
    let Some(tuned) = measured.table() else {
        println!("too little time to tell: the machine is busy");
        return;
    };
    print!("{}", tuned.to_text());
    let mut scratch = Scratch::default();
    for &ef in &options.efs {
        let walk = WalkParams::wide(ef);
        let mut seconds = |table: &FetchTable| {
            table.install();
            let start = busy_seconds();
            for query in &index.data.queries {
                std::hint::black_box(index.search(query, &walk, options.rerank, |_| true, &mut scratch));
            }
            busy_seconds() - start
        };
        let ratios: Vec<f64> = (0..9).map(|_| seconds(&FetchTable::default()) / seconds(&tuned)).collect();
        println!("ef {ef}: tuned is {:.3} times as fast as usual", median(&ratios));
    }
    FetchTable::default().install();
}

/// Seconds that this thread was on a core, or seconds since its first call where the system does not report it.
fn busy_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()) {
        Some(nanos) => nanos / 1e9,
        None => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}

impl DataSet {
    fn distance(&self) -> Distance {
        Distance::of(self.metric, RowFormat::F32)
    }

    fn vector(&self, row: u32) -> Vec<f32> {
        let mut vector = Vec::with_capacity(self.dim);
        RowFormat::F32.decode(self.rows.row(row), self.dim, &mut vector);
        vector
    }

    /// Distance of the k-th nearest accepted row, by query.
    fn kth_of(&self, accept: impl Fn(u32) -> bool) -> Vec<f32> {
        let kth = |query: &Vec<f32>| {
            let mut top = TopK::new(K, |a: Row, b: Row| a.cmp(&b));
            let rows = RowRange::of_len(Row::FIRST, self.rows.len());
            let accept = |row: Row| accept(row.get());
            flat::scan_range(&self.rows, self.distance(), query, rows, &accept, &mut top, &|| false)
                .expect("nothing stops it");
            top.into_sorted().last().map_or(f32::MIN, |last| last.0)
        };
        self.queries.iter().map(kth).collect()
    }
}

fn load(dir: &Path) -> Result<DataSet, Box<dyn Error>> {
    let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("meta.json"))?)?;
    let text = |key: &str| meta[key].as_str().map(str::to_owned).ok_or(format!("meta.json lacks {key}"));
    let number = |key: &str| meta[key].as_u64().map(|n| n as usize).ok_or(format!("meta.json lacks {key}"));
    let set = kithdb_bench::data_set::DataSet::load(dir)?;
    let metric = match set.metric {
        "Cosine" => Metric::Cosine,
        "Euclid" => Metric::Euclid,
        other => return Err(format!("unknown metric {other}").into()),
    };
    let dim = number("dims")?;
    let mut arena = RowArena::new(RowFormat::F32.row_bytes(dim));
    let mut bytes = Vec::new();
    for row in &set.base {
        bytes.clear();
        RowFormat::F32.encode(row, &mut bytes);
        arena.push(&bytes);
    }
    let rows = arena.table();
    let queries = set.queries;
    let truth = kithdb_bench::data_set::read(&dir.join(text("groundtruth")?))?;
    let truth: Vec<u32> = truth.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
    let nearest = truth.chunks_exact(number("groundtruth_k")?);
    let distance = Distance::of(metric, RowFormat::F32);
    let kth = queries.iter().zip(nearest).map(|(query, near)| distance.one(query, rows.row(near[K - 1])));
    Ok(DataSet { name: set.name, dim, metric, kth: kth.collect(), rows, queries })
}
