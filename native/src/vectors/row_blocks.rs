//! Memory for many rows of bytes of equal length. `int4_matrix` and `binary_codes` define the content of the rows.

use memmap2::{Advice, MmapMut};

use crate::vectors::kernels::{BLOCK_ROWS, RowLayout};

/// Rows of equal length. Rows are appended and never moved. Address space is reserved block by block; memory is used
/// only as rows are written.
#[derive(Debug)]
pub struct RowBlocks {
    row_bytes: usize,
    blocks: Vec<MmapMut>,
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
            self.blocks.push(block);
        }
        self.rows += 1;
        self.last_row()
    }

    /// The last row. There must be at least one row.
    pub fn last_row(&mut self) -> &mut [u8] {
        let index = (self.rows - 1) % BLOCK_ROWS;
        let block = self.blocks.last_mut().expect("a row was appended");
        &mut block[index * self.row_bytes..][..self.row_bytes]
    }

    /// The row with the given number.
    pub fn row(&self, row: u32) -> &[u8] {
        let (block, index) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        &self.blocks[block][index * self.row_bytes..][..self.row_bytes]
    }

    /// Appends a copy of row `row` of `other`, whose rows must have the same length.
    pub fn push_row_of(&mut self, other: &RowBlocks, row: u32) {
        self.next_row().copy_from_slice(other.row(row));
    }

    /// Calls `kernel` with the memory layout of the rows.
    pub fn with_layout<Output>(&self, kernel: impl FnOnce(RowLayout<'_>) -> Output) -> Output {
        let blocks: Vec<&[u8]> = self.blocks.iter().map(|block| &block[..]).collect();
        kernel(RowLayout { blocks: &blocks, row_bytes: self.row_bytes })
    }
}
