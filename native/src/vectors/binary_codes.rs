//! One bit for each component of each vector: a first, coarse look that tells which rows are worth the matrix' bytes.
//! How many of them are kept, and what is done with them, is `vectors::int8_matrix`' affair.

use half::bf16;

use crate::vectors::kernels::{self, GROUP_ROWS, SignTable, TABLE_BYTES};
use crate::vectors::row_blocks::RowBlocks;
use crate::vectors::row_set::{RowSet, bits_of, rows_of_group};

/// Signs that one table looks up.
const TABLE_SIGNS: usize = 4;
/// Rows are padded to whole words.
const WORD_SIGNS: usize = 64;

/// Query components are rounded to -7..=7 and clamped beyond so many standard deviations, about where the error of 15
/// equal steps is least for a normal distribution (Max, Quantizing for Minimum Distortion, 1960).
const QUERY_CLAMP_DEVIATIONS: f32 = 2.6;
const QUERY_LARGEST: f32 = 7.0;

/// What scoring a group costs, in rows of the matrix: where a set's rows lie so thinly that groups cost more than the
/// rows that they spare, there is no first look. With 2 a set of every tenth row, 4,350 groups for 14,500 rows of which
/// 4,096 are kept, is just worth it, as measured (ARCHITECTURE.md, "Measured").
const GROUP_COST_ROWS: usize = 2;

/// The signs of the rows of a matrix, in its order, interleaved in groups as the kernel reads them.
#[derive(Debug)]
pub struct Signs {
    /// A row here is a group.
    groups: RowBlocks,
    rows: usize,
    /// How many rows are positive there, by component.
    positives: Vec<u32>,
}

impl Signs {
    /// No rows yet, of vectors `[dimensions]`.
    pub fn new(dimensions: usize) -> Self {
        let tables = dimensions.next_multiple_of(WORD_SIGNS) / TABLE_SIGNS;
        Signs { groups: RowBlocks::new(tables * TABLE_BYTES), rows: 0, positives: vec![0; dimensions] }
    }

    /// Appends the signs of a vector `[dimensions]`.
    pub fn push(&mut self, vector: &[bf16]) {
        self.push_nibbles(vector.chunks(TABLE_SIGNS).map(|components| {
            let bits = components.iter().enumerate().map(|(at, component)| u8::from(component.to_f32() > 0.0) << at);
            bits.sum()
        }));
    }

    /// Appends row `row` of others of the same dimensions.
    pub fn push_row_of(&mut self, other: &Signs, row: u32) {
        let (byte, shift) = place(row as usize);
        let group = other.groups.row(row / GROUP_ROWS as u32);
        self.push_nibbles(group.iter().skip(byte).step_by(TABLE_BYTES).map(|byte| byte >> shift & 15));
    }

    /// The rows among `rows` whose signs agree best with a unit query `[dimensions]`: `wanted` of them and those that
    /// are equal to the last, in the order of `rows`. `None` where looking would cost more than it saves.
    pub fn likeliest(&self, query: &[f32], rows: &RowSet, wanted: usize) -> Option<Vec<u32>> {
        if wanted + rows.groups().len() * GROUP_COST_ROWS > rows.len() {
            return None;
        }
        let components = quantised(query);
        let tables = sign_tables(&components);
        let mut scores = Vec::with_capacity(rows.groups().len());
        self.groups.with_layout(|layout| kernels::score_signs(layout, rows.groups(), &tables, &mut scores));
        let greatest: u16 = components.iter().map(|component| u16::from(component.unsigned_abs())).sum();
        let floor = floor_of(&scores, rows.bits(), greatest, wanted);
        let mut likely = Vec::with_capacity(wanted + wanted / 8);
        for ((group, bits), scores) in rows.groups().iter().zip(rows.bits()).zip(&scores) {
            likely.extend(rows_of_group(*group, bits & kernels::at_least(scores, floor)));
        }
        Some(likely)
    }

    /// How much signs are the same in all rows: 0 where every component is positive as often as not, 1 where none ever
    /// changes. What they share tells no row from another.
    pub fn lean(&self) -> f32 {
        let leans = self.positives.iter().map(|positives| (2.0 * *positives as f32 / self.rows as f32 - 1.0).powi(2));
        leans.sum::<f32>() / self.positives.len() as f32
    }

    fn push_nibbles(&mut self, nibbles: impl Iterator<Item = u8>) {
        let (byte, shift) = place(self.rows);
        let group = if self.rows.is_multiple_of(GROUP_ROWS) { self.groups.next_row() } else { self.groups.last_row() };
        let positives = self.positives.chunks_mut(TABLE_SIGNS);
        for ((at, nibble), positives) in nibbles.enumerate().zip(positives) {
            group[at * TABLE_BYTES + byte] |= nibble << shift;
            positives.iter_mut().enumerate().for_each(|(bit, count)| *count += u32::from(nibble >> bit & 1));
        }
        self.rows += 1;
    }
}

/// Which of a table's bytes has a row's signs, and from which bit on.
fn place(row: usize) -> (usize, usize) {
    let within = row % GROUP_ROWS;
    (within % TABLE_BYTES, within / TABLE_BYTES * TABLE_SIGNS)
}

fn quantised(query: &[f32]) -> Vec<i8> {
    let scale = QUERY_LARGEST * (query.len() as f32).sqrt() / QUERY_CLAMP_DEVIATIONS;
    query.iter().map(|component| (component * scale).round().clamp(-QUERY_LARGEST, QUERY_LARGEST) as i8).collect()
}

/// For every four components and each choice of them the sum of those, and of the magnitudes of negative ones, so that
/// no entry is negative: the product with signs of 1 and -1, halved and shifted by what is the same for all rows.
fn sign_tables(components: &[i8]) -> Vec<SignTable> {
    let mut tables = vec![[0; 1 << TABLE_SIGNS]; components.len().next_multiple_of(WORD_SIGNS) / TABLE_SIGNS];
    for (table, components) in tables.iter_mut().zip(components.chunks(TABLE_SIGNS)) {
        for (bits, entry) in table.iter_mut().enumerate() {
            let agreeing =
                components.iter().enumerate().filter(|(at, component)| (bits >> at & 1 == 1) == (**component > 0));
            *entry = agreeing.map(|(_, component)| component.unsigned_abs()).sum();
        }
    }
    tables
}

/// The greatest score that `wanted` of the rows reach, each 0 to `greatest`; 0 where there are no more. Counts instead
/// of sorting: there are some thousand different scores.
fn floor_of(scores: &[[u16; GROUP_ROWS]], bits: &[u32], greatest: u16, wanted: usize) -> u16 {
    // By turns: equal scores that follow each other would wait for one another's count.
    let mut counts = vec![[0u32; 2]; usize::from(greatest) + 1];
    for (scores, bits) in scores.iter().zip(bits) {
        if *bits == u32::MAX {
            for pair in scores.as_chunks::<2>().0 {
                counts[usize::from(pair[0])][0] += 1;
                counts[usize::from(pair[1])][1] += 1;
            }
        } else {
            bits_of(*bits).for_each(|bit| counts[usize::from(scores[bit as usize])][0] += 1);
        }
    }
    let mut reached = 0;
    let floor = counts.iter().rposition(|[even, odd]| {
        reached += (even + odd) as usize;
        reached >= wanted
    });
    floor.unwrap_or(0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::log::to_bf16;
    use mneme_testing::Chance;

    #[test]
    fn keeps_the_rows_that_plain_arithmetic_keeps_and_copies_of_them() {
        let mut chance = Chance::new();
        for dimensions in [64, 70, 384] {
            let vectors: Vec<Vec<f32>> = (0..1_000).map(|_| chance.unit_vector(dimensions)).collect();
            let (mut signs, mut copy) = (Signs::new(dimensions), Signs::new(dimensions));
            vectors.iter().for_each(|vector| signs.push(&to_bf16(vector)));
            (0..1_000).rev().for_each(|row| copy.push_row_of(&signs, row));
            let query = chance.unit_vector(dimensions);
            let components = quantised(&query);
            let score = |row: u32| -> i32 {
                let products = vectors[row as usize].iter().zip(&components);
                products
                    .map(|(x, component)| if *x > 0.0 { i32::from(*component) } else { -i32::from(*component) })
                    .sum()
            };
            // Two rows of three of a half, all of the other, which comes first.
            let mut rows: Vec<u32> = (0..1_000).filter(|row| *row >= 500 || chance.below(3) > 0).collect();
            rows.sort_by_key(|row| *row < 500);
            let mut scores: Vec<i32> = rows.iter().map(|row| score(*row)).collect();
            scores.sort_unstable_by(|a, b| b.cmp(a));
            let set: RowSet = rows.iter().copied().collect();
            for wanted in [1, 50, 300] {
                let expected: Vec<u32> = rows.iter().copied().filter(|row| score(*row) >= scores[wanted - 1]).collect();
                assert_eq!(signs.likeliest(&query, &set, wanted), Some(expected.clone()));
                let copied: RowSet = rows.iter().map(|row| 999 - row).collect();
                let mut found = copy.likeliest(&query, &copied, wanted).expect("worth it");
                found.iter_mut().for_each(|row| *row = 999 - *row);
                found.sort_unstable();
                let mut expected = expected;
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_lean_is_what_all_rows_share() {
        let mut chance = Chance::new();
        let (mut balanced, mut leaning) = (Signs::new(70), Signs::new(70));
        let vector = chance.unit_vector(70);
        let opposite: Vec<f32> = vector.iter().map(|x| -x).collect();
        for _ in 0..10 {
            balanced.push(&to_bf16(&vector));
            balanced.push(&to_bf16(&opposite));
            leaning.push(&to_bf16(&vector));
        }
        assert_eq!((balanced.lean(), leaning.lean()), (0.0, 1.0));
        (0..10).for_each(|_| leaning.push_row_of(&balanced, 1));
        assert_eq!(leaning.lean(), 0.0);
    }

    #[test]
    fn equal_rows_are_kept_together_and_thin_or_small_sets_are_not_looked_at() {
        let mut chance = Chance::new();
        let vector = chance.unit_vector(64);
        let mut signs = Signs::new(64);
        (0..1_000).for_each(|_| signs.push(&to_bf16(&vector)));
        let all: RowSet = (0..1_000).collect();
        assert_eq!(signs.likeliest(&vector, &all, 10), Some((0..1_000).collect()));
        assert_eq!(signs.likeliest(&vector, &all, 1_000), None);
        assert_eq!(signs.likeliest(&vector, &RowSet::default(), 10), None);
        let thin: RowSet = (0..1_000).step_by(GROUP_ROWS).collect();
        assert_eq!(signs.likeliest(&vector, &thin, 1), None);
    }
}
