//! Searches the vectors of one index: chooses between a scan and the HNSW graph, and rescores the result. `index`
//! changes the rows, and `hnsw_builder` changes the graph.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::filters::memory_table::MemoryTable;
use crate::hit::{Hit, keep_best};
use crate::vectors::hnsw::{HnswGraph, LogIdentity};
use crate::vectors::kernels;
use crate::vectors::log::{VectorLog, VectorReader};
use crate::vectors::row_set::RowSet;
use crate::vectors::row_table::{RowOrigin, RowTable};

/// Options of a vector index.
#[derive(Debug, Clone)]
pub struct VectorOptions {
    /// The folder of the index. It is created if it does not exist.
    pub directory: PathBuf,
    /// Number of components of a vector.
    pub dimensions: usize,
    /// Fingerprint of the embedding model.
    pub fingerprint: String,
    /// Maximum number of admissible chunks for which a search scans instead of using the HNSW graph.
    pub hnsw_min_chunks: usize,
}

/// Minimum number of rows that are rescored with bf16 vectors in addition to the number of wanted hits. Rescoring 40
/// rows for 10 hits lost none of the nearest vectors (docs/measurements.md, "int8 scan").
const RESCORE_EXTRA_MIN: usize = 30;
/// For a large number of wanted hits, the number of additional rows is that number divided by this.
const RESCORE_EXTRA_DIVISOR: usize = 4;
/// The HNSW graph is used only if at least this share of the chunks is admissible. With a smaller share, the graph
/// search would visit so many rows that are not admissible that the scan is faster (docs/measurements.md, "HNSW").
const HNSW_ADMISSIBLE_SHARE_MIN: f64 = 0.3;

/// The state that searches, changes and the HNSW builder thread share.
#[derive(Debug)]
pub(crate) struct Searcher {
    pub(crate) options: VectorOptions,
    pub(super) memory_table: Arc<MemoryTable>,
    pub(super) rows: RwLock<Rows>,
    /// The HNSW graph that searches may use, with the `ef` that its calibration chose; `None` until one was built and
    /// calibrated.
    pub(super) graph: RwLock<Option<ReadyGraph>>,
    /// Held while the snapshot and its sidecar are replaced, so that a check sees files that belong together.
    pub(super) saving: Mutex<()>,
    /// Whether the graph in memory may have vectors that were erased from the files. Then it is not saved.
    pub(super) has_erased_rows: AtomicBool,
    pub(super) work: Mutex<BuilderWork>,
    pub(super) work_changed: Condvar,
    /// Number of records and of bytes of the log. They are copied here, so that statistics need not wait for a write.
    pub(super) log_records: AtomicU64,
    pub(super) log_bytes: AtomicU64,
}

/// The events that the HNSW builder thread waits for.
#[derive(Debug, Default)]
pub(super) struct BuilderWork {
    /// Whether rows have changed since the builder thread last checked.
    pub(super) has_changes: bool,
    pub(super) is_closing: bool,
}

/// The rows of the vector log, and the reader of their vectors. They belong to one epoch of the log: compaction begins
/// a new epoch, in which rows have other numbers.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) identity: LogIdentity,
    pub(crate) reader: VectorReader,
    pub(crate) table: RowTable,
}

/// An HNSW graph with the `ef` that its calibration chose. It is valid for the rows of one epoch of the log only.
#[derive(Debug, Clone)]
pub(crate) struct ReadyGraph {
    pub(crate) graph: Arc<HnswGraph>,
    pub(crate) epoch: u64,
    /// Search breadth (ef) that calibration chose.
    pub(crate) ef: usize,
}

impl Searcher {
    /// The chunks of a set with the highest cosine similarity to a query, best first. The similarities are exact.
    /// Returns more than `limit` hits if possible, because memories may be hidden before the caller uses the hits.
    pub(super) fn search(&self, query: &[f32], set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let rows_wanted = rescore_count(limit);
        let ready = self.ready_graph().filter(|ready| ready.epoch == rows.identity.epoch);
        // Both cases use the same read lock. Taking a second one could cause a deadlock, if a writer began to wait in
        // between.
        let found = match ready.filter(|_| self.prefers_graph(&rows.table, set)) {
            Some(ready) => search_hnsw(&rows.table, query, set, rows_wanted, &ready)?,
            None => rows.table.search(query, &rows.table.rows_of_set(set), rows_wanted),
        };
        rescore(rows, query, found, rows_wanted)
    }

    /// Like `search`, but always scans the int8 vectors of all rows of the set. Calibration compares the hits of the
    /// graph with these.
    pub(crate) fn search_by_scan(&self, query: &[f32], set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let rows_wanted = rescore_count(limit);
        let found = rows.table.search_without_codes(query, &rows.table.rows_of_set(set), rows_wanted);
        rescore(rows, query, found, rows_wanted)
    }

    /// Like `search`, but always uses the given graph.
    pub(crate) fn search_by_graph(
        &self,
        query: &[f32],
        set: &MemorySet,
        limit: usize,
        ready: &ReadyGraph,
    ) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let rows_wanted = rescore_count(limit);
        let found = search_hnsw(&rows.table, query, set, rows_wanted, ready)?;
        rescore(rows, query, found, rows_wanted)
    }

    /// Whether the set is large enough for the HNSW graph: by its number of chunks, and by their share of all chunks.
    fn prefers_graph(&self, table: &RowTable, set: &MemorySet) -> bool {
        if table.live_count() <= self.options.hnsw_min_chunks {
            return false;
        }
        let admissible: usize = set.iter().map(|ordinal| table.memory_row_count(ordinal)).sum();
        admissible > self.options.hnsw_min_chunks
            && admissible as f64 >= table.live_count() as f64 * HNSW_ADMISSIBLE_SHARE_MIN
    }

    pub(crate) fn rows(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn rows_mut(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ready_graph(&self) -> Option<ReadyGraph> {
        self.graph.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes a graph available to searches; `None` makes them scan.
    pub(crate) fn set_ready_graph(&self, ready: Option<ReadyGraph>) {
        *self.graph.write().unwrap_or_else(PoisonError::into_inner) = ready;
    }

    /// Updates the copied size of the log and wakes the builder thread. Must be called after every change of the rows.
    pub(super) fn note_change(&self, log: &VectorLog) {
        self.log_records.store(log.records(), Ordering::Relaxed);
        self.log_bytes.store(log.bytes(), Ordering::Relaxed);
        self.wake_builder(|work| work.has_changes = true);
    }

    pub(super) fn wake_builder(&self, change: impl FnOnce(&mut BuilderWork)) {
        change(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner));
        self.work_changed.notify_all();
    }

    /// Blocks until rows have changed since the last call, or the index is closing. Returns false if it is closing.
    pub(crate) fn wait_for_changes(&self) -> bool {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.work_changed.wait_while(work, |work| !work.has_changes && !work.is_closing);
        let mut work = waited.unwrap_or_else(PoisonError::into_inner);
        work.has_changes = false;
        !work.is_closing
    }

    /// Whether the builder thread should end.
    pub(crate) fn is_closing(&self) -> bool {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).is_closing
    }
}

/// Number of rows to rescore for `limit` hits.
fn rescore_count(limit: usize) -> usize {
    limit.saturating_add(RESCORE_EXTRA_MIN.max(limit / RESCORE_EXTRA_DIVISOR))
}

/// The best rows that the HNSW graph finds, together with the best rows of a scan of the rows that are not in the graph
/// yet. The result is sorted by row number.
fn search_hnsw(
    table: &RowTable,
    query: &[f32],
    set: &MemorySet,
    rows_wanted: usize,
    ready: &ReadyGraph,
) -> Result<Vec<u32>> {
    // This is read before the search, so that a row that is added meanwhile is found twice rather than not at all.
    let covered_rows = ready.graph.covered_rows() as u32;
    let mut found = ready.graph.search(query, ready.ef.max(rows_wanted), |row| table.is_live_in(row, set))?;
    found.truncate(rows_wanted);
    let uncovered: RowSet = (covered_rows..table.len() as u32).filter(|row| table.is_live_in(*row, set)).collect();
    found.extend(table.search(query, &uncovered, rows_wanted));
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Rescoring: computes the exact cosine similarities of the found rows from the bf16 vectors in the log, and keeps the
/// best `limit`. Releases the lock on the rows before it reads the log, so that no change waits for the disk. If a
/// compaction replaces the log meanwhile, the reader still reads the old file.
fn rescore(rows: RwLockReadGuard<'_, Rows>, query: &[f32], found: Vec<u32>, limit: usize) -> Result<Vec<Hit>> {
    let origins: Vec<RowOrigin> = found.into_iter().map(|row| rows.table.origin(row)).collect();
    let reader = rows.reader.clone();
    drop(rows);
    let mut vector = Vec::new();
    let mut hits = Vec::with_capacity(origins.len());
    for RowOrigin { chunk_key, ordinal, record } in origins {
        match reader.read(record, &mut vector) {
            Ok(()) => hits.push(Hit { chunk_key, ordinal, score: kernels::cosine(query, &vector) }),
            // A damaged record is left out; otherwise every search that finds it would fail. The damage is reported
            // when the index is opened next.
            Err(Error::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    keep_best(&mut hits, limit);
    Ok(hits)
}
