//! All vectors of a project in memory, with one byte per component (int8, scalar quantisation). Scans read them. The
//! exact vectors (bf16) stay on disk in the log. `row_table` knows which rows are alive.

use half::bf16;

use crate::vectors::binary_codes::BinaryCodes;
use crate::vectors::kernels::{self, CACHE_LINE_BYTES, TopRows};
use crate::vectors::row_blocks::RowBlocks;
use crate::vectors::row_set::RowSet;

/// Range of components of a unit vector in standard deviations; components outside it are clamped. At 384 dimensions,
/// the largest component is then a quarter, and the scale factor is 508. With 40 rescored rows, quantisation lost none
/// of the nearest vectors (docs/measurements.md, "int8 scan").
const CLAMP_DEVIATIONS: f32 = 4.9;

/// Minimum number of dimensions for binary codes. The codes of shorter vectors distinguish rows too poorly, and their
/// int8 rows are short anyway.
const CODES_DIMENSIONS_MIN: usize = 64;
/// Binary codes select one in this many rows of a set for the int8 scan. Measured recall of the true 10/110/200 nearest
/// of 145,292 rows, for query vectors of other subjects: 1.000/.998/.994 if a sixteenth is selected; 1.000/.999/.997
/// for a twelfth, in 1.2 times the time; 1.000/.993/.986 for a 24th, in .85 times the time (docs/measurements.md,
/// "Binary codes first").
const SELECTED_DIVISOR: usize = 16;
/// Minimum number of rows that binary codes select. Small sets need a larger part: of 14,500 rows, a sixteenth has
/// recall .998/.948/.899 of the true 10/110/200 nearest, and 4,096 rows have 1.000/.999 of the 10/110 nearest.
const SELECTED_MIN: usize = 4_096;
/// Minimum number of rows that binary codes select for each row that the caller wants.
const SELECTED_PER_WANTED: usize = 32;

/// Binary codes are not used if they are more similar to each other than this (`BinaryCodes::common_part`). Passages of
/// books have .15 with the default embedding model. In a test, the same vector was added to all their vectors to raise
/// this value. Selecting a sixteenth of the rows then had this recall of the true 10/110 nearest: 1.000/.991 at .27,
/// 1.000/.978 at .34, .997/.953 at .42.
const COMMON_PART_MAX: f32 = 0.3;

/// The int8 vectors of all rows, and their binary codes. Rows are appended and never changed.
#[derive(Debug)]
pub struct Int8Matrix {
    /// A component times this factor is its int8 value, before rounding.
    scale: f32,
    rows: RowBlocks,
    /// Binary codes of the rows; `None` for vectors of fewer than `CODES_DIMENSIONS_MIN` dimensions.
    codes: Option<BinaryCodes>,
}

impl Int8Matrix {
    /// Creates a matrix without rows, for unit vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        // A component of a random unit vector has the standard deviation 1/sqrt(dimensions), and never exceeds 1.
        let largest = (CLAMP_DEVIATIONS / (dimensions as f32).sqrt()).min(1.0);
        // Rows are padded with zeros to whole cache lines.
        let rows = RowBlocks::new(dimensions.next_multiple_of(CACHE_LINE_BYTES));
        let codes = (dimensions >= CODES_DIMENSIONS_MIN).then(|| BinaryCodes::new(dimensions));
        Int8Matrix { scale: 127.0 / largest, rows, codes }
    }

    /// Appends a unit vector `[dimensions]`. Rows are numbered from 0.
    pub fn push(&mut self, vector: &[bf16]) {
        let scale = self.scale;
        let quantised = vector.iter().map(|component| (quantise(component.to_f32(), scale) as i16 + 128) as u8);
        self.rows.next_row().iter_mut().zip(quantised).for_each(|(byte, component)| *byte = component);
        if let Some(codes) = &mut self.codes {
            codes.push(vector);
        }
    }

    /// Appends a copy of row `row` of another matrix, whose vectors must have the same dimensions.
    pub fn push_row_of(&mut self, other: &Int8Matrix, row: u32) {
        self.rows.push_row_of(&other.rows, row);
        if let (Some(codes), Some(other_codes)) = (&mut self.codes, &other.codes) {
            codes.push_row_of(other_codes, row);
        }
    }

    /// The `limit` rows among `rows` with the highest dot product with a unit query `[dimensions]`, in no particular
    /// order. The result is approximate, because int8 values are rounded, and because in large sets binary codes select
    /// the rows that are scanned. Callers rescore it.
    pub fn search(&self, query: &[f32], rows: &RowSet, limit: usize) -> Vec<u32> {
        let part = rows.len() / SELECTED_DIVISOR;
        let selected_count = part.max(SELECTED_MIN).max(limit.saturating_mul(SELECTED_PER_WANTED));
        let are_useful =
            |codes: &&BinaryCodes| kernels::has_fast_code_lookup() && codes.common_part() <= COMMON_PART_MAX;
        let codes = self.codes.as_ref().filter(are_useful);
        match codes.and_then(|codes| codes.best_rows(query, rows, selected_count)) {
            Some(mut selected) => {
                // Sorts the rows, so that memory is read in the order of addresses. The rows of a set may be in another
                // order: that of the ordinals of their memories.
                selected.sort_unstable();
                self.scan(query, &selected, limit)
            }
            None => self.search_without_codes(query, rows, limit),
        }
    }

    /// Like `search`, but scans the int8 vectors of all rows in `rows`. Takes about 16 ns per row at 384 dimensions.
    pub fn search_without_codes(&self, query: &[f32], rows: &RowSet, limit: usize) -> Vec<u32> {
        self.scan(query, &rows.iter().collect::<Vec<_>>(), limit)
    }

    /// Scans the int8 vectors of `rows`, in the order of that list.
    fn scan(&self, query: &[f32], rows: &[u32], limit: usize) -> Vec<u32> {
        let mut quantised: Vec<i8> = query.iter().map(|component| quantise(*component, self.scale)).collect();
        quantised.resize(self.rows.row_bytes(), 0);
        let mut top = TopRows::new(limit.max(1));
        self.rows.with_layout(|layout| kernels::scan(layout, rows, &quantised, &mut top));
        top.into_rows()
    }
}

/// Multiplies a component by `scale` and rounds it to an integer from -127 to 127.
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
    fn a_copied_row_is_found_like_the_original() {
        let mut chance = Chance::new();
        let mut matrix = Int8Matrix::new(70);
        let rows = BLOCK_ROWS + 10;
        let vectors: Vec<Vec<f32>> = (0..rows).map(|_| chance.unit_vector(70)).collect();
        vectors.iter().for_each(|vector| matrix.push(&to_bf16(vector)));
        let mut copy = Int8Matrix::new(70);
        for row in (0..rows as u32).rev() {
            copy.push_row_of(&matrix, row);
        }
        let all: RowSet = (0..rows as u32).collect();
        for row in [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 9] {
            assert_eq!(matrix.search(&vectors[row], &all, 1), [row as u32]);
            assert_eq!(copy.search(&vectors[row], &all, 1), [(rows - 1 - row) as u32]);
        }
    }

    /// A random unit vector near one of `centres`. Vectors near the same centre are about as similar as passages about
    /// the same subject.
    fn clustered(centres: &[Vec<f32>], chance: &mut Chance) -> Vec<f32> {
        let (centre, noise) = (&centres[chance.below(centres.len())], chance.unit_vector(centres[0].len()));
        let sum: Vec<f32> = centre.iter().zip(&noise).map(|(component, noise)| component + noise).collect();
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        sum.iter().map(|x| x / length).collect()
    }

    #[test]
    fn large_sets_find_99_of_100_nearest_rows_and_none_outside_the_set() {
        const DIMENSIONS: usize = 384;
        const ROWS: u32 = 24_000;
        let mut chance = Chance::new();
        let centres: Vec<Vec<f32>> = (0..150).map(|_| chance.unit_vector(DIMENSIONS)).collect();
        let mut matrix = Int8Matrix::new(DIMENSIONS);
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
                let codes = matrix.codes.as_ref().expect("the vectors have codes");
                let set: RowSet = rows.iter().copied().collect();
                assert!(codes.best_rows(&query, &set, SELECTED_MIN).is_some(), "codes are used");
                let near = matrix.search(&query, &set, 40);
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
    fn small_sets_and_short_vectors_are_scanned_without_codes() {
        let mut chance = Chance::new();
        for (dimensions, rows) in
            [(1, 6_000), (CODES_DIMENSIONS_MIN - 1, 6_000), (CODES_DIMENSIONS_MIN, SELECTED_MIN as u32)]
        {
            let mut matrix = Int8Matrix::new(dimensions);
            (0..rows).for_each(|_| matrix.push(&to_bf16(&chance.unit_vector(dimensions))));
            let all: RowSet = (0..rows).collect();
            let query = chance.unit_vector(dimensions);
            let (mut near, mut whole) =
                (matrix.search(&query, &all, 30), matrix.search_without_codes(&query, &all, 30));
            near.sort_unstable();
            whole.sort_unstable();
            assert_eq!(near, whole, "{dimensions} components");
        }
    }

    #[test]
    fn vectors_with_much_in_common_are_scanned_without_codes() {
        let mut chance = Chance::new();
        let mut positive = || -> Vec<f32> { chance.unit_vector(64).into_iter().map(f32::abs).collect() };
        let mut matrix = Int8Matrix::new(64);
        (0..8_000).for_each(|_| matrix.push(&to_bf16(&positive())));
        let all: RowSet = (0..8_000).collect();
        let query = positive();
        let codes = matrix.codes.as_ref().expect("the vectors have codes");
        assert!(codes.common_part() > COMMON_PART_MAX && codes.best_rows(&query, &all, SELECTED_MIN).is_some());
        let (mut near, mut whole) = (matrix.search(&query, &all, 30), matrix.search_without_codes(&query, &all, 30));
        near.sort_unstable();
        whole.sort_unstable();
        assert_eq!(near, whole);
    }
}
