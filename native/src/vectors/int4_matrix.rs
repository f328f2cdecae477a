//! All vectors of a project in memory, with four bits per component (scalar quantisation). Scans read them. The exact
//! vectors (bf16) stay on disk in the log. `row_table` knows which rows are alive.

use half::bf16;

use crate::vectors::binary_codes::BinaryCodes;
use crate::vectors::kernels::{self, LINE_COMPONENTS, RowLayout, TopRows};
use crate::vectors::row_blocks::{FinishedRows, RowBlocks};
use crate::vectors::row_set::RowSet;
use crate::vectors::scan_threads::{PART_ROWS, ScanThreads};

/// Width of a quantisation step in standard deviations of a component. For a normal distribution, 16 equal steps have
/// the smallest error at this width (Max, Quantizing for Minimum Distortion, 1960).
const STEP_DEVIATIONS: f32 = 0.335;
/// Number of quantisation steps.
const STEPS: f32 = 16.0;
/// Range of components of a unit query in standard deviations; components outside it are clamped.
const QUERY_CLAMP_DEVIATIONS: f32 = 4.9;
/// Query components are scaled and rounded to integers of at most this magnitude.
const QUERY_LEVEL_MAX: f32 = 127.0;

/// Minimum number of dimensions for binary codes. The codes of shorter vectors distinguish rows too poorly, and their
/// 4-bit rows are short anyway.
const CODES_DIMENSIONS_MIN: usize = 64;
/// Binary codes select one in this many rows of a set for the scan of 4-bit vectors. Measured recall of the true
/// 10/110/200 nearest of 145,292 rows, for query vectors of other subjects: 1.000/0.998/0.994 if a sixteenth is
/// selected; 1.000/0.999/0.997 for a twelfth, in 1.2 times the time; 1.000/0.993/0.986 for a 24th, in 0.85 times the
/// time (docs/measurements.md, "Binary codes first").
const SELECTED_DIVISOR: usize = 16;
/// Of the rows beyond `SELECTED_LARGE`, one in this many is selected. The true 200 nearest are a smaller part of a
/// larger set, so they are better separated from the other rows (docs/measurements.md, "Binary codes first").
const SELECTED_LARGE_DIVISOR: usize = 32;
/// See `SELECTED_LARGE_DIVISOR`.
const SELECTED_LARGE: usize = 262_144;
/// Minimum number of rows that binary codes select. Small sets need a larger part: of 14,500 rows, a sixteenth has
/// recall 0.998/0.948/0.899 of the true 10/110/200 nearest, and 4,096 rows have 1.000/0.999 of the 10/110 nearest.
const SELECTED_MIN: usize = 4_096;
/// Minimum number of rows that binary codes select for each row that the caller wants.
const SELECTED_PER_WANTED: usize = 32;

/// Binary codes are not used if they are more similar to each other than this (`BinaryCodes::common_part`). Passages of
/// books have 0.15 with the default embedding model. In a test, the same vector was added to all their vectors to raise
/// this value. Selecting a sixteenth of the rows then had this recall of the true 10/110 nearest: 1.000/0.991 at 0.27,
/// 1.000/0.978 at 0.34, 0.997/0.953 at 0.42.
const COMMON_PART_MAX: f32 = 0.3;

/// The 4-bit vectors of all rows, and their binary codes. Rows are appended and never changed.
///
/// A row has a cache line for every `LINE_COMPONENTS` components. Byte n of a line has component n of them in its lower
/// four bits, and component n + 64 in its upper four bits.
#[derive(Debug)]
pub struct Int4Matrix {
    dimensions: usize,
    rows: RowBlocks,
    /// Binary codes of the rows; `None` for vectors of fewer than `CODES_DIMENSIONS_MIN` dimensions.
    codes: Option<BinaryCodes>,
}

impl Int4Matrix {
    /// Creates a matrix without rows, for unit vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        let rows = RowBlocks::new(dimensions.div_ceil(LINE_COMPONENTS) * LINE_COMPONENTS / 2);
        let codes = (dimensions >= CODES_DIMENSIONS_MIN).then(|| BinaryCodes::new(dimensions));
        Int4Matrix { dimensions, rows, codes }
    }

    /// Appends a unit vector `[dimensions]`. Rows are numbered from 0.
    pub fn push(&mut self, vector: &[bf16]) {
        // A component of a random unit vector has the standard deviation 1/sqrt(dimensions).
        let scale = (self.dimensions as f32).sqrt() / STEP_DEVIATIONS;
        let row = self.rows.next_row();
        for (line, components) in row.chunks_mut(LINE_COMPONENTS / 2).zip(vector.chunks(LINE_COMPONENTS)) {
            let (lower, upper) = components.split_at(components.len().min(LINE_COMPONENTS / 2));
            line.iter_mut().zip(lower).for_each(|(byte, component)| *byte = step(*component, scale));
            line.iter_mut().zip(upper).for_each(|(byte, component)| *byte |= step(*component, scale) << 4);
        }
        if let Some(codes) = &mut self.codes {
            codes.push(vector);
        }
    }

    /// Appends a copy of row `row` of another matrix, whose vectors must have the same dimensions.
    pub fn push_row_of(&mut self, other: &Int4Matrix, row: u32) {
        self.rows.push_row_of(&other.rows, row);
        if let (Some(codes), Some(other_codes)) = (&mut self.codes, &other.codes) {
            codes.push_row_of(other_codes, row);
        }
    }

    /// The vectors of the rows that exist at this moment. See `RowBlocks::finished`.
    pub fn finished(&self) -> FinishedVectors {
        FinishedVectors { dimensions: self.dimensions, rows: self.rows.finished() }
    }

    /// Calls `work` with the vectors of all rows.
    pub fn with_vectors<Output>(&self, work: impl FnOnce(Int4Vectors<'_>) -> Output) -> Output {
        self.rows.with_layout(|layout| work(Int4Vectors { dimensions: self.dimensions, layout }))
    }

    /// The `limit` rows among `rows` with the highest dot product with a unit query `[dimensions]`, in no particular
    /// order. The result is approximate, because the 4-bit values are rounded, and because in large sets binary codes
    /// select the rows that are scanned. Callers rescore it.
    pub fn search(&self, query: &[f32], rows: &RowSet, limit: usize, threads: &ScanThreads) -> Vec<u32> {
        let beyond = rows.len().saturating_sub(SELECTED_LARGE);
        let part = (rows.len() - beyond) / SELECTED_DIVISOR + beyond / SELECTED_LARGE_DIVISOR;
        let selected_count = part.max(SELECTED_MIN).max(limit.saturating_mul(SELECTED_PER_WANTED));
        match self.useful_codes().and_then(|codes| codes.best_rows(query, rows, selected_count, threads)) {
            // Sorts the rows, so that memory is read in the order of addresses. The rows of a set may be in another
            // order: that of the ordinals of their memories.
            Some(mut selected) => {
                selected.sort_unstable();
                self.scan(query, &selected, limit, threads)
            }
            None => self.scan(query, &rows.iter().collect::<Vec<_>>(), limit, threads),
        }
    }

    /// The binary codes, if scans of large sets begin with them.
    pub fn useful_codes(&self) -> Option<&BinaryCodes> {
        let are_useful =
            |codes: &&BinaryCodes| kernels::has_fast_code_lookup() && codes.common_part() <= COMMON_PART_MAX;
        self.codes.as_ref().filter(are_useful)
    }

    /// Scans the 4-bit vectors of `rows`, in the order of that list.
    fn scan(&self, query: &[f32], rows: &[u32], limit: usize, threads: &ScanThreads) -> Vec<u32> {
        let quantised = quantise_query(query, self.rows.row_bytes() * 2);
        let found = self.rows.with_layout(|layout| {
            threads.map_parts(rows.len(), PART_ROWS, |part| {
                let mut top = TopRows::new(limit.max(1));
                kernels::scan(layout, &rows[part], &quantised, &mut top);
                top
            })
        });
        TopRows::merged(found, limit.max(1)).into_rows()
    }
}

/// The 4-bit vectors of rows that are finished, which a thread may read while others are appended.
#[derive(Debug, Clone)]
pub struct FinishedVectors {
    dimensions: usize,
    rows: FinishedRows,
}

impl FinishedVectors {
    /// Calls `work` with the vectors.
    pub fn with_vectors<Output>(&self, work: impl FnOnce(Int4Vectors<'_>) -> Output) -> Output {
        self.rows.with_layout(|layout| work(Int4Vectors { dimensions: self.dimensions, layout }))
    }
}

/// 4-bit vectors for walks of the graph, which compare a query or a row with a few rows at a time.
#[derive(Debug, Clone, Copy)]
pub struct Int4Vectors<'rows> {
    dimensions: usize,
    layout: RowLayout<'rows>,
}

/// A query vector in the form in which it is compared with 4-bit rows.
#[derive(Debug, Clone, Default)]
pub struct Int4Query {
    levels: Vec<i8>,
    /// 15 times the sum of `levels`. `similarities` subtracts it, because step s of a row stands for 2 s - 15. Without
    /// it, similarities to different queries would not be comparable.
    offset: i32,
}

impl Int4Query {
    fn new(levels: Vec<i8>) -> Self {
        let offset = 15 * levels.iter().map(|level| i32::from(*level)).sum::<i32>();
        Int4Query { levels, offset }
    }
}

impl Int4Vectors<'_> {
    /// A unit query `[dimensions]`.
    pub fn query(&self, query: &[f32]) -> Int4Query {
        Int4Query::new(quantise_query(query, self.layout.row_bytes * 2))
    }

    /// Replaces `query` by the vector of a row. Similarity is symmetric: two rows have the same similarity whichever is
    /// the query.
    pub fn query_of_row(&self, row: u32, query: &mut Int4Query) {
        let mut levels = std::mem::take(&mut query.levels);
        levels.clear();
        for line in self.layout.row(row).chunks(LINE_COMPONENTS / 2) {
            // A step stands for the middle of its range, in units of half a step.
            levels.extend(line.iter().map(|byte| 2 * (byte & 15) as i8 - 15));
            levels.extend(line.iter().map(|byte| 2 * (byte >> 4) as i8 - 15));
        }
        levels[self.dimensions..].fill(0);
        *query = Int4Query::new(levels);
    }

    /// Stores the similarity of each of `rows` to a query in `similarities`; higher is more similar.
    pub fn similarities(&self, query: &Int4Query, rows: &[u32], similarities: &mut Vec<i32>) {
        kernels::score_rows(self.layout, rows, &query.levels, similarities);
        similarities.iter_mut().for_each(|score| *score = 2 * *score - query.offset);
    }
}

/// The number of the quantisation step of a component, from 0 to 15.
fn step(component: bf16, scale: f32) -> u8 {
    // The conversion to an integer rounds down, because the number is not negative.
    (component.to_f32() * scale + STEPS / 2.0).clamp(0.0, STEPS - 1.0) as u8
}

/// Scales the components of a unit query and rounds them to integers from -127 to 127; adds zeros up to `length`.
fn quantise_query(query: &[f32], length: usize) -> Vec<i8> {
    // A component never exceeds 1.
    let largest = (QUERY_CLAMP_DEVIATIONS / (query.len() as f32).sqrt()).min(1.0);
    let scaled = query.iter().map(|component| (component * QUERY_LEVEL_MAX / largest).round());
    let levels = scaled.map(|level| level.clamp(-QUERY_LEVEL_MAX, QUERY_LEVEL_MAX) as i8);
    levels.chain(std::iter::repeat(0)).take(length).collect()
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
        let mut matrix = Int4Matrix::new(70);
        let rows = BLOCK_ROWS + 10;
        let vectors: Vec<Vec<f32>> = (0..rows).map(|_| chance.unit_vector(70)).collect();
        vectors.iter().for_each(|vector| matrix.push(&to_bf16(vector)));
        let mut copy = Int4Matrix::new(70);
        for row in (0..rows as u32).rev() {
            copy.push_row_of(&matrix, row);
        }
        let all: RowSet = (0..rows as u32).collect();
        for row in [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 9] {
            assert_eq!(matrix.search(&vectors[row], &all, 1, &ScanThreads::only_own()), [row as u32]);
            assert_eq!(copy.search(&vectors[row], &all, 1, &ScanThreads::only_own()), [(rows - 1 - row) as u32]);
        }
    }

    fn sorted(mut rows: Vec<u32>) -> Vec<u32> {
        rows.sort_unstable();
        rows
    }

    /// The best 30 of the first `rows` rows by their 4-bit vectors alone.
    fn whole(matrix: &Int4Matrix, query: &[f32], rows: u32) -> Vec<u32> {
        sorted(matrix.scan(query, &(0..rows).collect::<Vec<_>>(), 30, &ScanThreads::only_own()))
    }

    #[test]
    fn the_four_bits_of_a_component_are_those_of_the_nearest_step() {
        let (mut chance, dimensions) = (Chance::new(), LINE_COMPONENTS + 70);
        let mut matrix = Int4Matrix::new(dimensions);
        let vector = to_bf16(&chance.unit_vector(dimensions));
        matrix.push(&vector);
        let width = f64::from(STEP_DEVIATIONS) / (dimensions as f64).sqrt();
        for (at, component) in vector.iter().enumerate() {
            let byte = matrix.rows.row(0)[at / LINE_COMPONENTS * LINE_COMPONENTS / 2 + at % (LINE_COMPONENTS / 2)];
            let step = if at % LINE_COMPONENTS < LINE_COMPONENTS / 2 { byte & 15 } else { byte >> 4 };
            let distance = |step: u8| ((f64::from(step) - 7.5) * width - component.to_f64()).abs();
            let nearest = (0..16).map(distance).fold(f64::INFINITY, f64::min);
            assert!(distance(step) < nearest + width * 1e-3, "{component} has step {step}");
        }
    }

    #[test]
    fn several_threads_find_the_same_rows_as_one_in_every_kind_of_set() {
        const ROWS: u32 = 3 * PART_ROWS as u32 + 100;
        let mut chance = Chance::new();
        let mut matrix = Int4Matrix::new(64);
        (0..ROWS).for_each(|_| matrix.push(&to_bf16(&chance.unit_vector(64))));
        let all: RowSet = (0..ROWS).collect();
        let half: RowSet = (0..ROWS).filter(|_| chance.below(2) == 0).collect();
        let sparse: RowSet = (0..ROWS).filter(|row| row % 40 == 7).collect();
        let backwards: RowSet = (ROWS / 2..ROWS).chain(0..ROWS / 3).collect();
        for set in [all, half, sparse, backwards] {
            let query = chance.unit_vector(64);
            let one = sorted(matrix.search(&query, &set, 100, &ScanThreads::only_own()));
            assert_eq!(one.len(), 100);
            for others in [1, 3] {
                assert_eq!(sorted(matrix.search(&query, &set, 100, &ScanThreads::with_others(others))), one);
            }
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
        let mut matrix = Int4Matrix::new(DIMENSIONS);
        let vectors: Vec<Vec<bf16>> = (0..ROWS).map(|_| to_bf16(&clustered(&centres, &mut chance))).collect();
        vectors.iter().for_each(|vector| matrix.push(vector));
        let all: Vec<u32> = (0..ROWS).collect();
        let every_other: Vec<u32> = all.iter().copied().filter(|_| chance.below(2) == 0).collect();
        let later_half_first: Vec<u32> = (ROWS / 2..ROWS).chain(0..ROWS / 4).collect();
        let threads = ScanThreads::only_own();
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
                assert!(codes.best_rows(&query, &set, SELECTED_MIN, &threads).is_some(), "codes are used");
                let near = matrix.search(&query, &set, 60, &threads);
                assert!(near.len() == 60 && near.iter().all(|row| rows.contains(row)));
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
        let (mut chance, threads) = (Chance::new(), ScanThreads::only_own());
        for (dimensions, rows) in
            [(1, 6_000), (CODES_DIMENSIONS_MIN - 1, 6_000), (CODES_DIMENSIONS_MIN, SELECTED_MIN as u32)]
        {
            let mut matrix = Int4Matrix::new(dimensions);
            (0..rows).for_each(|_| matrix.push(&to_bf16(&chance.unit_vector(dimensions))));
            let all: RowSet = (0..rows).collect();
            let query = chance.unit_vector(dimensions);
            assert_eq!(sorted(matrix.search(&query, &all, 30, &threads)), whole(&matrix, &query, rows), "{dimensions}");
        }
    }

    #[test]
    fn vectors_with_much_in_common_are_scanned_without_codes() {
        let (mut chance, threads) = (Chance::new(), ScanThreads::only_own());
        let mut positive = || -> Vec<f32> { chance.unit_vector(64).into_iter().map(f32::abs).collect() };
        let mut matrix = Int4Matrix::new(64);
        (0..8_000).for_each(|_| matrix.push(&to_bf16(&positive())));
        let all: RowSet = (0..8_000).collect();
        let query = positive();
        let codes = matrix.codes.as_ref().expect("the vectors have codes");
        assert!(
            codes.common_part() > COMMON_PART_MAX && codes.best_rows(&query, &all, SELECTED_MIN, &threads).is_some()
        );
        assert_eq!(sorted(matrix.search(&query, &all, 30, &threads)), whole(&matrix, &query, 8_000));
    }
}
