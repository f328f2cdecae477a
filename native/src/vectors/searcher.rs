//! Searches the vectors of one index: scans the rows of a set, and rescores the result. `index` changes the rows.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result};
use crate::filters::memory_set::MemorySet;
use crate::filters::memory_table::MemoryTable;
use crate::hit::{Hit, keep_best};
use crate::vectors::kernels;
use crate::vectors::log::{VectorLog, VectorReader};
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
}

/// Minimum number of rows that are rescored with bf16 vectors in addition to the number of wanted hits.
const RESCORE_EXTRA_MIN: usize = 90;
/// Number of rows that are rescored in addition for each wanted hit, if that is more. With both values, quantisation
/// to four bits lost at most .3 % of the true 10/30/200 nearest, also for a model whose vectors have much in common
/// (docs/measurements.md, "4 bits per component").
const RESCORE_EXTRA_PER_WANTED: usize = 2;

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
        rescore(rows, query, found, rows_wanted)
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
