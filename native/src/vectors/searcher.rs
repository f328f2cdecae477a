//! Searches the vectors of one index: scans the rows of a set or walks through the graph, and rescores the result.
//! `index` changes the rows, and `graph` adds rows to the graph.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use half::bf16;

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::filters::memory_table::MemoryTable;
use crate::hit::{Hit, keep_best};
use crate::vectors::graph::hnsw::Graph;
use crate::vectors::graph::limits::GraphLimits;
use crate::vectors::graph::walk::Reach;
use crate::vectors::kernels;
use crate::vectors::log::{VectorLog, VectorReader};
use crate::vectors::resident_vectors::MemoryBudget;
use crate::vectors::row_set::RowSet;
use crate::vectors::row_table::{RowOrigin, RowTable};
use crate::vectors::scan_threads::ScanThreads;

/// Options of a vector index.
#[derive(Debug, Clone)]
pub struct VectorOptions {
    /// The folder of the index. It is created if it does not exist.
    pub directory: PathBuf,
    /// Number of components of a vector.
    pub dimensions: usize,
    /// Fingerprint of the embedding model.
    pub fingerprint: String,
    /// Limits the copies of vectors in memory.
    pub resident_vectors: &'static MemoryBudget,
    /// When a graph is built and saved.
    pub graph_limits: GraphLimits,
}

/// Minimum number of rows that are rescored with bf16 vectors in addition to the number of wanted hits.
const RESCORE_EXTRA_MIN: usize = 90;
/// Number of rows that are rescored in addition for each wanted hit, if that is more. With both values, quantisation
/// to four bits lost at most 0.3 % of the true 10/30/200 nearest, also for a model whose vectors have much in common
/// (docs/measurements.md, "4 bits per component").
const RESCORE_EXTRA_PER_WANTED: usize = 2;

/// Number of chunks for which a scan of the whole project takes as long as a walk: with binary codes, and without them
/// (docs/decisions/106-vector-graph.md).
const WALK_CHUNKS: [f64; 2] = [700_000.0, 120_000.0];
/// If at least this share of the chunks is admissible, the graph is searched even if a scan would be faster.
const WALK_SHARE_MAX: f64 = 0.5;
/// A walk that has compared one in this many rows has taken as long as a scan. It is stopped, and a scan is made
/// instead.
const WALK_SEEN_DIVISOR: usize = 8;
/// Minimum number of rows that a walk may compare.
const WALK_SEEN_MIN: usize = 32_768;

/// Number of vectors between the one that is visited and the one that is prefetched into the cache. The hardware cannot
/// predict which row is next. Four vectors of 384 dimensions are 48 cache lines.
const PREFETCH_VECTORS: usize = 4;

/// The state that searches and changes share.
#[derive(Debug)]
pub(crate) struct Searcher {
    pub(crate) options: VectorOptions,
    pub(super) memory_table: Arc<MemoryTable>,
    pub(super) rows: RwLock<Rows>,
    /// Number of records of the log. It and `log_bytes` are copies, so that statistics need not wait for a write.
    pub(super) log_records: AtomicU64,
    pub(super) log_bytes: AtomicU64,
    /// Number of searches that the graph has answered.
    pub(super) graph_searches: AtomicU64,
}

/// The rows of the vector log, and the reader of their vectors. They belong to each other: a compaction replaces both.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Number of records that were skipped as damaged when the log was opened.
    pub(crate) damaged_records: u64,
    pub(crate) reader: VectorReader,
    pub(crate) table: RowTable,
    /// Number that the log got when it was created or compacted.
    pub(crate) epoch: u64,
    /// The graph of the first rows, while one is wanted. A compaction replaces it as well.
    pub(crate) graph: Option<Arc<Graph>>,
}

impl Searcher {
    /// The chunks of a set with the highest cosine similarity to a query, best first. The similarities are exact.
    /// Returns more than `limit` hits if possible, because memories may be hidden before the caller uses the hits.
    pub(super) fn search(&self, query: &[f32], set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let extra = RESCORE_EXTRA_MIN.max(limit.saturating_mul(RESCORE_EXTRA_PER_WANTED));
        let rows_wanted = limit.saturating_add(extra);
        let found = match walk(&rows, query, set, rows_wanted, self.options.graph_limits.walk_wanted_min) {
            Some(found) => {
                self.graph_searches.fetch_add(1, Ordering::Relaxed);
                found
            }
            None => {
                let threads = ScanThreads::for_rows(rows.table.len());
                rows.table.search(query, &rows.table.rows_of_set(set, &threads), rows_wanted, &threads)
            }
        };
        rescore(rows, query, &found, rows_wanted)
    }

    pub(crate) fn rows(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn rows_mut(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the copied size of the log. Must be called after every change of the rows.
    pub(super) fn note_change(&self, log: &VectorLog) {
        self.log_records.store(log.records(), Ordering::Relaxed);
        self.log_bytes.store(log.bytes(), Ordering::Relaxed);
    }
}

/// Searches the graph, and scans the rows that it does not have yet. Returns the rows to rescore; `None` if there is no
/// graph, or if a scan of the whole set is faster or finds more.
fn walk(rows: &Rows, query: &[f32], set: &MemorySet, wanted: usize, walk_wanted_min: usize) -> Option<Vec<u32>> {
    let Rows { table, graph, .. } = rows;
    let graph = graph.as_ref().filter(|graph| graph.is_complete())?;
    // Rows that are added from here on are scanned, even if the walk finds them.
    let graph_rows = graph.len();
    let admissible = table.live_count() as f64 * set.len() as f64 / table.memory_count().max(1) as f64;
    let is_narrow = admissible < table.live_count() as f64 * WALK_SHARE_MAX.min(walk_share(table));
    if is_narrow {
        return None;
    }
    let reach = Reach {
        wanted: wanted.max(walk_wanted_min),
        seen_max: (table.live_count() / WALK_SEEN_DIVISOR).max(WALK_SEEN_MIN),
    };
    let found = table.with_vectors(|vectors| {
        graph.search(vectors, query, reach, |row| row < graph_rows && set.contains(table.origin(row).ordinal))
    });
    if !found.has_ended || found.rows.len() < wanted {
        return None;
    }
    let mut found = found.rows;
    found.truncate(wanted);
    let rest = graph_rows..table.len() as u32;
    if !rest.is_empty() {
        let threads = ScanThreads::for_rows(rest.len());
        let rest: RowSet = rest.filter(|row| set.contains(table.origin(*row).ordinal)).collect();
        found.extend(table.search(query, &rest, wanted, &threads));
    }
    Some(found)
}

/// The share of admissible chunks at which a walk and a scan take the same time. A walk also goes through rows that are
/// not admitted, so its time is inversely proportional to the share. The time of a scan is proportional to it.
fn walk_share(table: &RowTable) -> f64 {
    let [with_codes, without_codes] = WALK_CHUNKS;
    let walk_chunks = if table.uses_codes() { with_codes } else { without_codes };
    (walk_chunks / table.live_count().max(1) as f64).sqrt()
}

/// Rescoring: computes the exact cosine similarities of the found rows from their bf16 vectors, and keeps the best
/// `limit`. A row whose record is damaged is left out; otherwise every search that finds it would fail. The damage is
/// reported the next time that the index is opened.
fn rescore(rows: RwLockReadGuard<'_, Rows>, query: &[f32], found: &[u32], limit: usize) -> Result<Vec<Hit>> {
    let origins: Vec<RowOrigin> = found.iter().map(|row| rows.table.origin(*row)).collect();
    let mut hits = Vec::with_capacity(origins.len());
    for_each_vector(rows, found.iter().map(|row| Some(*row)), |at, vector| {
        let RowOrigin { chunk_key, ordinal, .. } = origins[at];
        hits.extend(vector.map(|vector| Hit { chunk_key, ordinal, score: kernels::cosine(query, vector) }));
    })?;
    keep_best(&mut hits, limit);
    Ok(hits)
}

/// Calls `visit(position, vector)` for each of the wanted rows, in their order, with the bf16 vector `[dimensions]`;
/// `None` if the row is `None` or its record is damaged. Without copies in memory, reads the log once per row. Releases
/// the lock on the rows before that, so that no change waits for the disk. If a compaction replaces the log meanwhile,
/// the reader still reads the old file.
pub(super) fn for_each_vector(
    rows: RwLockReadGuard<'_, Rows>,
    wanted: impl Iterator<Item = Option<u32>>,
    mut visit: impl FnMut(usize, Option<&[bf16]>),
) -> Result<()> {
    if let Some(resident) = rows.table.resident() {
        let vectors: Vec<Option<&[bf16]>> = wanted.map(|row| row.map(|row| resident.vector(row))).collect();
        for (at, vector) in vectors.iter().enumerate() {
            if let Some(Some(later)) = vectors.get(at + PREFETCH_VECTORS) {
                kernels::prefetch_vector(later);
            }
            visit(at, *vector);
        }
        return Ok(());
    }
    let records: Vec<Option<u64>> = wanted.map(|row| Some(rows.table.origin(row?).record)).collect();
    let reader = rows.reader.clone();
    drop(rows);
    let mut vector = Vec::new();
    for (at, record) in records.into_iter().enumerate() {
        match record.map(|record| reader.read(record, &mut vector)) {
            Some(Ok(())) => visit(at, Some(&vector)),
            None | Some(Err(Error::Damaged(_))) => visit(at, None),
            Some(Err(other)) => return Err(other),
        }
    }
    Ok(())
}
