//! The rows and the graph of one vector index, and the search over them, which chooses between scan and graph.
//! Changes come from `vectors::index`; `vectors::hnsw_builder` adds to the graph.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result};
use crate::filters::candidates::Candidates;
use crate::filters::memory_set::MemorySet;
use crate::hit::{Hit, keep_best};
use crate::vectors::hnsw::{Graph, GraphIdentity};
use crate::vectors::kernels;
use crate::vectors::log::{VectorLog, VectorReader};
use crate::vectors::row_set::RowSet;
use crate::vectors::row_table::{RowOrigin, RowTable};

/// What a vector index is opened with.
#[derive(Debug, Clone)]
pub struct VectorOptions {
    /// Its own folder; created if need be.
    pub directory: PathBuf,
    /// Components of each vector.
    pub dimensions: usize,
    /// Which model made the vectors.
    pub fingerprint: String,
    /// Up to this many admissible chunks the scan is exact.
    pub hnsw_min_chunks: usize,
}

/// Candidates that are rescored in bf16 beyond the wanted hits: at least so many, or this part of them. 40 for 10 lost
/// none (ARCHITECTURE.md, "Measured").
const RESCORED_BEYOND_MIN: usize = 30;
const RESCORED_BEYOND_PART: usize = 4;
/// The graph is asked only when at least this share of the chunks is admissible; below it the predicate makes HNSW
/// wander, and the scan is faster (ARCHITECTURE.md, "Measured", table "exact first").
const GRAPH_SHARE_MIN: f64 = 0.3;
/// What searches, changes and the graph's building thread have in common.
#[derive(Debug)]
pub(crate) struct Searcher {
    pub(crate) options: VectorOptions,
    pub(super) candidates: Arc<Candidates>,
    pub(super) rows: RwLock<Rows>,
    pub(super) graph: RwLock<Option<ReadyGraph>>,
    pub(super) work: Mutex<Work>,
    pub(super) work_changed: Condvar,
    /// The log's size, kept here so that statistics do not wait for a write.
    pub(super) log_records: AtomicU64,
    pub(super) log_bytes: AtomicU64,
}

/// What the building thread waits for.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) has_news: bool,
    pub(super) is_closing: bool,
}

/// The rows of one epoch of the log, and where their vectors are read.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) identity: GraphIdentity,
    pub(crate) reader: VectorReader,
    pub(crate) table: RowTable,
}

/// A graph that may be asked, for the rows of one log epoch.
#[derive(Debug, Clone)]
pub(crate) struct ReadyGraph {
    pub(crate) graph: Arc<Graph>,
    pub(crate) epoch: u64,
    /// The search breadth that calibration found to suffice.
    pub(crate) ef: usize,
}

impl Searcher {
    /// The nearest chunks of a set, rescored; more than `limit` of them, because some may be hidden before the caller
    /// sees them.
    pub(super) fn search(&self, query: &[f32], set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let wanted = rescored_count(limit);
        let ready = self.ready_graph().filter(|ready| ready.epoch == rows.identity.epoch);
        // One guard for both ways: who waits to write would stand between two of one thread, for good.
        let near = match ready.filter(|_| self.prefers_graph(&rows.table, set)) {
            Some(ready) => near_by_graph(&rows.table, query, set, wanted, &ready)?,
            None => rows.table.nearest(query, &rows.table.rows_of(set), wanted),
        };
        rescored(rows, query, near, wanted)
    }

    /// The same by scanning every row of the set whole: what a graph is measured against.
    pub(crate) fn search_exactly(&self, query: &[f32], set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let wanted = rescored_count(limit);
        let near = rows.table.nearest_of_all(query, &rows.table.rows_of(set), wanted);
        rescored(rows, query, near, wanted)
    }

    /// The same by the graph, whatever the rule says.
    pub(crate) fn search_by_graph(
        &self,
        query: &[f32],
        set: &MemorySet,
        limit: usize,
        ready: &ReadyGraph,
    ) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let wanted = rescored_count(limit);
        let near = near_by_graph(&rows.table, query, set, wanted, ready)?;
        rescored(rows, query, near, wanted)
    }

    fn prefers_graph(&self, table: &RowTable, set: &MemorySet) -> bool {
        if table.live() <= self.options.hnsw_min_chunks {
            return false;
        }
        let admissible: usize = set.iter().map(|ordinal| table.rows_of_memory(ordinal)).sum();
        admissible > self.options.hnsw_min_chunks && admissible as f64 >= table.live() as f64 * GRAPH_SHARE_MIN
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

    /// Puts a graph at the searches' disposal, or takes it away.
    pub(crate) fn set_ready_graph(&self, ready: Option<ReadyGraph>) {
        *self.graph.write().unwrap_or_else(PoisonError::into_inner) = ready;
    }

    pub(super) fn note_change(&self, log: &VectorLog) {
        self.log_records.store(log.records(), Ordering::Relaxed);
        self.log_bytes.store(log.bytes(), Ordering::Relaxed);
        self.wake_builder(|work| work.has_news = true);
    }

    pub(super) fn wake_builder(&self, change: impl FnOnce(&mut Work)) {
        change(&mut self.work.lock().unwrap_or_else(PoisonError::into_inner));
        self.work_changed.notify_all();
    }

    /// Blocks until rows have changed since the last call; false once the index closes.
    pub(crate) fn wait_for_news(&self) -> bool {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.work_changed.wait_while(work, |work| !work.has_news && !work.is_closing);
        let mut work = waited.unwrap_or_else(PoisonError::into_inner);
        work.has_news = false;
        !work.is_closing
    }

    /// Whether the building thread should end.
    pub(crate) fn is_closing(&self) -> bool {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).is_closing
    }
}

fn rescored_count(limit: usize) -> usize {
    limit.saturating_add(RESCORED_BEYOND_MIN.max(limit / RESCORED_BEYOND_PART))
}

/// The rows that the graph finds and, exactly, the best of those that its building thread has not added yet.
fn near_by_graph(
    table: &RowTable,
    query: &[f32],
    set: &MemorySet,
    wanted: usize,
    ready: &ReadyGraph,
) -> Result<Vec<u32>> {
    // Read before the search: a row that is added meanwhile is found twice rather than not at all.
    let covered = ready.graph.covered() as u32;
    let mut near = ready.graph.search(query, ready.ef.max(wanted), |row| table.is_in(row, set))?;
    near.truncate(wanted);
    let uncovered: RowSet = (covered..table.len() as u32).filter(|row| table.is_in(*row, set)).collect();
    near.extend(table.nearest(query, &uncovered, wanted));
    near.sort_unstable();
    near.dedup();
    Ok(near)
}

/// Scores rows with their stored bf16 vectors and keeps the best. The rows are let go before the log is read, so that
/// no change waits for the disk; a compaction meanwhile leaves the reader its old file.
fn rescored(rows: RwLockReadGuard<'_, Rows>, query: &[f32], near: Vec<u32>, wanted: usize) -> Result<Vec<Hit>> {
    let origins: Vec<RowOrigin> = near.into_iter().map(|row| rows.table.origin(row)).collect();
    let reader = rows.reader.clone();
    drop(rows);
    let mut vector = Vec::new();
    let mut hits = Vec::with_capacity(origins.len());
    for RowOrigin { chunk_key, ordinal, record } in origins {
        match reader.read(record, &mut vector) {
            Ok(()) => hits.push(Hit { chunk_key, ordinal, score: kernels::cosine(query, &vector) }),
            // One rotten record must not make every search near it fail; opening reports it.
            Err(Error::Damaged(_)) => {}
            Err(other) => return Err(other),
        }
    }
    keep_best(&mut hits, wanted);
    Ok(hits)
}
