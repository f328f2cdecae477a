//! The thread that keeps the HNSW graph of a project up to date: it loads the graph, adds rows, calibrates the search
//! breadth and saves snapshots. Only this thread adds rows. Searches scan the rows that are not in the graph yet.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use half::bf16;

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::hit::Hit;
use crate::vectors::hnsw::{HnswGraph, HnswSnapshot, LogIdentity, delete_snapshot};
use crate::vectors::searcher::{ReadyGraph, Searcher};

/// Values of `ef` (search breadth) that calibration tries, smallest first.
const EF_STEPS: [usize; 8] = [400, 600, 800, 1_200, 1_600, 2_400, 3_200, 4_800];
/// Minimum recall@10, relative to an int8 scan of all rows, of the `ef` that calibration chooses. Mneme promises a
/// recall of .99; the rest is a margin for sampling error.
const CALIBRATION_RECALL: f64 = 0.993;
const CALIBRATION_QUERIES: usize = 100;
/// Cosine similarity of a calibration query to the stored vector that it is made from by adding noise. It is low,
/// because real questions are about as far from their best passages, and recall is overestimated with closer queries.
/// At 132,000 passages, an `ef` with a recall of .993 for mixtures of stored vectors had only .856 for questions about
/// another subject (docs/measurements.md, "HNSW").
const CALIBRATION_COSINE: f32 = 0.25;
const CALIBRATION_HITS: usize = 10;
/// A graph is calibrated again when the number of its rows has grown by this factor.
const CALIBRATION_GROWTH: f64 = 1.25;
/// Number of rows that are added as a batch. The lock on the rows is held only while the rows of a batch are looked up.
const BATCH_ROWS: usize = 256;
/// Minimum number of new rows after which a snapshot is saved; for a large graph it is a tenth of its rows. Rows after
/// the last snapshot are added again when the index is opened, at 3,700 per second, so this takes seconds.
const SNAPSHOT_ROWS_MIN: usize = 20_000;

/// Starts the builder thread. It ends when the index closes.
pub(crate) fn start(searcher: Arc<Searcher>, snapshot: HnswSnapshot) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("mneme-hnsw".to_owned())
        .spawn(move || {
            let mut build = load(&searcher, snapshot);
            while searcher.wait_for_changes() {
                // After an error, the graph is dropped and searches scan all rows. The next change starts a new graph.
                if catch_up(&searcher, &mut build).is_err() {
                    searcher.set_ready_graph(None);
                    build = None;
                }
            }
        })
        .map_err(|cause| Error::from_io("starting the HNSW builder thread", &cause))
}

/// The graph that the thread builds, for one epoch of the log.
struct Build {
    graph: Arc<HnswGraph>,
    identity: LogIdentity,
    /// Value of `covered_rows` at the last snapshot.
    rows_when_saved: usize,
    /// Value of `covered_rows` at the last calibration.
    rows_when_calibrated: usize,
}

impl Build {
    fn new(graph: HnswGraph, identity: LogIdentity) -> Build {
        Build { rows_when_saved: graph.covered_rows(), rows_when_calibrated: 0, graph: Arc::new(graph), identity }
    }
}

/// Loads the snapshot if it is valid.
fn load(searcher: &Searcher, snapshot: HnswSnapshot) -> Option<Build> {
    let HnswSnapshot::Valid { covered_rows } = snapshot else { return None };
    let identity = searcher.rows().identity.clone();
    // A snapshot with a correct checksum that nevertheless cannot be loaded is treated like a missing one.
    let graph = HnswGraph::load_snapshot(&searcher.options.directory, &identity, covered_rows).ok()?;
    Some(Build::new(graph, identity))
}

/// Adds all rows that are missing in the graph, then calibrates it and saves a snapshot, each if due. Starts a new
/// graph if a compaction has renumbered the rows, or as soon as there are enough chunks for a graph.
fn catch_up(searcher: &Searcher, build: &mut Option<Build>) -> Result<()> {
    let (identity, live_count) = {
        let rows = searcher.rows();
        (rows.identity.clone(), rows.table.live_count())
    };
    if build.as_ref().is_some_and(|build| build.identity != identity) {
        searcher.set_ready_graph(None);
        let _unchecked = searcher.saving.lock().unwrap_or_else(PoisonError::into_inner);
        delete_snapshot(&searcher.options.directory);
        *build = None;
    }
    if build.is_none() && live_count > searcher.options.hnsw_min_chunks {
        *build = Some(Build::new(HnswGraph::new(identity.dimensions)?, identity));
        searcher.has_erased_rows.store(false, Ordering::Release); // only live rows are added to the new graph
    }
    let Some(build) = build else { return Ok(()) };
    while !searcher.is_closing() {
        if add_batch(searcher, build)? {
            continue;
        }
        calibrate_if_due(searcher, build)?;
        save_if_due(searcher, build);
        return Ok(());
    }
    Ok(())
}

/// Adds the next batch of rows to the graph. Returns false if no rows are missing.
fn add_batch(searcher: &Searcher, build: &Build) -> Result<bool> {
    let covered = build.graph.covered_rows();
    let (live, end, reader) = {
        let rows = searcher.rows();
        if rows.identity != build.identity || covered >= rows.table.len() {
            return Ok(false);
        }
        let end = rows.table.len().min(covered + BATCH_ROWS);
        let is_live = |row: &u32| rows.table.is_live(*row);
        let live: Vec<(u32, u64)> =
            (covered as u32..end as u32).filter(is_live).map(|row| (row, rows.table.origin(row).record)).collect();
        (live, end, rows.reader.clone())
    };
    let mut vector: Vec<bf16> = Vec::new();
    for (row, record) in live {
        match reader.read(record, &mut vector) {
            Ok(()) => build.graph.add(row, &vector)?,
            // The row of a damaged record is left out, so that one damaged record does not prevent the whole graph.
            Err(Error::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    build.graph.set_covered_rows(end);
    Ok(true)
}

/// If the graph has grown enough since the last calibration, measures its recall with noisy queries. Then makes the
/// graph available to searches, with the smallest `ef` whose recall suffices. If no `ef` suffices, makes it
/// unavailable.
fn calibrate_if_due(searcher: &Searcher, build: &mut Build) -> Result<()> {
    let covered = build.graph.covered_rows();
    if (covered as f64) < build.rows_when_calibrated as f64 * CALIBRATION_GROWTH {
        return Ok(());
    }
    let (queries, all_memories) = calibration_queries(searcher)?;
    let mut ready = ReadyGraph { graph: Arc::clone(&build.graph), epoch: build.identity.epoch, ef: 0 };
    let exact: Vec<Vec<Hit>> = queries
        .iter()
        .map(|query| searcher.search_by_scan(query, &all_memories, CALIBRATION_HITS))
        .collect::<Result<_>>()?;
    for ef in EF_STEPS {
        ready.ef = ef;
        let mut found = 0;
        for (query, exact) in queries.iter().zip(&exact) {
            let hits = searcher.search_by_graph(query, &all_memories, CALIBRATION_HITS, &ready)?;
            found += count_common(&exact[..CALIBRATION_HITS.min(exact.len())], &hits);
        }
        let wanted: usize = exact.iter().map(|hits| hits.len().min(CALIBRATION_HITS)).sum();
        if found as f64 >= wanted as f64 * CALIBRATION_RECALL {
            searcher.set_ready_graph(Some(ready));
            build.rows_when_calibrated = covered;
            return Ok(());
        }
    }
    searcher.set_ready_graph(None);
    build.rows_when_calibrated = covered;
    Ok(())
}

/// Number of hits in `exact` that are among the first `CALIBRATION_HITS` of `hits`.
fn count_common(exact: &[Hit], hits: &[Hit]) -> usize {
    let hits = &hits[..CALIBRATION_HITS.min(hits.len())];
    exact.iter().filter(|wanted| hits.iter().any(|hit| hit.chunk_key == wanted.chunk_key)).count()
}

/// Returns the calibration queries, and the set of all memories. The queries are made by adding noise to stored vectors
/// of live rows, which are chosen at even distances in the table of rows.
fn calibration_queries(searcher: &Searcher) -> Result<(Vec<Vec<f32>>, MemorySet)> {
    let rows = searcher.rows();
    let live: Vec<u32> = rows.table.live_rows().collect();
    let mut all_memories = MemorySet::default();
    live.iter().for_each(|row| all_memories.insert(rows.table.origin(*row).ordinal));
    let step = (live.len() / CALIBRATION_QUERIES).max(1);
    let records: Vec<u64> = live.iter().step_by(step).map(|row| rows.table.origin(*row).record).collect();
    let reader = rows.reader.clone();
    drop(rows);
    let (mut vectors, mut vector) = (Vec::new(), Vec::new());
    for record in records {
        if reader.read(record, &mut vector).is_ok() {
            vectors.push(vector.iter().map(|component| component.to_f32()).collect::<Vec<f32>>());
        }
    }
    let mut noise = Noise(CALIBRATION_SEED);
    let noise_share = (1.0 - CALIBRATION_COSINE * CALIBRATION_COSINE).sqrt();
    let queries = vectors.into_iter().map(|vector| {
        let direction = normalised((0..vector.len()).map(|_| noise.next()).collect());
        let components = vector.iter().zip(direction);
        normalised(components.map(|(stored, noise)| CALIBRATION_COSINE * stored + noise_share * noise).collect())
    });
    Ok((queries.collect(), all_memories))
}

/// The vector scaled to unit length.
fn normalised(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.into_iter().map(|x| x / length).collect()
}

/// A generator of approximately normal random numbers with mean 0: each is the sum of four uniform numbers from
/// SplitMix64 (Steele, Lea and Flood 2014). It gives the same numbers in every run.
struct Noise(u64);

/// The seed of the noise. Any number would do; it is fixed, so that a calibration can be repeated.
const CALIBRATION_SEED: u64 = 1;

impl Noise {
    fn next(&mut self) -> f32 {
        (0..4).map(|_| self.uniform() - 0.5).sum()
    }

    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// Saves a snapshot if enough rows were added since the last one.
fn save_if_due(searcher: &Searcher, build: &mut Build) {
    let covered = build.graph.covered_rows();
    let due_after = SNAPSHOT_ROWS_MIN.max(covered / 10);
    if build.rows_when_saved > 0 && covered < build.rows_when_saved + due_after {
        return;
    }
    // An error is ignored (for example a full disk), because a snapshot only saves work at the next opening. The next
    // snapshot that is due tries again.
    let _unchecked = searcher.saving.lock().unwrap_or_else(PoisonError::into_inner);
    if searcher.has_erased_rows.load(Ordering::Acquire) || searcher.rows().identity != build.identity {
        return;
    }
    let _ = build.graph.save_snapshot(&searcher.options.directory, &build.identity);
    build.rows_when_saved = covered;
}
