//! The replayed vector log in memory: which chunk and memory each row belongs to, and which rows are alive.
//! Pure bookkeeping; reading the log and choosing how to search are `vectors::index`' affair.

use crate::filters::candidates::Candidates;
use crate::filters::memory_set::MemorySet;
use crate::vectors::int8_matrix::Matrix;
use crate::vectors::kernels::GROUP_ROWS;
use crate::vectors::log::Record;
use crate::vectors::row_set::RowSet;

/// A set with at least this part of all memories is looked for row by row instead of memory by memory.
const DENSE_PART: usize = 2;

/// The ordinal of a dead row; in no set.
const DEAD: u32 = u32::MAX;

/// One row per put record, in the log's order, so that replaying a log always gives the same row numbers: the graph's
/// keys. Rows are never removed, only dead; `compacted` starts over.
#[derive(Debug)]
pub struct RowTable {
    dimensions: usize,
    matrix: Matrix,
    chunk_keys: Vec<u64>,
    ordinals: Vec<u32>,
    records: Vec<u32>,
    /// The rows of each memory, by ordinal: they lie together because a memory is published whole.
    ranges: Vec<RowRange>,
    live: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct RowRange {
    start: u32,
    count: u32,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOrigin {
    /// The chunk.
    pub chunk_key: u64,
    /// Its memory.
    pub ordinal: u32,
    /// The log record with its vector.
    pub record: u64,
}

impl RowTable {
    /// An empty table for vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        RowTable {
            dimensions,
            matrix: Matrix::new(dimensions),
            chunk_keys: Vec::new(),
            ordinals: Vec::new(),
            records: Vec::new(),
            ranges: Vec::new(),
            live: 0,
        }
    }

    /// Applies the log's record `number`.
    pub fn apply(&mut self, number: u64, record: Record<'_>, candidates: &Candidates) {
        match record {
            Record::Put { chunk_key, memory_key, vector } => {
                self.push_keys(RowOrigin { chunk_key, ordinal: candidates.ordinal(memory_key), record: number });
                self.matrix.push(vector);
            }
            Record::Remove { memory_key } => self.kill(candidates.ordinal(memory_key)),
        }
    }

    /// Rows, dead ones included.
    pub fn len(&self) -> usize {
        self.ordinals.len()
    }

    /// Rows that count.
    pub fn live(&self) -> usize {
        self.live
    }

    /// What a row stands for; it must be below `len()`.
    pub fn origin(&self, row: u32) -> RowOrigin {
        let row = row as usize;
        RowOrigin { chunk_key: self.chunk_keys[row], ordinal: self.ordinals[row], record: u64::from(self.records[row]) }
    }

    /// The live rows, ascending.
    pub fn live_rows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter(|row| self.is_live(*row))
    }

    /// Whether a row is alive; it must be below `len()`.
    pub fn is_live(&self, row: u32) -> bool {
        self.ordinals[row as usize] != DEAD
    }

    /// Whether a row is alive and its memory in the set. False for rows that do not exist; never panics.
    #[inline]
    pub fn is_in(&self, row: u32, set: &MemorySet) -> bool {
        self.ordinals.get(row as usize).is_some_and(|ordinal| set.contains(*ordinal))
    }

    /// How many live rows a memory has.
    pub fn rows_of_memory(&self, ordinal: u32) -> usize {
        self.ranges.get(ordinal as usize).map_or(0, |range| range.count as usize)
    }

    /// The live row of a chunk of a memory; `None` where the memory has no such chunk. A memory's chunks are published
    /// in the order of their keys; where they were not, all of them are looked at.
    pub fn row_of(&self, ordinal: u32, chunk_key: u64) -> Option<u32> {
        let RowRange { start, count } = *self.ranges.get(ordinal as usize)?;
        let keys = &self.chunk_keys[start as usize..(start + count) as usize];
        let at = keys.binary_search(&chunk_key).ok().or_else(|| keys.iter().position(|key| *key == chunk_key))?;
        Some(start + at as u32)
    }

    /// The live rows of a set's memories.
    pub fn rows_of(&self, set: &MemorySet) -> RowSet {
        if set.len() >= self.ranges.len() / DENSE_PART {
            // One walk over all rows, in the order in which they lie; a dead row's ordinal is in no set.
            let mut rows = RowSet::with_room_for(self.len());
            for (group, ordinals) in self.ordinals.chunks(GROUP_ROWS).enumerate() {
                let places = ordinals.iter().enumerate();
                let bits = places.fold(0, |bits, (at, ordinal)| bits | u32::from(set.contains(*ordinal)) << at);
                rows.push_group(group as u32, bits);
            }
            return rows;
        }
        let mut rows = RowSet::default();
        for range in set.iter().filter_map(|ordinal| self.ranges.get(ordinal as usize)) {
            rows.extend(range.start..range.start + range.count);
        }
        rows
    }

    /// `Matrix::nearest` over the given rows.
    pub fn nearest(&self, query: &[f32], rows: &RowSet, limit: usize) -> Vec<u32> {
        self.matrix.nearest(query, rows, limit)
    }

    /// `Matrix::nearest_of_all` over the given rows.
    pub fn nearest_of_all(&self, query: &[f32], rows: &RowSet, limit: usize) -> Vec<u32> {
        self.matrix.nearest_of_all(query, rows, limit)
    }

    /// The live rows alone, as a log that holds only their records, in this order, numbers them.
    pub fn compacted(&self) -> RowTable {
        let mut table = RowTable::new(self.dimensions);
        for (record, row) in self.live_rows().enumerate() {
            table.push_keys(RowOrigin { record: record as u64, ..self.origin(row) });
            table.matrix.push_row_of(&self.matrix, row);
        }
        table
    }

    fn push_keys(&mut self, origin: RowOrigin) {
        let (row, memory) = (self.len() as u32, origin.ordinal as usize);
        if self.ranges.len() <= memory {
            self.ranges.resize(memory + 1, RowRange::default());
        }
        let RowRange { start, count } = self.ranges[memory];
        if count > 0 && start + count != row {
            // Rows of an older publishing whose removal record was lost to damage: the newer rows replace them.
            self.kill(origin.ordinal);
        }
        let range = &mut self.ranges[memory];
        if range.count == 0 {
            range.start = row;
        }
        range.count += 1;
        self.chunk_keys.push(origin.chunk_key);
        self.ordinals.push(origin.ordinal);
        self.records.push(u32::try_from(origin.record).expect("a log has fewer than 2^32 records"));
        self.live += 1;
    }

    fn kill(&mut self, ordinal: u32) {
        let Some(range) = self.ranges.get_mut(ordinal as usize) else { return };
        let RowRange { start, count } = std::mem::take(range);
        self.ordinals[start as usize..(start + count) as usize].fill(DEAD);
        self.live -= count as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::log::to_bf16;
    use mneme_testing::Chance;
    use std::collections::BTreeMap;

    const DIMENSIONS: usize = 4;

    fn put(table: &mut RowTable, number: u64, chunk_key: u64, memory_key: u64, candidates: &Candidates) {
        let vector = to_bf16(&[1.0, 0.0, 0.0, 0.0]);
        table.apply(number, Record::Put { chunk_key, memory_key, vector: &vector }, candidates);
    }

    fn live_chunks(table: &RowTable) -> Vec<u64> {
        table.live_rows().map(|row| table.origin(row).chunk_key).collect()
    }

    #[test]
    fn holds_the_chunks_that_a_map_of_memories_holds() {
        let mut chance = Chance::new();
        let (candidates, mut table) = (Candidates::default(), RowTable::new(DIMENSIONS));
        let mut model: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let (mut number, mut next_chunk) = (0, 1);
        for _ in 0..500 {
            let memory_key = 1 + chance.below(30) as u64;
            if model.remove(&memory_key).is_some() {
                table.apply(number, Record::Remove { memory_key }, &candidates);
                number += 1;
            }
            for _ in 0..chance.below(4) {
                put(&mut table, number, next_chunk, memory_key, &candidates);
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
        assert_eq!(table.live(), expected.len());
        // All but one of the memories, of whose rows many are dead.
        let others: MemorySet = model.keys().skip(1).map(|key| candidates.ordinal(*key)).collect();
        let found = table.rows_of(&others);
        let mut keys: Vec<u64> = found.iter().map(|row| table.origin(row).chunk_key).collect();
        keys.sort_unstable();
        let mut expected: Vec<u64> = model.values().skip(1).flatten().copied().collect();
        expected.sort_unstable();
        assert_eq!((found.len(), keys), (expected.len(), expected));
        for (memory_key, chunks) in &model {
            let mut set = MemorySet::default();
            set.insert(candidates.ordinal(*memory_key));
            let found: Vec<u64> = table.rows_of(&set).iter().map(|row| table.origin(row).chunk_key).collect();
            assert_eq!(&found, chunks);
            let ordinal = candidates.ordinal(*memory_key);
            assert_eq!(table.rows_of_memory(ordinal), chunks.len());
            let origins = chunks.iter().map(|key| table.row_of(ordinal, *key).map(|row| table.origin(row).chunk_key));
            assert!(origins.eq(chunks.iter().map(|key| Some(*key))));
            assert_eq!(table.row_of(ordinal, next_chunk), None);
        }
    }

    #[test]
    fn a_memory_published_again_after_a_lost_removal_has_its_newer_chunks_only() {
        let (candidates, mut table) = (Candidates::default(), RowTable::new(DIMENSIONS));
        put(&mut table, 0, 10, 1, &candidates);
        put(&mut table, 1, 11, 1, &candidates);
        put(&mut table, 2, 20, 2, &candidates);
        // Record 3, the removal of memory 1, is damaged.
        put(&mut table, 4, 12, 1, &candidates);
        assert_eq!(live_chunks(&table), [20, 12]);
    }
}
