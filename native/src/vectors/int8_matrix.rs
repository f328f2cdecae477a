//! All vectors of a project as 8-bit rows in memory: what the scan walks.
//! The bf16 originals stay in the log; which rows are live is `vectors::index`' affair.

use half::bf16;

use crate::vectors::binary_codes::Signs;
use crate::vectors::kernels::{self, LINE_BYTES, TopRows};
use crate::vectors::row_blocks::RowBlocks;
use crate::vectors::row_set::RowSet;

/// Components of a unit vector beyond this many standard deviations are clamped. At 384 dimensions the scale becomes
/// 508 (a quarter is the largest component), which lost no neighbour within the 40 rescored (ARCHITECTURE.md,
/// "Measured").
const CLAMP_DEVIATIONS: f32 = 4.9;

/// Vectors of fewer components have too few signs to tell them apart, and their rows are short anyway.
const SIGNS_DIMENSIONS_MIN: usize = 64;
/// Rows that the signs let through: this part of a set, at least so many, and so many for each that is wanted. Vectors
/// of questions of other fields at 145,292 rows, true 10/110/200 nearest found: a sixteenth 1.000/.998/.994, a twelfth
/// 1.000/.999/.997 at 1.2 times the time, a 24th 1.000/.993/.986 at .85 times. Of smaller sets a larger part is needed:
/// a sixteenth of 14,500 rows finds .998/.948/.899, 4,096 of them 1.000/.999.
const KEPT_PART: usize = 16;
const KEPT_MIN: usize = 4_096;
const KEPT_PER_WANTED: usize = 32;

/// Where signs have more than this in common (`Signs::lean`), they are not asked. Books by the default model have .15.
/// With a common part added to their vectors, a sixteenth finds of the true 10/110 at .27 1.000/.991, at .34
/// 1.000/.978, at .42 .997/.953.
const LEAN_MAX: f32 = 0.3;

/// Quantised rows, appended and never changed or moved, and beside them their signs.
#[derive(Debug)]
pub struct Matrix {
    scale: f32,
    rows: RowBlocks,
    signs: Option<Signs>,
}

impl Matrix {
    /// An empty matrix of unit vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        // A component of a random unit vector deviates by 1/sqrt(d); none is greater than 1.
        let largest = (CLAMP_DEVIATIONS / (dimensions as f32).sqrt()).min(1.0);
        // Rows are padded with zeros to whole lines.
        let rows = RowBlocks::new(dimensions.next_multiple_of(LINE_BYTES));
        let signs = (dimensions >= SIGNS_DIMENSIONS_MIN).then(|| Signs::new(dimensions));
        Matrix { scale: 127.0 / largest, rows, signs }
    }

    /// Appends a unit vector `[dimensions]`; rows are numbered from 0.
    pub fn push(&mut self, vector: &[bf16]) {
        let scale = self.scale;
        let quantised = vector.iter().map(|component| (quantise(component.to_f32(), scale) as i16 + 128) as u8);
        self.rows.next_row().iter_mut().zip(quantised).for_each(|(byte, component)| *byte = component);
        if let Some(signs) = &mut self.signs {
            signs.push(vector);
        }
    }

    /// Appends row `row` of another matrix of the same dimensions.
    pub fn push_row_of(&mut self, other: &Matrix, row: u32) {
        self.rows.push_row_of(&other.rows, row);
        if let (Some(signs), Some(others)) = (&mut self.signs, &other.signs) {
            signs.push_row_of(others, row);
        }
    }

    /// The `limit` rows among `rows` nearest to a unit query `[dimensions]`, in no particular order. Approximate to the
    /// 8 bits, and among many rows to what their signs let through; callers rescore.
    pub fn nearest(&self, query: &[f32], rows: &RowSet, limit: usize) -> Vec<u32> {
        let kept = (rows.len() / KEPT_PART).max(KEPT_MIN).max(limit.saturating_mul(KEPT_PER_WANTED));
        let signs = self.signs.as_ref().filter(|signs| kernels::looks_signs_up_at_once() && signs.lean() <= LEAN_MAX);
        match signs.and_then(|signs| signs.likeliest(query, rows, kept)) {
            Some(mut likely) => {
                // Memory is read forwards; a set's rows come by memory, which after changes is not the order they lie
                // in.
                likely.sort_unstable();
                self.scan(query, &likely, limit)
            }
            None => self.nearest_of_all(query, rows, limit),
        }
    }

    /// The same by the 8 bits of every row. About 16 ns a row at 384 dimensions.
    pub fn nearest_of_all(&self, query: &[f32], rows: &RowSet, limit: usize) -> Vec<u32> {
        self.scan(query, &rows.iter().collect::<Vec<_>>(), limit)
    }

    fn scan(&self, query: &[f32], rows: &[u32], limit: usize) -> Vec<u32> {
        let mut quantised: Vec<i8> = query.iter().map(|component| quantise(*component, self.scale)).collect();
        quantised.resize(self.rows.row_bytes(), 0);
        let mut top = TopRows::new(limit.max(1));
        self.rows.with_layout(|layout| kernels::scan(layout, rows, &quantised, &mut top));
        top.into_rows()
    }
}

fn quantise(component: f32, scale: f32) -> i8 {
    (component * scale).round().clamp(-127.0, 127.0) as i8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::kernels::BLOCK_ROWS;
    use crate::vectors::log::to_bf16;
    use mneme_testing::Chance;

    #[test]
    fn a_copied_row_scores_as_the_original() {
        let mut chance = Chance::new();
        let mut matrix = Matrix::new(70);
        let rows = BLOCK_ROWS + 10;
        let vectors: Vec<Vec<f32>> = (0..rows).map(|_| chance.unit_vector(70)).collect();
        vectors.iter().for_each(|vector| matrix.push(&to_bf16(vector)));
        let mut copy = Matrix::new(70);
        for row in (0..rows as u32).rev() {
            copy.push_row_of(&matrix, row);
        }
        let all: RowSet = (0..rows as u32).collect();
        for row in [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 9] {
            assert_eq!(matrix.nearest(&vectors[row], &all, 1), [row as u32]);
            assert_eq!(copy.nearest(&vectors[row], &all, 1), [(rows - 1 - row) as u32]);
        }
    }

    /// Vectors around `centres`, as unlike them as passages of one subject are unlike each other.
    fn clustered(centres: &[Vec<f32>], chance: &mut Chance) -> Vec<f32> {
        let (centre, noise) = (&centres[chance.below(centres.len())], chance.unit_vector(centres[0].len()));
        let sum: Vec<f32> = centre.iter().zip(&noise).map(|(a, b)| a + b).collect();
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        sum.iter().map(|x| x / length).collect()
    }

    #[test]
    fn large_sets_full_or_sparse_find_99_of_100_nearest_and_nothing_outside() {
        const DIMENSIONS: usize = 384;
        const ROWS: u32 = 24_000;
        let mut chance = Chance::new();
        let centres: Vec<Vec<f32>> = (0..150).map(|_| chance.unit_vector(DIMENSIONS)).collect();
        let mut matrix = Matrix::new(DIMENSIONS);
        let vectors: Vec<Vec<bf16>> = (0..ROWS).map(|_| to_bf16(&clustered(&centres, &mut chance))).collect();
        vectors.iter().for_each(|vector| matrix.push(vector));
        let all: Vec<u32> = (0..ROWS).collect();
        let every_other: Vec<u32> = all.iter().copied().filter(|_| chance.below(2) == 0).collect();
        let later_half_first: Vec<u32> = (ROWS / 2..ROWS).chain(0..ROWS / 4).collect();
        for rows in [all, every_other, later_half_first] {
            let (mut found, queries) = (0, 20);
            for _ in 0..queries {
                let query = clustered(&centres, &mut chance);
                let cosine = |row: &u32| kernels::cosine(&query, &vectors[*row as usize]);
                let best_of = |rows: &[u32]| -> Vec<u32> {
                    let mut scored: Vec<(f32, u32)> = rows.iter().map(|row| (cosine(row), *row)).collect();
                    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                    scored.into_iter().take(10).map(|(_, row)| row).collect()
                };
                let signs = matrix.signs.as_ref().expect("signs are kept");
                let set: RowSet = rows.iter().copied().collect();
                assert!(signs.likeliest(&query, &set, KEPT_MIN).is_some(), "the set is large enough");
                let near = matrix.nearest(&query, &set, 40);
                assert!(near.len() == 40 && near.iter().all(|row| rows.contains(row)));
                let (truth, best) = (best_of(&rows), best_of(&near));
                found += truth.iter().filter(|row| best.contains(row)).count();
            }
            assert!(
                found as f64 >= 0.99 * f64::from(queries * 10),
                "{found} of {} in {} rows",
                queries * 10,
                rows.len()
            );
        }
    }

    #[test]
    fn small_sets_and_short_vectors_are_scanned_whole() {
        let mut chance = Chance::new();
        for (dimensions, rows) in
            [(1, 6_000), (SIGNS_DIMENSIONS_MIN - 1, 6_000), (SIGNS_DIMENSIONS_MIN, KEPT_MIN as u32)]
        {
            let mut matrix = Matrix::new(dimensions);
            (0..rows).for_each(|_| matrix.push(&to_bf16(&chance.unit_vector(dimensions))));
            let all: RowSet = (0..rows).collect();
            let query = chance.unit_vector(dimensions);
            let (mut near, mut whole) = (matrix.nearest(&query, &all, 30), matrix.nearest_of_all(&query, &all, 30));
            near.sort_unstable();
            whole.sort_unstable();
            assert_eq!(near, whole, "{dimensions} components");
        }
    }

    #[test]
    fn vectors_that_lean_to_one_side_are_scanned_whole() {
        let mut chance = Chance::new();
        let mut positive = || -> Vec<f32> { chance.unit_vector(64).into_iter().map(f32::abs).collect() };
        let mut matrix = Matrix::new(64);
        (0..8_000).for_each(|_| matrix.push(&to_bf16(&positive())));
        let all: RowSet = (0..8_000).collect();
        let query = positive();
        let signs = matrix.signs.as_ref().expect("signs are kept");
        assert!(signs.lean() > LEAN_MAX && signs.likeliest(&query, &all, KEPT_MIN).is_some());
        let (mut near, mut whole) = (matrix.nearest(&query, &all, 30), matrix.nearest_of_all(&query, &all, 30));
        near.sort_unstable();
        whole.sort_unstable();
        assert_eq!(near, whole);
    }
}
