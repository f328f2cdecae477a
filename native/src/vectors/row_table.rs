//! The content of the vector log as rows in memory: the chunk and memory of each row, and which rows are alive. `log`
//! reads the file, and `searcher` chooses how to search.

use crate::filters::memory_set::MemorySet;
use crate::filters::memory_table::MemoryTable;
use crate::vectors::int4_matrix::{FinishedVectors, Int4Matrix, Int4Vectors};
use crate::vectors::kernels::GROUP_ROWS;
use crate::vectors::log::{ERASED_CHUNK, Record};
use crate::vectors::resident_vectors::{MemoryBudget, ResidentVectors};
use crate::vectors::row_set::RowSet;
use crate::vectors::scan_threads::{PART_ROWS, ScanThreads};

/// If a set contains at least one in this many of all memories, its rows are found by checking every row. For a smaller
/// set, they are found memory by memory.
const DENSE_SET_DIVISOR: usize = 2;

/// Ordinal that marks a dead row, whose chunk was removed or replaced. No set contains it.
const DEAD_ORDINAL: u32 = u32::MAX;

/// The rows of a project. Each record of the log that stores a vector is one row, in the order of the log. Rows are
/// never removed, only marked as dead; `compacted` makes a new table.
#[derive(Debug)]
pub struct RowTable {
    dimensions: usize,
    vectors: Int4Matrix,
    /// Copies of the log's vectors; `None` if the budget does not allow them.
    resident: Option<ResidentVectors>,
    chunk_keys: Vec<u64>,
    ordinals: Vec<u32>,
    records: Vec<u32>,
    /// The rows of each memory, indexed by its ordinal. They are consecutive, because all chunks of a memory are
    /// published together.
    ranges: Vec<RowRange>,
    live_count: usize,
    /// Number of memories with live rows.
    memory_count: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct RowRange {
    start: u32,
    count: u32,
}

/// The chunk of a row, its memory and its log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOrigin {
    /// Key of the chunk.
    pub chunk_key: u64,
    /// Ordinal of its memory.
    pub ordinal: u32,
    /// Number of the log record with its vector.
    pub record: u64,
}

impl RowTable {
    /// Creates an empty table for vectors `[dimensions]`. As long as `budget` allows it, it also has copies of the
    /// vectors.
    pub fn new(dimensions: usize, budget: &'static MemoryBudget) -> Self {
        let resident = Some(ResidentVectors::new(dimensions, budget));
        RowTable { resident, ..RowTable::without_copies(dimensions) }
    }

    fn without_copies(dimensions: usize) -> Self {
        RowTable {
            dimensions,
            vectors: Int4Matrix::new(dimensions),
            resident: None,
            chunk_keys: Vec::new(),
            ordinals: Vec::new(),
            records: Vec::new(),
            ranges: Vec::new(),
            live_count: 0,
            memory_count: 0,
        }
    }

    /// Applies a record of the log, with its number, to the table. Records must be passed in the order of the log.
    pub fn apply(&mut self, number: u64, record: Record<'_>, memory_table: &MemoryTable) {
        match record {
            Record::Put { chunk_key, memory_key, vector } => {
                self.push_origin(RowOrigin { chunk_key, ordinal: memory_table.ordinal(memory_key), record: number });
                self.vectors.push(vector);
                if self.resident.as_mut().is_some_and(|resident| !resident.push(vector)) {
                    self.resident = None;
                }
            }
            Record::Remove { memory_key } => self.mark_dead(memory_table.ordinal(memory_key)),
        }
    }

    /// Number of rows, including dead ones.
    pub fn len(&self) -> usize {
        self.ordinals.len()
    }

    /// Number of live rows.
    pub fn live_count(&self) -> usize {
        self.live_count
    }

    /// Number of memories with live rows.
    pub fn memory_count(&self) -> usize {
        self.memory_count
    }

    /// Whether scans of large sets begin with binary codes. Without them, they take five times as long or more.
    pub fn uses_codes(&self) -> bool {
        self.vectors.useful_codes().is_some()
    }

    /// See `Int4Matrix::finished`.
    pub fn finished_vectors(&self) -> FinishedVectors {
        self.vectors.finished()
    }

    /// See `Int4Matrix::with_vectors`.
    pub fn with_vectors<Output>(&self, work: impl FnOnce(Int4Vectors<'_>) -> Output) -> Output {
        self.vectors.with_vectors(work)
    }

    /// The chunk, memory and record of a row. `row` must be less than `len()`.
    pub fn origin(&self, row: u32) -> RowOrigin {
        let row = row as usize;
        RowOrigin { chunk_key: self.chunk_keys[row], ordinal: self.ordinals[row], record: u64::from(self.records[row]) }
    }

    /// Copies of the log's vectors of all rows; `None` if they must be read from the log.
    pub fn resident(&self) -> Option<&ResidentVectors> {
        self.resident.as_ref()
    }

    /// The live rows, ascending.
    pub fn live_rows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter(|row| self.is_live(*row))
    }

    /// Whether a row is alive. `row` must be less than `len()`.
    pub fn is_live(&self, row: u32) -> bool {
        self.ordinals[row as usize] != DEAD_ORDINAL
    }

    /// Number of live rows of a memory.
    pub fn memory_row_count(&self, ordinal: u32) -> usize {
        self.ranges.get(ordinal as usize).map_or(0, |range| range.count as usize)
    }

    /// Keys of the chunks of a memory, in the order of their rows.
    pub fn chunk_keys_of(&self, ordinal: u32) -> &[u64] {
        let RowRange { start, count } = self.ranges.get(ordinal as usize).copied().unwrap_or_default();
        &self.chunk_keys[start as usize..(start + count) as usize]
    }

    /// The live row of a chunk of a memory; `None` if the memory has no such chunk. Tries a binary search first,
    /// because the chunks of a memory are usually published in the order of their keys. If that fails, checks all
    /// chunks of the memory.
    pub fn row_of(&self, ordinal: u32, chunk_key: u64) -> Option<u32> {
        let keys = self.chunk_keys_of(ordinal);
        let index = keys.binary_search(&chunk_key).ok().or_else(|| keys.iter().position(|key| *key == chunk_key))?;
        Some(self.ranges[ordinal as usize].start + index as u32)
    }

    /// The live rows of all memories in a set.
    pub fn rows_of_set(&self, set: &MemorySet, threads: &ScanThreads) -> RowSet {
        if set.len() >= self.ranges.len() / DENSE_SET_DIVISOR {
            // Reads all rows in the order of their addresses.
            let parts = threads.map_parts(self.len(), PART_ROWS, |part| {
                let mut rows = RowSet::with_capacity(part.len());
                let first_group = part.start / GROUP_ROWS;
                for (group, ordinals) in self.ordinals[part].chunks(GROUP_ROWS).enumerate() {
                    let in_group = ordinals.iter().enumerate();
                    let mask = in_group.fold(0, |mask, (row, ordinal)| mask | u32::from(set.contains(*ordinal)) << row);
                    rows.push_group((first_group + group) as u32, mask);
                }
                rows
            });
            return RowSet::joined(parts);
        }
        let mut rows = RowSet::default();
        for range in set.iter().filter_map(|ordinal| self.ranges.get(ordinal as usize)) {
            rows.extend(range.start..range.start + range.count);
        }
        rows
    }

    /// See `Int4Matrix::search`.
    pub fn search(&self, query: &[f32], rows: &RowSet, limit: usize, threads: &ScanThreads) -> Vec<u32> {
        self.vectors.search(query, rows, limit, threads)
    }

    /// The dead rows whose vector is still in the log, with their records.
    pub fn rows_to_erase(&self) -> Vec<(u32, u64)> {
        let dead = (0..self.len() as u32).filter(|row| !self.is_live(*row));
        dead.filter(|row| self.chunk_keys[*row as usize] != ERASED_CHUNK)
            .map(|row| (row, u64::from(self.records[row as usize])))
            .collect()
    }

    /// Notes that the vectors of dead rows were erased from the log.
    pub fn mark_erased(&mut self, rows: impl Iterator<Item = u32>) {
        for row in rows {
            self.chunk_keys[row as usize] = ERASED_CHUNK;
            if let Some(resident) = &mut self.resident {
                resident.erase(row);
            }
        }
    }

    /// Creates a table of the live rows only, numbered from 0. The record numbers are those that a compaction of the
    /// log gives.
    pub fn compacted(&self) -> RowTable {
        let mut table = RowTable::without_copies(self.dimensions);
        table.resident = self.resident.as_ref().map(|resident| resident.copy_of(self.live_rows()));
        for (record, row) in self.live_rows().enumerate() {
            table.push_origin(RowOrigin { record: record as u64, ..self.origin(row) });
            table.vectors.push_row_of(&self.vectors, row);
        }
        table
    }

    /// Adds a row, but not its vector.
    fn push_origin(&mut self, origin: RowOrigin) {
        let (row, memory) = (self.len() as u32, origin.ordinal as usize);
        if self.ranges.len() <= memory {
            self.ranges.resize(memory + 1, RowRange::default());
        }
        let RowRange { start, count } = self.ranges[memory];
        if count > 0 && start + count != row {
            // The memory still has rows of an earlier publication, because the tombstone that removes them is damaged.
            // The new rows replace them.
            self.mark_dead(origin.ordinal);
        }
        let range = &mut self.ranges[memory];
        if range.count == 0 {
            range.start = row;
            self.memory_count += 1;
        }
        range.count += 1;
        self.chunk_keys.push(origin.chunk_key);
        self.ordinals.push(origin.ordinal);
        self.records.push(u32::try_from(origin.record).expect("a log has fewer than 2^32 records"));
        self.live_count += 1;
    }

    /// Marks all rows of a memory as dead.
    fn mark_dead(&mut self, ordinal: u32) {
        let Some(range) = self.ranges.get_mut(ordinal as usize) else { return };
        let RowRange { start, count } = std::mem::take(range);
        self.ordinals[start as usize..(start + count) as usize].fill(DEAD_ORDINAL);
        self.live_count -= count as usize;
        self.memory_count -= usize::from(count > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::log::to_bf16;
    use crate::vectors::resident_vectors::RESIDENT_VECTORS;
    use mneme_testing::Chance;
    use std::collections::BTreeMap;

    const DIMENSIONS: usize = 4;

    fn put(table: &mut RowTable, number: u64, chunk_key: u64, memory_key: u64, memory_table: &MemoryTable) {
        let vector = to_bf16(&[1.0, 0.0, 0.0, 0.0]);
        table.apply(number, Record::Put { chunk_key, memory_key, vector: &vector }, memory_table);
    }

    fn live_chunks(table: &RowTable) -> Vec<u64> {
        table.live_rows().map(|row| table.origin(row).chunk_key).collect()
    }

    #[test]
    fn holds_the_same_chunks_as_a_map_of_memories() {
        let mut chance = Chance::new();
        let (memory_table, mut table) = (MemoryTable::default(), RowTable::new(DIMENSIONS, &RESIDENT_VECTORS));
        let mut model: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let (mut number, mut next_chunk) = (0, 1);
        for _ in 0..500 {
            let memory_key = 1 + chance.below(30) as u64;
            if model.remove(&memory_key).is_some() {
                table.apply(number, Record::Remove { memory_key }, &memory_table);
                number += 1;
            }
            for _ in 0..chance.below(4) {
                put(&mut table, number, next_chunk, memory_key, &memory_table);
                model.entry(memory_key).or_default().push(next_chunk);
                number += 1;
                next_chunk += 1;
            }
            if chance.below(100) == 0 {
                table = table.compacted();
                number = table.len() as u64;
            }
        }
        let mut expected: Vec<u64> = model.values().flatten().copied().collect();
        expected.sort_unstable();
        assert_eq!(live_chunks(&table), expected);
        assert_eq!(table.live_count(), expected.len());
        // All memories except one. Many of their rows are dead.
        let others: MemorySet = model.keys().skip(1).map(|key| memory_table.ordinal(*key)).collect();
        let found = table.rows_of_set(&others, &ScanThreads::only_own());
        let mut keys: Vec<u64> = found.iter().map(|row| table.origin(row).chunk_key).collect();
        keys.sort_unstable();
        let mut expected: Vec<u64> = model.values().skip(1).flatten().copied().collect();
        expected.sort_unstable();
        assert_eq!((found.len(), keys), (expected.len(), expected));
        for (memory_key, chunks) in &model {
            let mut set = MemorySet::default();
            set.insert(memory_table.ordinal(*memory_key));
            let found: Vec<u64> = table
                .rows_of_set(&set, &ScanThreads::only_own())
                .iter()
                .map(|row| table.origin(row).chunk_key)
                .collect();
            assert_eq!(&found, chunks);
            let ordinal = memory_table.ordinal(*memory_key);
            assert_eq!(table.memory_row_count(ordinal), chunks.len());
            let origins = chunks.iter().map(|key| table.row_of(ordinal, *key).map(|row| table.origin(row).chunk_key));
            assert!(origins.eq(chunks.iter().map(|key| Some(*key))));
            assert_eq!(table.row_of(ordinal, next_chunk), None);
        }
    }

    #[test]
    fn a_memory_published_again_after_a_lost_removal_has_only_its_new_chunks() {
        let (memory_table, mut table) = (MemoryTable::default(), RowTable::new(DIMENSIONS, &RESIDENT_VECTORS));
        put(&mut table, 0, 10, 1, &memory_table);
        put(&mut table, 1, 11, 1, &memory_table);
        put(&mut table, 2, 20, 2, &memory_table);
        // Record 3 is missing: it was the tombstone of memory 1, but is damaged.
        put(&mut table, 4, 12, 1, &memory_table);
        assert_eq!(live_chunks(&table), [20, 12]);
    }
}
