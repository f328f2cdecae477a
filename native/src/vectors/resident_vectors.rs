//! Copies of the log's vectors in memory, so that rescoring a small project needs no reads. One budget limits the
//! copies of all open projects. `row_table` decides which rows there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use half::bf16;

/// Number of vectors per block of memory.
const BLOCK_VECTORS: usize = 128;

/// Limit for the memory of several `ResidentVectors`.
#[derive(Debug)]
pub struct MemoryBudget {
    used_bytes: AtomicUsize,
    bytes_max: usize,
}

/// The budget of this process: 43,000 vectors of 384 dimensions.
pub static RESIDENT_VECTORS: MemoryBudget = MemoryBudget::new(32 << 20);

impl MemoryBudget {
    /// Creates a budget of `bytes_max` bytes.
    pub const fn new(bytes_max: usize) -> Self {
        MemoryBudget { used_bytes: AtomicUsize::new(0), bytes_max }
    }

    /// Takes bytes from the budget, unless too few are left.
    fn take(&self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}

/// The vectors of all rows of a table, as the log has them.
#[derive(Debug)]
pub struct ResidentVectors {
    dimensions: usize,
    budget: &'static MemoryBudget,
    blocks: Vec<Vec<bf16>>,
    taken_bytes: usize,
}

impl ResidentVectors {
    /// Creates memory without vectors, for vectors `[dimensions]`.
    pub fn new(dimensions: usize, budget: &'static MemoryBudget) -> Self {
        ResidentVectors { dimensions, budget, blocks: Vec::new(), taken_bytes: 0 }
    }

    /// Appends a vector `[dimensions]`. Returns false if the budget does not allow it.
    pub fn push(&mut self, vector: &[bf16]) -> bool {
        if self.is_last_block_full() {
            if !self.budget.take(self.block_bytes()) {
                return false;
            }
            self.add_block();
        }
        self.append(vector);
        true
    }

    /// The vector of a row, `[dimensions]`. Rows are numbered from 0.
    pub fn vector(&self, row: u32) -> &[bf16] {
        let (block, index) = (row as usize / BLOCK_VECTORS, row as usize % BLOCK_VECTORS);
        &self.blocks[block][index * self.dimensions..][..self.dimensions]
    }

    /// Overwrites the vector of a row with zeros.
    pub fn erase(&mut self, row: u32) {
        let (block, index) = (row as usize / BLOCK_VECTORS, row as usize % BLOCK_VECTORS);
        self.blocks[block][index * self.dimensions..][..self.dimensions].fill(bf16::ZERO);
    }

    /// Copies some rows. The copy may exceed the budget, because it soon replaces the original.
    pub fn copy_of(&self, rows: impl Iterator<Item = u32>) -> ResidentVectors {
        let mut copy = ResidentVectors::new(self.dimensions, self.budget);
        for row in rows {
            if copy.is_last_block_full() {
                self.budget.used_bytes.fetch_add(self.block_bytes(), Ordering::Relaxed);
                copy.add_block();
            }
            copy.append(self.vector(row));
        }
        copy
    }

    fn is_last_block_full(&self) -> bool {
        self.blocks.last().is_none_or(|block| block.len() == BLOCK_VECTORS * self.dimensions)
    }

    fn append(&mut self, vector: &[bf16]) {
        self.blocks.last_mut().expect("a block was added").extend_from_slice(vector);
    }

    /// Adds a block that was taken from the budget.
    fn add_block(&mut self) {
        self.taken_bytes += self.block_bytes();
        self.blocks.push(Vec::with_capacity(BLOCK_VECTORS * self.dimensions));
    }

    fn block_bytes(&self) -> usize {
        BLOCK_VECTORS * self.dimensions * size_of::<bf16>()
    }
}

impl Drop for ResidentVectors {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.taken_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::log::to_bf16;

    /// A budget for `blocks` blocks of vectors with two dimensions.
    fn budget(blocks: usize) -> &'static MemoryBudget {
        Box::leak(Box::new(MemoryBudget::new(blocks * BLOCK_VECTORS * 2 * size_of::<bf16>())))
    }

    fn vector(number: usize) -> Vec<bf16> {
        to_bf16(&[number as f32, -1.0])
    }

    #[test]
    fn one_budget_limits_all_tables_and_gets_its_bytes_back() {
        let budget = budget(2);
        let (mut one, mut other) = (ResidentVectors::new(2, budget), ResidentVectors::new(2, budget));
        assert!((0..BLOCK_VECTORS).all(|number| one.push(&vector(number))));
        assert!((0..BLOCK_VECTORS).all(|number| other.push(&vector(number))));
        assert!(!one.push(&vector(0)), "the budget is used up");
        assert!(!other.push(&vector(0)), "the budget is used up");
        drop(other);
        assert!(one.push(&vector(BLOCK_VECTORS)));
        drop(one);
        assert_eq!(budget.used_bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_copy_has_the_chosen_rows_although_the_budget_is_used_up() {
        let budget = budget(2);
        let mut all = ResidentVectors::new(2, budget);
        assert!((0..2 * BLOCK_VECTORS).all(|number| all.push(&vector(number))));
        all.erase(3);
        let copy = all.copy_of((0..2 * BLOCK_VECTORS as u32).filter(|row| row % 2 == 1));
        assert_eq!(copy.vector(0), vector(1));
        assert_eq!(copy.vector(1), [bf16::ZERO; 2], "it was erased");
        assert_eq!(copy.vector(BLOCK_VECTORS as u32 - 1), vector(2 * BLOCK_VECTORS - 1));
        drop((all, copy));
        assert_eq!(budget.used_bytes.load(Ordering::Relaxed), 0);
    }
}
