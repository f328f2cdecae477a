//! Searches the vectors of one index: scans the rows of a set, and rescores the result. `index` changes the rows.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use half::bf16;

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::filters::memory_table::MemoryTable;
use crate::hit::{Hit, keep_best};
use crate::vectors::kernels;
use crate::vectors::log::{VectorLog, VectorReader};
use crate::vectors::resident_vectors::MemoryBudget;
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
}

/// Minimum number of rows that are rescored with bf16 vectors in addition to the number of wanted hits.
const RESCORE_EXTRA_MIN: usize = 90;
/// Number of rows that are rescored in addition for each wanted hit, if that is more. With both values, quantisation
/// to four bits lost at most .3 % of the true 10/30/200 nearest, also for a model whose vectors have much in common
/// (docs/measurements.md, "4 bits per component").
const RESCORE_EXTRA_PER_WANTED: usize = 2;

/// Number of vectors between the one that is visited and the one that is prefetched into the cache. The hardware cannot
/// predict which row is next. Four vectors of 384 dimensions are 48 cache lines.
const PREFETCH_VECTORS: usize = 4;

/// The state that searches and changes share.
#[derive(Debug)]
pub(crate) struct Searcher {
    pub(crate) options: VectorOptions,
    pub(super) memory_table: Arc<MemoryTable>,
    pub(super) rows: RwLock<Rows>,
    /// Number of records and of bytes of the log. They are copied here, so that statistics need not wait for a write.
    pub(super) log_records: AtomicU64,
    pub(super) log_bytes: AtomicU64,
}

/// The rows of the vector log, and the reader of their vectors. They belong to each other: a compaction replaces both.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Number of records that were skipped as damaged when the log was opened.
    pub(crate) damaged_records: u64,
    pub(crate) reader: VectorReader,
    pub(crate) table: RowTable,
}

impl Searcher {
    /// The chunks of a set with the highest cosine similarity to a query, best first. The similarities are exact.
    /// Returns more than `limit` hits if possible, because memories may be hidden before the caller uses the hits.
    pub(super) fn search(&self, query: &[f32], set: &MemorySet, limit: usize) -> Result<Vec<Hit>> {
        let rows = self.rows();
        let extra = RESCORE_EXTRA_MIN.max(limit.saturating_mul(RESCORE_EXTRA_PER_WANTED));
        let rows_wanted = limit.saturating_add(extra);
        let threads = ScanThreads::for_rows(rows.table.len());
        let found = rows.table.search(query, &rows.table.rows_of_set(set, &threads), rows_wanted, &threads);
        drop(threads);
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
