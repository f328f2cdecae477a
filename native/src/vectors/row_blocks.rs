//! Rows of bytes in memory: how the matrix and its signs lie. What the bytes mean is their owners' affair.

use memmap2::{Advice, MmapMut};

use crate::vectors::kernels::{BLOCK_ROWS, RowLayout};

/// Rows of one length, appended and never changed or moved. Memory is taken block by block, and used as it is filled.
#[derive(Debug)]
pub struct RowBlocks {
    row_bytes: usize,
    blocks: Vec<MmapMut>,
    rows: usize,
}

impl RowBlocks {
    /// No rows yet, of `row_bytes` each.
    pub fn new(row_bytes: usize) -> Self {
        RowBlocks { row_bytes, blocks: Vec::new(), rows: 0 }
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Appends a row of zeros and lends it; rows are numbered from 0.
    pub fn next_row(&mut self) -> &mut [u8] {
        if self.rows.is_multiple_of(BLOCK_ROWS) {
            let block = MmapMut::map_anon(BLOCK_ROWS * self.row_bytes).expect("the address space has room for a block");
            if !self.blocks.is_empty() {
                // Jumping between small pages costs a scan half its time. The first block does without, so that a small
                // project takes no more memory than it fills; where the system has no large pages, all do.
                let _ = block.advise(Advice::HugePage);
            }
            self.blocks.push(block);
        }
        self.rows += 1;
        self.last_row()
    }

    /// The row that was appended last; there must be one.
    pub fn last_row(&mut self) -> &mut [u8] {
        let within = (self.rows - 1) % BLOCK_ROWS;
        let block = self.blocks.last_mut().expect("a row was appended");
        &mut block[within * self.row_bytes..][..self.row_bytes]
    }

    /// A row that was appended before.
    pub fn row(&self, row: u32) -> &[u8] {
        let (block, within) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        &self.blocks[block][within * self.row_bytes..][..self.row_bytes]
    }

    /// Appends row `row` of others of the same length.
    pub fn push_row_of(&mut self, other: &RowBlocks, row: u32) {
        self.next_row().copy_from_slice(other.row(row));
    }

    /// Lends the rows to a kernel.
    pub fn with_layout<Found>(&self, scan: impl FnOnce(RowLayout<'_>) -> Found) -> Found {
        let blocks: Vec<&[u8]> = self.blocks.iter().map(|block| &block[..]).collect();
        scan(RowLayout { blocks: &blocks, row_bytes: self.row_bytes })
    }
}
