//! Memory for many rows of bytes of equal length. `int4_matrix` and `binary_codes` define the content of the rows. It
//! has `unsafe` code, because a thread may read finished rows while another appends rows behind them.

use std::sync::Arc;

use memmap2::{Advice, MmapMut, MmapRaw};

use crate::vectors::kernels::{BLOCK_ROWS, RowLayout};

/// Rows of equal length. Rows are appended and never moved. Address space is reserved block by block; memory is used
/// only as rows are written.
#[derive(Debug)]
pub struct RowBlocks {
    row_bytes: usize,
    blocks: Vec<Arc<MmapRaw>>,
    rows: usize,
}

/// The finished rows of `RowBlocks`, which can be read while further rows are appended. Keeps their memory allocated.
#[derive(Debug, Clone)]
pub struct FinishedRows {
    row_bytes: usize,
    blocks: Vec<Arc<MmapRaw>>,
    rows: usize,
}

impl RowBlocks {
    /// Creates memory without rows, for rows of `row_bytes` bytes.
    pub fn new(row_bytes: usize) -> Self {
        RowBlocks { row_bytes, blocks: Vec::new(), rows: 0 }
    }

    /// Number of bytes per row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Appends a row of zeros and returns it. Rows are numbered from 0.
    pub fn next_row(&mut self) -> &mut [u8] {
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            let block = MmapMut::map_anon(BLOCK_ROWS * self.row_bytes).expect("there is address space for a block");
            if !self.blocks.is_empty() {
                // With small pages, a scan that jumps between rows takes twice as long. The first block has small
                // pages, so that a small project uses only the memory that it fills. A system without huge pages
                // ignores this request.
                let _ = block.advise(Advice::HugePage);
            }
            self.blocks.push(Arc::new(block.into()));
        }
        self.rows += 1;
        self.last_row()
    }

    /// The last row. There must be at least one row. It must not be changed after `finished` was called.
    pub fn last_row(&mut self) -> &mut [u8] {
        let index = (self.rows - 1) % BLOCK_ROWS;
        let block = self.blocks.last().expect("a row was appended");
        // SAFETY: the row is within the block. No reference to it exists: those of `row` and `with_layout` borrow
        // `self`, and `FinishedRows` has only rows that were finished before, which are others.
        unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr().add(index * self.row_bytes), self.row_bytes) }
    }

    /// The row with the given number.
    pub fn row(&self, row: u32) -> &[u8] {
        let (block, index) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        &whole_block(&self.blocks[block], BLOCK_ROWS * self.row_bytes)[index * self.row_bytes..][..self.row_bytes]
    }

    /// Appends a copy of row `row` of `other`, whose rows must have the same length.
    pub fn push_row_of(&mut self, other: &RowBlocks, row: u32) {
        self.next_row().copy_from_slice(other.row(row));
    }

    /// Calls `kernel` with the memory layout of the rows.
    pub fn with_layout<Output>(&self, kernel: impl FnOnce(RowLayout<'_>) -> Output) -> Output {
        let length = BLOCK_ROWS * self.row_bytes;
        let blocks: Vec<&[u8]> = self.blocks.iter().map(|block| whole_block(block, length)).collect();
        kernel(RowLayout { blocks: &blocks, row_bytes: self.row_bytes })
    }

    /// Returns the rows that exist at this moment, for a thread that reads them while further rows are appended. None
    /// of them may be changed afterwards.
    pub fn finished(&self) -> FinishedRows {
        FinishedRows { row_bytes: self.row_bytes, blocks: self.blocks.clone(), rows: self.rows }
    }
}

impl FinishedRows {
    /// Calls `kernel` with the memory layout of the rows. The last block ends after the last of them.
    pub fn with_layout<Output>(&self, kernel: impl FnOnce(RowLayout<'_>) -> Output) -> Output {
        let blocks: Vec<&[u8]> = (self.blocks.iter().enumerate())
            .map(|(at, block)| {
                let rows = (self.rows - at * BLOCK_ROWS).min(BLOCK_ROWS);
                whole_block(block, rows * self.row_bytes)
            })
            .collect();
        kernel(RowLayout { blocks: &blocks, row_bytes: self.row_bytes })
    }
}

/// The first `length` bytes of a block. The caller knows that no row in them is being written.
fn whole_block(block: &MmapRaw, length: usize) -> &[u8] {
    assert!(length <= block.len(), "a block is not longer than its memory");
    // SAFETY: the bytes are within the block, and the mapping has zeros where no row was written. The thread that
    // appends needs `&mut RowBlocks`, so readers of `RowBlocks` exclude it; `FinishedRows` passes a length that ends
    // before the first row that may be written.
    unsafe { std::slice::from_raw_parts(block.as_ptr(), length) }
}
