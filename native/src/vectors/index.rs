//! One vector set of a project: publishes, removes and searches vectors of one model, and compacts their log.
//! `searcher` searches the rows, `log` stores them, `graph` is an index of them for very large sets.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use half::bf16;

use crate::error::{Error, Result};
use crate::files::delete_if_present;
use crate::filters::memory_table::{Admissible, MemoryTable};
use crate::hit::Hit;
use crate::vectors::graph::builder::{GraphBuilder, GraphStatus};
use crate::vectors::graph::file::{self, GRAPH_FILE};
use crate::vectors::graph::hnsw::Graph;
use crate::vectors::graph::limits::VectorIndexKind;
use crate::vectors::kernels;
use crate::vectors::log::{self, LOG_FILE, Record, VectorLog, to_bf16};
use crate::vectors::row_table::RowTable;
pub use crate::vectors::searcher::VectorOptions;
use crate::vectors::searcher::{Rows, Searcher, for_each_vector};

/// Maximum difference of the length of a vector from 1. Vectors of embedding models differ from 1 only by rounding; a
/// larger difference means that a vector was not normalised.
const UNIT_TOLERANCE: f32 = 1e-2;
/// The log is compacted when the share of dead records reaches this. So a log is at most a quarter larger than a new
/// one.
const DEAD_SHARE_MAX: f64 = 0.2;
/// Maximum number of rows whose search is short: about 0.3 ms of a processor.
const SHORT_SEARCH_ROWS_MAX: usize = 65_536;
/// Maximum number of chunks whose vectors are compared with each other in one call: 32,640 pairs.
const COMPARED_CHUNKS_MAX: usize = 256;
/// Minimum number of records of a log that is compacted because of dead records.
const COMPACTION_RECORDS_MIN: u64 = 1_000;
/// Files of a graph that development versions before 0.1.0 saved. They contain vectors, so they are deleted: erased
/// vectors must not stay on disk.
const GRAPH_FILES: [&str; 2] = ["graph.meta", "graph.usearch"];

/// A chunk whose vector is to be stored.
#[derive(Debug, Clone, Copy)]
pub struct VectorChunk<'vector> {
    /// Key of the chunk.
    pub chunk_key: u64,
    /// Key of its memory.
    pub memory_key: u64,
    /// Its embedding, a unit vector `[dimensions]`.
    pub vector: &'vector [f32],
}

/// Statistics of a vector index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorStats {
    /// Number of chunks with a vector.
    pub chunks: usize,
    /// Number of dead records in the log: removed, replaced or damaged vectors, and tombstones.
    pub dead_chunks: usize,
    /// Size of the log in bytes.
    pub log_bytes: u64,
    /// Number of searches that the graph has answered since the index was opened.
    pub graph_searches: u64,
}

/// The vectors of one project and one model. Any number of threads may search; only one thread at a time may change it.
#[derive(Debug)]
pub struct VectorIndex {
    searcher: Arc<Searcher>,
    log: Mutex<VectorLog>,
    graph: GraphBuilder,
}

impl VectorIndex {
    /// Opens or creates the index. Reads the whole log, which takes 2 to 3 s per million vectors. Also returns
    /// sentences for the operator about what was damaged and repaired.
    pub fn open(options: VectorOptions, memory_table: Arc<MemoryTable>) -> Result<(VectorIndex, Vec<String>)> {
        std::fs::create_dir_all(&options.directory)
            .map_err(|cause| Error::from_io(&format!("creating {}", options.directory.display()), &cause))?;
        GRAPH_FILES.into_iter().try_for_each(|name| delete_if_present(&options.directory.join(name)))?;
        let path = options.directory.join(LOG_FILE);
        let mut table = RowTable::new(options.dimensions, options.resident_vectors);
        let (log, repairs) = VectorLog::open(&path, options.dimensions, &options.fingerprint, |number, record| {
            table.apply(number, record, &memory_table);
        })?;
        let damaged_records = repairs.damaged_records;
        let rows = Rows { damaged_records, reader: log.reader(), table, epoch: log.epoch(), graph: None };
        let searcher = Arc::new(Searcher {
            options,
            memory_table,
            rows: RwLock::new(rows),
            log_records: AtomicU64::new(log.records()),
            log_bytes: AtomicU64::new(log.bytes()),
            graph_searches: AtomicU64::new(0),
        });
        let graph = GraphBuilder::new(Arc::clone(&searcher));
        Ok((VectorIndex { searcher, log: Mutex::new(log), graph }, repairs.sentences))
    }

    /// Sets how the index is searched. A graph is loaded or built in the background; until it is complete, searches
    /// scan. Without one, its file is deleted.
    pub fn choose(&self, kind: VectorIndexKind) {
        self.graph.choose(kind);
    }

    /// The state of the graph.
    pub fn graph_status(&self) -> GraphStatus {
        self.graph.status()
    }

    /// Stops the thread that adds rows to the graph, after it has saved the graph.
    pub fn stop_graph(&self) {
        self.graph.stop();
    }

    /// Checks a vector. Fails with `Invalid` if the vector has a wrong number of components, or if its length differs
    /// from 1 by more than a hundredth. The second check also refuses zero vectors, NaN and infinity.
    pub fn check(&self, vector: &[f32]) -> Result<()> {
        check_vector(vector, self.searcher.options.dimensions)
    }

    /// Replaces all vectors of the given memories by those of `chunks`. When the call returns, the change is durable.
    /// The vectors must have passed `check`. After an error nothing has changed.
    pub fn publish(&self, memory_keys: &[u64], chunks: &[VectorChunk<'_>]) -> Result<()> {
        // The rows of a memory must be consecutive. The sort is stable, so its chunks keep their order.
        let mut sorted: Vec<&VectorChunk<'_>> = chunks.iter().collect();
        sorted.sort_by_key(|chunk| chunk.memory_key);
        let rounded: Vec<Vec<bf16>> = sorted.iter().map(|chunk| to_bf16(chunk.vector)).collect();
        let puts = sorted.iter().zip(&rounded).map(|(chunk, vector)| Record::Put {
            chunk_key: chunk.chunk_key,
            memory_key: chunk.memory_key,
            vector,
        });
        let records: Vec<Record<'_>> = self.removal_records(memory_keys).into_iter().chain(puts).collect();
        self.append(&records)
    }

    /// Removes all vectors of the given memories. When the call returns, the change is durable.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        self.append(&self.removal_records(memory_keys))
    }

    /// The `limit` admissible chunks with the highest cosine similarity to a unit query `[dimensions]`, best first.
    /// Fails with `Invalid` if `check` refuses the query, or if the set belongs to another project.
    pub fn search(&self, query: &[f32], within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        self.check(query)?;
        let set = self.searcher.memory_table.still_visible(within)?;
        let mut hits = self.searcher.search(query, &set, limit)?;
        self.searcher.memory_table.retain_admitted(within, &mut hits, |hit| hit.ordinal);
        hits.truncate(limit);
        Ok(hits)
    }

    /// Whether a search takes less than a millisecond and reads no file. A walk through the graph takes longer.
    pub fn is_search_short(&self) -> bool {
        let rows = self.searcher.rows();
        let is_walked = rows.graph.as_ref().is_some_and(|graph| graph.is_complete());
        !is_walked && rows.table.resident().is_some() && rows.table.len() <= SHORT_SEARCH_ROWS_MAX
    }

    /// The cosine similarities of exactly the given chunks to a unit query `[dimensions]`, in their order; NaN if a
    /// chunk does not exist or its record is damaged. `chunks` has pairs (chunk key, ordinal of the memory). Fails with
    /// `Invalid` if `check` refuses the query.
    pub fn score_chunks(&self, query: &[f32], chunks: &[(u64, Option<u32>)]) -> Result<Vec<f32>> {
        self.check(query)?;
        let mut scores = vec![f32::NAN; chunks.len()];
        self.for_each_vector(chunks, |at, vector| scores[at] = kernels::cosine(query, vector))?;
        Ok(scores)
    }

    /// The cosine similarities between the given chunks, row-major `[chunks, chunks]`; 1 on the diagonal, NaN in the
    /// row and the column of a chunk that does not exist or whose record is damaged. `chunks` has pairs (chunk key,
    /// ordinal of the memory). Fails with `Invalid` for more than `COMPARED_CHUNKS_MAX` chunks.
    pub fn compare_chunks(&self, chunks: &[(u64, Option<u32>)]) -> Result<Vec<f32>> {
        if chunks.len() > COMPARED_CHUNKS_MAX {
            return Err(Error::invalid(format!(
                "{} chunks to compare; at most {COMPARED_CHUNKS_MAX} are allowed",
                chunks.len()
            )));
        }
        let dimensions = self.searcher.options.dimensions;
        let mut vectors = vec![f32::NAN; chunks.len() * dimensions];
        self.for_each_vector(chunks, |at, vector| {
            kernels::to_unit(vector, &mut vectors[at * dimensions..][..dimensions]);
        })?;
        Ok(kernels::dot_products(&vectors, dimensions))
    }

    /// The stored vectors of the given chunks, row-major `[chunks, dimensions]`; NaN for a chunk that does not exist or
    /// whose record is damaged. `chunks` has pairs (chunk key, ordinal of the memory).
    pub fn stored_vectors(&self, chunks: &[(u64, Option<u32>)]) -> Result<Vec<f32>> {
        let dimensions = self.searcher.options.dimensions;
        let mut vectors = vec![f32::NAN; chunks.len() * dimensions];
        self.for_each_vector(chunks, |at, vector| {
            let stored = &mut vectors[at * dimensions..][..dimensions];
            stored.iter_mut().zip(vector).for_each(|(to, from)| *to = from.to_f32());
        })?;
        Ok(vectors)
    }

    /// Calls `visit(position, vector)` for each chunk that exists, with its bf16 vector `[dimensions]`, unless its
    /// record is damaged.
    fn for_each_vector(&self, chunks: &[(u64, Option<u32>)], mut visit: impl FnMut(usize, &[bf16])) -> Result<()> {
        let rows = self.searcher.rows();
        let wanted: Vec<Option<u32>> =
            chunks.iter().map(|(chunk_key, ordinal)| rows.table.row_of((*ordinal)?, *chunk_key)).collect();
        for_each_vector(rows, wanted.into_iter(), |at, vector| {
            if let Some(vector) = vector {
                visit(at, vector);
            }
        })
    }

    /// All chunks with a vector as (chunk key, ordinal of the memory), in no particular order.
    pub fn chunks(&self) -> Vec<(u64, u32)> {
        let rows = self.searcher.rows();
        let origins = rows.table.live_rows().map(|row| rows.table.origin(row));
        origins.map(|origin| (origin.chunk_key, origin.ordinal)).collect()
    }

    /// Keys of the chunks of a memory that have a vector.
    pub fn memory_chunks(&self, memory_key: u64) -> Vec<u64> {
        let ordinal = self.searcher.memory_table.known_ordinals(&[memory_key])[0];
        ordinal.map_or_else(Vec::new, |ordinal| self.searcher.rows().table.chunk_keys_of(ordinal).to_vec())
    }

    /// Compacts the log if any record is damaged, or if the log has at least `COMPACTION_RECORDS_MIN` records and a
    /// fifth of them are dead. Returns whether it was compacted. Searches can run meanwhile.
    pub fn compact_if_needed(&self) -> Result<bool> {
        // Rows get new numbers. Meanwhile no thread adds rows to the graph.
        let _writing = self.graph.exclude();
        let mut log = self.log();
        let compacted = {
            let rows = self.searcher.rows();
            let dead_share = (log.records() - rows.table.live_count() as u64) as f64 / log.records().max(1) as f64;
            let is_wasteful = log.records() >= COMPACTION_RECORDS_MIN && dead_share >= DEAD_SHARE_MAX;
            if !is_wasteful && rows.damaged_records == 0 {
                return Ok(false);
            }
            // The new table is built before the log is compacted. In the other order, if memory ran out in between, the
            // records would have new numbers, but the rows would still have the old ones.
            let table = rows.table.compacted();
            let graph = rows.graph.as_ref().map(|graph| Arc::new(compacted_graph(graph, &rows.table)));
            log.compact(rows.table.live_rows().map(|row| rows.table.origin(row).record))?;
            Rows { damaged_records: 0, reader: log.reader(), table, epoch: log.epoch(), graph }
        };
        // The rows have not changed since they were copied, because they change only while the log is locked.
        let replaced = std::mem::replace(&mut *self.searcher.rows_mut(), compacted);
        self.searcher.note_change(&log);
        drop((log, _writing, replaced));
        self.graph.note_change();
        Ok(true)
    }

    /// Removes the vectors of removed chunks from the log, durably. Rows keep their numbers.
    pub fn erase_removed(&self) -> Result<()> {
        self.compact_if_needed()?;
        let mut log = self.log();
        let removed = self.searcher.rows().table.rows_to_erase();
        if removed.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u64> = removed.iter().map(|(_, record)| *record).collect();
        log.erase(&numbers)?;
        self.searcher.rows_mut().table.mark_erased(removed.into_iter().map(|(row, _)| row));
        Ok(())
    }

    /// The folder of the index.
    pub fn directory(&self) -> &Path {
        &self.searcher.options.directory
    }

    /// Reads the log or the graph's file, and returns what is wrong with it; `None` if nothing is, and for other files.
    /// Changes can be made meanwhile.
    pub fn damage_of(&self, name: &str) -> Result<Option<String>> {
        let VectorOptions { directory, dimensions, fingerprint, .. } = &self.searcher.options;
        if name == GRAPH_FILE {
            return file::damage_of(&directory.join(name));
        }
        if name != LOG_FILE {
            return Ok(None);
        }
        // Locked only until the file is open, so that its header and number of records belong together.
        let log = self.log();
        let opened = log::open_for_check(&directory.join(name), Some(log.records()))?;
        drop(log);
        log::damage_of_opened(opened, *dimensions, fingerprint)
    }

    /// Current statistics.
    pub fn stats(&self) -> VectorStats {
        let records = self.searcher.log_records.load(Ordering::Relaxed);
        let chunks = self.searcher.rows().table.live_count();
        VectorStats {
            chunks,
            dead_chunks: (records as usize).saturating_sub(chunks),
            log_bytes: self.searcher.log_bytes.load(Ordering::Relaxed),
            graph_searches: self.searcher.graph_searches.load(Ordering::Relaxed),
        }
    }

    /// Tombstones for the memories among these that have vectors.
    fn removal_records(&self, memory_keys: &[u64]) -> Vec<Record<'static>> {
        let ordinals = self.searcher.memory_table.known_ordinals(memory_keys);
        let rows = self.searcher.rows();
        let has_rows = |ordinal: Option<u32>| ordinal.is_some_and(|ordinal| rows.table.memory_row_count(ordinal) > 0);
        let with_rows = memory_keys.iter().zip(ordinals).filter(|(_, ordinal)| has_rows(*ordinal));
        with_rows.map(|(memory_key, _)| Record::Remove { memory_key: *memory_key }).collect()
    }

    /// Appends records to the log and applies them to the rows.
    fn append(&self, records: &[Record<'_>]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut log = self.log();
        let first = log.append(records)?;
        let mut rows = self.searcher.rows_mut();
        for (number, record) in (first..).zip(records) {
            rows.table.apply(number, *record, &self.searcher.memory_table);
        }
        drop(rows);
        self.searcher.note_change(&log);
        drop(log);
        self.graph.note_change();
        Ok(())
    }

    fn log(&self) -> MutexGuard<'_, VectorLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a copy of the graph for the rows that a compaction keeps, with their new numbers.
fn compacted_graph(graph: &Graph, table: &RowTable) -> Graph {
    graph.bypass_dead(|row| table.is_live(row));
    let mut numbers = vec![None; graph.len() as usize];
    let live = (0..graph.len()).filter(|row| table.is_live(*row));
    live.zip(0..).for_each(|(row, number)| numbers[row as usize] = Some(number));
    graph.renumbered(&numbers)
}

fn check_vector(vector: &[f32], dimensions: usize) -> Result<()> {
    if vector.len() != dimensions {
        return Err(Error::invalid(format!("a vector of {} components; it must have {dimensions}", vector.len())));
    }
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    // The comparison is written in this form because it also refuses NaN.
    if (length - 1.0).abs() <= UNIT_TOLERANCE {
        return Ok(());
    }
    Err(Error::invalid(format!("a vector of length {length}; it must have unit length")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::memory_table::{NEVER, NO_USER, VisibleMemory};
    use crate::vectors::graph::limits::GraphLimits;
    use crate::vectors::resident_vectors::MemoryBudget;
    use mneme_testing::{Chance, TempDir};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn chunk_keys(index: &VectorIndex) -> Vec<u64> {
        index.chunks().into_iter().map(|(key, _)| key).collect()
    }

    const DIMENSIONS: usize = 24;

    /// Key and vector of a chunk in the expected content.
    type Chunk = (u64, Vec<f32>);

    /// An index, and a map with its expected content: memory → (user, chunks).
    struct CheckedIndex {
        directory: PathBuf,
        memory_table: Arc<MemoryTable>,
        index: VectorIndex,
        model: BTreeMap<u64, (u64, Vec<Chunk>)>,
        next_chunk: u64,
    }

    impl CheckedIndex {
        fn open(directory: &Path) -> CheckedIndex {
            let (memory_table, index, repairs) = open(directory);
            assert!(repairs.is_empty(), "{repairs:?}");
            let directory = directory.to_owned();
            CheckedIndex { directory, memory_table, index, model: BTreeMap::new(), next_chunk: 1 }
        }

        fn reopen(&mut self) {
            let (memory_table, index, repairs) = open(&self.directory);
            assert!(repairs.is_empty(), "{repairs:?}");
            (self.memory_table, self.index) = (memory_table, index);
            let memories: Vec<(u64, u64)> = self.model.iter().map(|(memory, (user, _))| (*memory, *user)).collect();
            memories.into_iter().for_each(|(memory, user)| self.show(memory, user));
        }

        fn show(&self, memory_key: u64, user_key: u64) {
            self.memory_table.show(&[VisibleMemory { memory_key, user_key, expires_at_ms: NEVER }]);
        }

        fn publish(&mut self, memories: &[u64], chunks_each: usize, chance: &mut Chance) {
            for memory in memories {
                let chunks =
                    (0..chunks_each).map(|index| (self.next_chunk + index as u64, chance.unit_vector(DIMENSIONS)));
                let chunks: Vec<Chunk> = chunks.collect();
                self.next_chunk += chunks_each as u64;
                self.model.insert(*memory, (1 + memory % 3, chunks));
            }
            let chunks: Vec<VectorChunk<'_>> = memories
                .iter()
                .flat_map(|memory| self.model[memory].1.iter().map(move |chunk| (memory, chunk)))
                .map(|(memory, (chunk_key, vector))| VectorChunk { chunk_key: *chunk_key, memory_key: *memory, vector })
                .collect();
            self.index.publish(memories, &chunks).expect("published");
            memories.iter().for_each(|memory| self.show(*memory, 1 + memory % 3));
        }

        fn remove(&mut self, memories: &[u64]) {
            self.memory_table.hide(memories);
            self.index.remove(memories).expect("removed");
            memories.iter().for_each(|memory| {
                self.model.remove(memory);
            });
        }

        /// The chunk keys that a search should find, computed directly from the expected content.
        fn expected_keys(&self, query: &[f32], user: Option<u64>, limit: usize) -> Vec<u64> {
            let of_user = self.model.values().filter(|(owner, _)| user.is_none_or(|user| user == *owner));
            let mut scored: Vec<(f32, u64)> = of_user
                .flat_map(|(_, chunks)| chunks)
                .map(|(key, vector)| (kernels::cosine(query, &to_bf16(vector)), *key))
                .collect();
            scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            scored.into_iter().take(limit).map(|(_, key)| key).collect()
        }

        fn search(&self, query: &[f32], user: Option<u64>, limit: usize) -> Vec<u64> {
            let within = self.memory_table.admit(user, 0);
            let hits = self.index.search(query, &within, limit).expect("searched");
            assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
            hits.into_iter().map(|hit| hit.chunk_key).collect()
        }

        /// Asserts that every chunk has the score that is computed directly from its vector, and that unknown chunks
        /// have none.
        fn expect_scores(&self, query: &[f32]) {
            let model_chunks =
                self.model.iter().flat_map(|(memory, (_, chunks))| chunks.iter().map(move |chunk| (memory, chunk)));
            let (mut chunks_to_score, mut expected) =
                (vec![(self.next_chunk, Some(0)), (1, None)], vec![f32::NAN, f32::NAN]);
            for (memory, (chunk_key, vector)) in model_chunks {
                chunks_to_score.push((*chunk_key, Some(self.memory_table.ordinal(*memory))));
                expected.push(kernels::cosine(query, &to_bf16(vector)));
            }
            let scores = self.index.score_chunks(query, &chunks_to_score).expect("scored");
            assert!(scores.iter().zip(&expected).all(|(score, truth)| score.total_cmp(truth).is_eq()));
        }

        /// Recall@10 of `queries` random queries for each user.
        fn recall(&self, queries: usize, users: &[Option<u64>], chance: &mut Chance) -> f64 {
            let (mut found, mut wanted) = (0, 0);
            for user in users {
                for _ in 0..queries {
                    let query = chance.unit_vector(DIMENSIONS);
                    let truth = self.expected_keys(&query, *user, 10);
                    let hits = self.search(&query, *user, 10);
                    assert_eq!(hits.len(), truth.len());
                    wanted += truth.len();
                    found += truth.iter().filter(|key| hits.contains(key)).count();
                }
            }
            found as f64 / wanted as f64
        }
    }

    /// Opens an index with copies of all vectors in memory, of none, or until there are too many.
    fn open(directory: &Path) -> (Arc<MemoryTable>, VectorIndex, Vec<String>) {
        let memory_table = Arc::new(MemoryTable::default());
        let budget_bytes = [usize::MAX, 0, 8_192][Chance::new().below(3)];
        let options = VectorOptions {
            directory: directory.to_owned(),
            dimensions: DIMENSIONS,
            fingerprint: "model-a".to_owned(),
            resident_vectors: Box::leak(Box::new(MemoryBudget::new(budget_bytes))),
            graph_limits: GraphLimits::DEFAULT,
        };
        let (index, repairs) = VectorIndex::open(options, Arc::clone(&memory_table)).expect("opened");
        (memory_table, index, repairs)
    }

    #[test]
    fn search_equals_plain_arithmetic_through_changes_and_reopenings() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("vectors"));
        let mut checked = CheckedIndex::open(directory.path());
        for _ in 0..150 {
            let first = 1 + chance.below(60) as u64;
            let memories: Vec<u64> = (first..first + 1 + chance.below(4) as u64).collect();
            match chance.below(10) {
                0..=5 => {
                    let chunks_each = chance.below(6);
                    checked.publish(&memories, chunks_each, &mut chance);
                }
                6..=7 => checked.remove(&memories),
                8 => checked.reopen(),
                _ => {
                    checked.index.compact_if_needed().expect("compacted");
                }
            }
            let query = chance.unit_vector(DIMENSIONS);
            let user = Some(1 + chance.below(3) as u64).filter(|_| chance.below(2) == 0);
            assert_eq!(checked.search(&query, user, 5), checked.expected_keys(&query, user, 5));
            checked.expect_scores(&query);
        }
        let mut keys = chunk_keys(&checked.index);
        keys.sort_unstable();
        let mut expected: Vec<u64> =
            checked.model.values().flat_map(|(_, chunks)| chunks.iter().map(|chunk| chunk.0)).collect();
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(checked.index.stats().chunks, expected.len());
    }

    #[test]
    fn the_graph_of_an_earlier_version_is_deleted() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("vectors"));
        let mut checked = CheckedIndex::open(directory.path());
        checked.publish(&[1, 2, 3], 1, &mut chance);
        for name in GRAPH_FILES {
            std::fs::write(directory.path().join(name), "vectors").expect("writable");
        }
        checked.reopen();
        let files =
            std::fs::read_dir(directory.path()).expect("listable").map(|entry| entry.expect("entry").file_name());
        assert_eq!(files.collect::<Vec<_>>(), [LOG_FILE]);
    }

    #[test]
    fn no_file_has_a_removed_vector_after_it_was_erased_and_rows_keep_their_numbers() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("vectors"));
        let mut checked = CheckedIndex::open(directory.path());
        checked.publish(&(1..=600).collect::<Vec<_>>(), 2, &mut chance);
        let of = |checked: &CheckedIndex, memory: u64| to_bf16(&checked.model[&memory].1[1].1);
        let (removed, replaced, kept) = (of(&checked, 7), of(&checked, 9), of(&checked, 8));
        let files_with = |vector: &[bf16]| {
            let stored: Vec<u8> = vector.iter().flat_map(|component| component.to_le_bytes()).collect();
            let files =
                std::fs::read_dir(directory.path()).expect("listable").map(|entry| entry.expect("entry").path());
            let content = |path: &Path| std::fs::read(path).expect("readable");
            files.filter(|path| memchr::memmem::find(&content(path), &stored).is_some()).count()
        };
        assert_eq!([files_with(&removed), files_with(&replaced), files_with(&kept)], [1, 1, 1]);
        checked.remove(&[7]);
        checked.publish(&[9], 2, &mut chance);
        checked.index.erase_removed().expect("erased");
        assert_eq!([files_with(&removed), files_with(&replaced), files_with(&kept)], [0, 0, 1]);
        assert!(checked.recall(20, &[None], &mut chance) >= 0.99);
        checked.index.erase_removed().expect("nothing to erase");
        checked.reopen();
        assert!(checked.recall(20, &[None, Some(1)], &mut chance) >= 0.99);
        assert_eq!([files_with(&removed), files_with(&replaced)], [0, 0]);
    }

    #[test]
    fn a_damaged_record_is_reported_and_removed_by_compaction() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("vectors"));
        let mut checked = CheckedIndex::open(directory.path());
        checked.publish(&[1, 2, 3], 1, &mut chance);
        let log = directory.path().join("vectors.log");
        let mut bytes = std::fs::read(&log).expect("readable");
        let middle = bytes.len() - (bytes.len() - 512) / 2;
        bytes[middle] ^= 1;
        std::fs::write(&log, bytes).expect("writable");

        let (_, index, repairs) = open(directory.path());
        assert!(repairs.len() == 1 && repairs[0].contains("damaged record"), "{repairs:?}");
        assert_eq!(chunk_keys(&index), [1, 3]);
        assert!(index.compact_if_needed().expect("compacted"));
        drop(index);
        let (_, index, repairs) = open(directory.path());
        assert!(repairs.is_empty(), "{repairs:?}");
        assert_eq!(chunk_keys(&index), [1, 3]);
    }

    #[test]
    fn vectors_are_refused_if_their_length_differs_from_1_by_more_than_a_hundredth() {
        let directory = TempDir::new("vectors");
        let (memory_table, index, _) = open(directory.path());
        let vector_of_length = |length: f32| {
            let mut vector = vec![0.0; DIMENSIONS];
            vector[3] = length;
            vector
        };
        for valid in [1.0, 0.9901, 1.0099, -1.0] {
            index.check(&vector_of_length(valid)).expect("valid");
        }
        for bad in [0.0, 0.98, 1.02, f32::NAN, f32::INFINITY] {
            assert_eq!(index.check(&vector_of_length(bad)).expect_err("refused").code(), "invalid", "{bad}");
            let within = memory_table.admit(None, 0);
            assert_eq!(index.search(&vector_of_length(bad), &within, 1).expect_err("refused").code(), "invalid");
            assert_eq!(index.score_chunks(&vector_of_length(bad), &[]).expect_err("refused").code(), "invalid");
        }
        assert!(index.check(&vector_of_length(1.0)[1..]).is_err());
        memory_table.show(&[VisibleMemory { memory_key: 1, user_key: NO_USER, expires_at_ms: NEVER }]);
        assert!(index.search(&vector_of_length(1.0), &memory_table.admit(None, 0), 1).expect("searched").is_empty());
    }

    #[test]
    fn stored_vectors_are_those_that_were_published_in_the_precision_of_the_log() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("vectors"));
        let mut checked = CheckedIndex::open(directory.path());
        checked.publish(&[1, 2], 2, &mut chance);
        let (key, given) = checked.model[&2].1[1].clone();
        let ordinal = checked.memory_table.known_ordinals(&[2])[0];
        let stored = checked.index.stored_vectors(&[(key, ordinal), (key + 100, ordinal)]).expect("read");
        let expected: Vec<f32> = to_bf16(&given).iter().map(|value| value.to_f32()).collect();
        assert_eq!(stored[..DIMENSIONS], expected);
        assert!(stored.len() == 2 * DIMENSIONS && stored[DIMENSIONS..].iter().all(|value| value.is_nan()));
        checked.remove(&[2]);
        assert!(checked.index.stored_vectors(&[(key, ordinal)]).expect("read").iter().all(|value| value.is_nan()));
    }

    #[test]
    fn compared_chunks_have_the_cosines_of_their_vectors_and_nan_if_they_are_gone() {
        let (mut chance, directory) = (Chance::new(), TempDir::new("vectors"));
        let mut checked = CheckedIndex::open(directory.path());
        checked.publish(&[1, 2, 3], 2, &mut chance);
        let of = |checked: &CheckedIndex, memory: u64, at: usize| checked.model[&memory].1[at].clone();
        let stored = [of(&checked, 3, 1), of(&checked, 1, 0), of(&checked, 2, 1)];
        let ordinals = checked.memory_table.known_ordinals(&[3, 1, 2]);
        let chunks: Vec<(u64, Option<u32>)> = stored.iter().map(|(key, _)| *key).zip(ordinals).collect();
        let compared = checked.index.compare_chunks(&chunks).expect("compared");
        for (row, (_, left)) in stored.iter().enumerate() {
            for (column, (_, right)) in stored.iter().enumerate() {
                let cosine: f32 = left.iter().zip(right).map(|(left, right)| left * right).sum();
                let found = compared[row * 3 + column];
                assert!((found - cosine).abs() < 0.01, "{row} {column}: {found}, not {cosine}");
            }
            assert!(compared[row * 4] == 1.0);
        }
        checked.remove(&[1]);
        let gone = checked.index.compare_chunks(&chunks).expect("compared");
        let is_nan: Vec<bool> = gone.iter().map(|similarity| similarity.is_nan()).collect();
        assert_eq!(is_nan, [false, true, false, true, true, true, false, true, false]);
        assert!(gone[2] == compared[2] && gone[2] == gone[6]);
        assert!(checked.index.compare_chunks(&[]).expect("compared").is_empty());
        assert_eq!(checked.index.compare_chunks(&[chunks[0]; COMPARED_CHUNKS_MAX]).expect("compared").len(), 65_536);
        let refused = checked.index.compare_chunks(&[chunks[0]; COMPARED_CHUNKS_MAX + 1]);
        assert_eq!(refused.expect_err("refused").code(), "invalid");
    }
}
