//! Binary codes of vectors: one bit per component, which is 1 if the component is positive. The first pass of a scan
//! compares these codes and selects the rows whose 4-bit vectors the second pass reads. `int4_matrix` decides how many
//! rows are selected. Measurements: docs/measurements.md, "Binary codes first".

use half::bf16;

use crate::vectors::kernels::{self, CodeTable, GROUP_ROWS, TABLE_BYTES};
use crate::vectors::row_blocks::RowBlocks;
use crate::vectors::row_set::{RowSet, rows_of_group, set_bits};
use crate::vectors::scan_threads::{PART_ROWS, ScanThreads};

/// Number of bits of a code that are looked up in one table.
const TABLE_BITS: usize = 4;
/// The number of bits of a code is rounded up to a multiple of this.
const WORD_BITS: usize = 64;

/// Range of query components in standard deviations; components outside it are clamped. For a normal distribution, 15
/// equal quantisation steps have the smallest error at about this range (Max, Quantizing for Minimum Distortion, 1960).
const QUERY_CLAMP_DEVIATIONS: f32 = 2.6;
/// Query components are scaled and rounded to integers from -7 to 7.
const QUERY_LEVEL_MAX: f32 = 7.0;

/// Cost of scoring the codes of one group, as the number of rows whose 4-bit scan takes as long. A group takes 80 ns, a
/// row 20 ns. For a sparse set, scoring the groups can take longer than the 4-bit scan of the rows that it saves; then
/// codes are not used. With the value 4, codes are used for a set of every fifth row, but not for one of every tenth.
const GROUP_COST_ROWS: usize = 4;

/// Number of groups in a part of a scan.
const PART_GROUPS: usize = PART_ROWS / GROUP_ROWS;

/// The binary codes of all rows. `GROUP_ROWS` consecutive rows form a group, whose codes are interleaved in the way in
/// which `kernels::score_binary_codes` reads them.
#[derive(Debug)]
pub struct BinaryCodes {
    /// The codes of the groups. One row of these blocks has the codes of a whole group.
    groups: RowBlocks,
    rows: usize,
    /// For each component, the number of rows in which the component is positive.
    positive_counts: Vec<u32>,
}

impl BinaryCodes {
    /// Creates codes without rows, for vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        let tables = dimensions.next_multiple_of(WORD_BITS) / TABLE_BITS;
        BinaryCodes { groups: RowBlocks::new(tables * TABLE_BYTES), rows: 0, positive_counts: vec![0; dimensions] }
    }

    /// Appends the code of a vector `[dimensions]`.
    pub fn push(&mut self, vector: &[bf16]) {
        self.push_nibbles(vector.chunks(TABLE_BITS).map(|components| {
            let bits = components.iter().enumerate().map(|(bit, component)| u8::from(component.to_f32() > 0.0) << bit);
            bits.sum()
        }));
    }

    /// Appends a copy of row `row` of `other`, whose vectors must have the same dimensions.
    pub fn push_row_of(&mut self, other: &BinaryCodes, row: u32) {
        let (byte, shift) = nibble_position(row as usize);
        let group = other.groups.row(row / GROUP_ROWS as u32);
        self.push_nibbles(group.iter().skip(byte).step_by(TABLE_BYTES).map(|byte| byte >> shift & 15));
    }

    /// The rows among `rows` whose codes agree best with a unit query `[dimensions]`, in the order of `rows`: `wanted`
    /// rows, and all other rows with the same score as the worst of them. `None` if scoring the codes would take longer
    /// than the 4-bit scan of all rows.
    pub fn best_rows(&self, query: &[f32], rows: &RowSet, wanted: usize, threads: &ScanThreads) -> Option<Vec<u32>> {
        if wanted + rows.groups().len() * GROUP_COST_ROWS > rows.len() {
            return None;
        }
        let components = quantise_query(query);
        let tables = code_tables(&components);
        let score_max: u16 = components.iter().map(|component| u16::from(component.unsigned_abs())).sum();
        let (groups, masks) = (rows.groups(), rows.masks());
        // One allocation for all threads: the system fills a large one with huge pages. That saves 1.5 ms for a million
        // rows.
        let mut scores = vec![[0; GROUP_ROWS]; groups.len()];
        let counts = self.groups.with_layout(|layout| {
            threads.map_slices(&mut scores, PART_GROUPS, |first, scores| {
                let part = first..first + scores.len();
                kernels::score_binary_codes(layout, &groups[part.clone()], &tables, scores);
                count_scores(scores, &masks[part], score_max)
            })
        });
        let floor = score_floor(&counts, score_max, wanted);
        let best = threads.map_parts(groups.len(), PART_GROUPS, |part| {
            let mut best = Vec::with_capacity(wanted / counts.len() * 2);
            for ((group, mask), scores) in groups[part.clone()].iter().zip(&masks[part.clone()]).zip(&scores[part]) {
                best.extend(rows_of_group(*group, mask & kernels::mask_at_least(scores, floor)));
            }
            best
        });
        Some(best.concat())
    }

    /// How similar the codes of all rows are: 0 if every component is positive in half of the rows, 1 if all codes are
    /// equal. The larger the value, the worse codes distinguish rows.
    pub fn common_part(&self) -> f32 {
        let positive_counts = self.positive_counts.iter();
        let parts = positive_counts.map(|positive| (2.0 * *positive as f32 / self.rows as f32 - 1.0).powi(2));
        parts.sum::<f32>() / self.positive_counts.len() as f32
    }

    /// Appends a row. `nibbles` yields its code, four bits at a time.
    fn push_nibbles(&mut self, nibbles: impl Iterator<Item = u8>) {
        let (byte, shift) = nibble_position(self.rows);
        let group = if self.rows.is_multiple_of(GROUP_ROWS) { self.groups.next_row() } else { self.groups.last_row() };
        let positive_counts = self.positive_counts.chunks_mut(TABLE_BITS);
        for ((table, nibble), positive_counts) in nibbles.enumerate().zip(positive_counts) {
            group[table * TABLE_BYTES + byte] |= nibble << shift;
            positive_counts.iter_mut().enumerate().for_each(|(bit, count)| *count += u32::from(nibble >> bit & 1));
        }
        self.rows += 1;
    }
}

/// Position of the four bits that a row has for one table, among the `TABLE_BYTES` bytes of that table: (byte, first
/// bit).
fn nibble_position(row: usize) -> (usize, usize) {
    let row_in_group = row % GROUP_ROWS;
    (row_in_group % TABLE_BYTES, row_in_group / TABLE_BYTES * TABLE_BITS)
}

/// Scales the components of a unit query and rounds them to integers from -7 to 7.
fn quantise_query(query: &[f32]) -> Vec<i8> {
    let scale = QUERY_LEVEL_MAX * (query.len() as f32).sqrt() / QUERY_CLAMP_DEVIATIONS;
    query.iter().map(|component| (component * scale).round().clamp(-QUERY_LEVEL_MAX, QUERY_LEVEL_MAX) as i8).collect()
}

/// The lookup tables of a quantised query, one for every four components. The entry for a combination of four bits is
/// the sum of the magnitudes of those components whose sign agrees with their bit (1 for positive).
///
/// The score of a row is the sum of its entries. Scores give rows the same order as the dot product of the query with
/// the code as a vector of +1 and -1, because a score is half of that dot product plus a constant of the query. Unlike
/// the dot product, the scores need no negative numbers.
fn code_tables(components: &[i8]) -> Vec<CodeTable> {
    let mut tables = vec![[0; 1 << TABLE_BITS]; components.len().next_multiple_of(WORD_BITS) / TABLE_BITS];
    for (table, components) in tables.iter_mut().zip(components.chunks(TABLE_BITS)) {
        for (bits, entry) in table.iter_mut().enumerate() {
            let agreeing =
                components.iter().enumerate().filter(|(bit, component)| (bits >> bit & 1 == 1) == (**component > 0));
            *entry = agreeing.map(|(_, component)| component.unsigned_abs()).sum();
        }
    }
    tables
}

/// For each score up to `score_max`, the number of rows among those selected by `masks` that have it. There are only a
/// few thousand different scores, so counting rows is faster than sorting them.
fn count_scores(scores: &[[u16; GROUP_ROWS]], masks: &[u32], score_max: u16) -> Vec<u32> {
    // Even and odd rows have separate counters. With one counter, the processor would wait between two rows with equal
    // scores.
    let mut counts = vec![[0u32; 2]; usize::from(score_max) + 1];
    for (scores, mask) in scores.iter().zip(masks) {
        if *mask == u32::MAX {
            for pair in scores.as_chunks::<2>().0 {
                counts[usize::from(pair[0])][0] += 1;
                counts[usize::from(pair[1])][1] += 1;
            }
        } else {
            set_bits(*mask).for_each(|bit| counts[usize::from(scores[bit as usize])][0] += 1);
        }
    }
    counts.into_iter().map(|[even, odd]| even + odd).collect()
}

/// The largest score that at least `wanted` rows reach; 0 if there are fewer rows. `counts` has the rows of each part
/// by score, from 0 to `score_max`.
fn score_floor(counts: &[Vec<u32>], score_max: u16, wanted: usize) -> u16 {
    let mut totals = vec![0usize; usize::from(score_max) + 1];
    for counts in counts {
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += *count as usize);
    }
    let mut rows = 0;
    let floor = totals.iter().rposition(|count| {
        rows += count;
        rows >= wanted
    });
    floor.unwrap_or(0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::log::to_bf16;
    use mneme_testing::Chance;

    #[test]
    fn selects_the_same_rows_as_plain_arithmetic_also_after_copying() {
        let mut chance = Chance::new();
        for dimensions in [64, 70, 384] {
            let vectors: Vec<Vec<f32>> = (0..1_000).map(|_| chance.unit_vector(dimensions)).collect();
            let (mut codes, mut copy) = (BinaryCodes::new(dimensions), BinaryCodes::new(dimensions));
            vectors.iter().for_each(|vector| codes.push(&to_bf16(vector)));
            (0..1_000).rev().for_each(|row| copy.push_row_of(&codes, row));
            let query = chance.unit_vector(dimensions);
            let components = quantise_query(&query);
            let score = |row: u32| -> i32 {
                let products = vectors[row as usize].iter().zip(&components);
                products
                    .map(|(x, component)| if *x > 0.0 { i32::from(*component) } else { -i32::from(*component) })
                    .sum()
            };
            // All rows of the second half, followed by about two thirds of the rows of the first half.
            let mut rows: Vec<u32> = (0..1_000).filter(|row| *row >= 500 || chance.below(3) > 0).collect();
            rows.sort_by_key(|row| *row < 500);
            let mut scores: Vec<i32> = rows.iter().map(|row| score(*row)).collect();
            scores.sort_unstable_by(|a, b| b.cmp(a));
            let set: RowSet = rows.iter().copied().collect();
            for wanted in [1, 50, 300] {
                let expected: Vec<u32> = rows.iter().copied().filter(|row| score(*row) >= scores[wanted - 1]).collect();
                assert_eq!(codes.best_rows(&query, &set, wanted, &ScanThreads::only_own()), Some(expected.clone()));
                let copied: RowSet = rows.iter().map(|row| 999 - row).collect();
                let mut found =
                    copy.best_rows(&query, &copied, wanted, &ScanThreads::only_own()).expect("codes are used");
                found.iter_mut().for_each(|row| *row = 999 - *row);
                found.sort_unstable();
                let mut expected = expected;
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_common_part_is_0_for_opposite_and_1_for_equal_vectors() {
        let mut chance = Chance::new();
        let (mut balanced, mut uniform) = (BinaryCodes::new(70), BinaryCodes::new(70));
        let vector = chance.unit_vector(70);
        let opposite: Vec<f32> = vector.iter().map(|x| -x).collect();
        for _ in 0..10 {
            balanced.push(&to_bf16(&vector));
            balanced.push(&to_bf16(&opposite));
            uniform.push(&to_bf16(&vector));
        }
        assert_eq!((balanced.common_part(), uniform.common_part()), (0.0, 1.0));
        (0..10).for_each(|_| uniform.push_row_of(&balanced, 1));
        assert_eq!(uniform.common_part(), 0.0);
    }

    #[test]
    fn ties_are_selected_together_and_codes_are_not_used_for_sparse_or_small_sets() {
        let mut chance = Chance::new();
        let vector = chance.unit_vector(64);
        let mut codes = BinaryCodes::new(64);
        (0..1_000).for_each(|_| codes.push(&to_bf16(&vector)));
        let all: RowSet = (0..1_000).collect();
        assert_eq!(codes.best_rows(&vector, &all, 10, &ScanThreads::only_own()), Some((0..1_000).collect()));
        assert_eq!(codes.best_rows(&vector, &all, 1_000, &ScanThreads::only_own()), None);
        assert_eq!(codes.best_rows(&vector, &RowSet::default(), 10, &ScanThreads::only_own()), None);
        let sparse: RowSet = (0..1_000).step_by(GROUP_ROWS).collect();
        assert_eq!(codes.best_rows(&vector, &sparse, 1, &ScanThreads::only_own()), None);
    }
}
