//! All vectors of a project as 8-bit rows in memory: what the exact scan walks.
//! The bf16 originals stay in the log; which rows are live is `vector_index`' affair.

use half::bf16;
use memmap2::{Advice, MmapMut};

use crate::kernels::{self, BLOCK_ROWS, LINE_BYTES, RowLayout, TopRows};

/// Components of a unit vector beyond this many standard deviations are clamped. At 384 dimensions the scale becomes
/// 508 (a quarter is the largest component), which lost no neighbour within the 40 rescored (ARCHITECTURE.md, "Measured").
const CLAMP_DEVIATIONS: f32 = 4.9;

/// Quantised rows, appended and never changed or moved. Memory is taken block by block, and used as it is filled.
#[derive(Debug)]
pub struct Matrix {
    dimensions: usize,
    scale: f32,
    blocks: Vec<MmapMut>,
    rows: usize,
}

impl Matrix {
    /// An empty matrix of unit vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        // A component of a random unit vector deviates by 1/sqrt(d); none is greater than 1.
        let largest = (CLAMP_DEVIATIONS / (dimensions as f32).sqrt()).min(1.0);
        Matrix { dimensions, scale: 127.0 / largest, blocks: Vec::new(), rows: 0 }
    }

    /// Appends a unit vector `[dimensions]`; rows are numbered from 0.
    pub fn push(&mut self, vector: &[bf16]) {
        let scale = self.scale;
        let quantised = vector.iter().map(|component| (quantise(component.to_f32(), scale) as i16 + 128) as u8);
        self.next_row().iter_mut().zip(quantised).for_each(|(byte, component)| *byte = component);
    }

    /// Appends row `row` of another matrix of the same dimensions.
    pub fn push_row_of(&mut self, other: &Matrix, row: u32) {
        let start = row as usize % BLOCK_ROWS * self.row_bytes();
        let bytes = &other.blocks[row as usize / BLOCK_ROWS][start..start + self.row_bytes()];
        self.next_row().copy_from_slice(bytes);
    }

    /// The `limit` rows among `rows` nearest to a unit query `[dimensions]`, in no particular order. Approximate to the
    /// 8 bits; callers rescore. About 16 ns a row at 384 dimensions.
    pub fn nearest(&self, query: &[f32], rows: &[u32], limit: usize) -> Vec<u32> {
        let mut quantised: Vec<i8> = query.iter().map(|component| quantise(*component, self.scale)).collect();
        quantised.resize(self.row_bytes(), 0);
        let blocks: Vec<&[u8]> = self.blocks.iter().map(|block| &block[..]).collect();
        let layout = RowLayout { blocks: &blocks, row_bytes: self.row_bytes() };
        let mut top = TopRows::new(limit.max(1));
        kernels::scan(layout, rows, &quantised, &mut top);
        top.into_rows()
    }

    /// Rows are padded with zeros to whole lines.
    fn row_bytes(&self) -> usize {
        self.dimensions.next_multiple_of(LINE_BYTES)
    }

    fn next_row(&mut self) -> &mut [u8] {
        let (row_bytes, within) = (self.row_bytes(), self.rows % BLOCK_ROWS);
        if within == 0 {
            let block = MmapMut::map_anon(BLOCK_ROWS * row_bytes).expect("the address space has room for a block");
            if !self.blocks.is_empty() {
                // Jumping between small pages costs a scan half its time. The first block does without, so that a small
                // project takes no more memory than it fills; where the system has no large pages, all do.
                let _ = block.advise(Advice::HugePage);
            }
            self.blocks.push(block);
        }
        self.rows += 1;
        let block = self.blocks.last_mut().expect("a block was pushed for the first row");
        &mut block[within * row_bytes..][..row_bytes]
    }
}

fn quantise(component: f32, scale: f32) -> i8 {
    (component * scale).round().clamp(-127.0, 127.0) as i8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Chance;
    use crate::vector_log::to_bf16;

    #[test]
    fn a_copied_row_scores_as_the_original() {
        let mut chance = Chance::new();
        let mut matrix = Matrix::new(70);
        let vectors: Vec<Vec<f32>> = (0..BLOCK_ROWS + 10).map(|_| chance.unit_vector(70)).collect();
        vectors.iter().for_each(|vector| matrix.push(&to_bf16(vector)));
        let mut copy = Matrix::new(70);
        for row in (0..matrix.rows as u32).rev() {
            copy.push_row_of(&matrix, row);
        }
        let all: Vec<u32> = (0..matrix.rows as u32).collect();
        for row in [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 9] {
            assert_eq!(matrix.nearest(&vectors[row], &all, 1), [row as u32]);
            assert_eq!(copy.nearest(&vectors[row], &all, 1), [(matrix.rows - 1 - row) as u32]);
        }
    }
}
