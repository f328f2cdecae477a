//! The inner loops of the vector scan, one per instruction set; the only file with `unsafe`, because vector
//! instructions are. Which rows are scanned is `vectors::index`' affair.

use half::bf16;

/// Rows are padded to whole cache lines, so that a row never shares one and loads stay aligned.
pub const LINE_BYTES: usize = 64;

/// How many rows ahead the next ones are fetched into the cache: sparse sets jump, and the hardware does not see where.
/// Eight rows of 384 bytes are 48 lines, about what one core can have under way.
const PREFETCH_ROWS: usize = 8;

/// Rows of a block; a constant, because the scan divides by it for every row. Blocks of 6 MB at 384 dimensions.
pub const BLOCK_ROWS: usize = 16_384;

/// The m best (score, row) of a scan, without keeping the rest.
#[derive(Debug)]
pub struct TopRows {
    limit: usize,
    threshold: i32,
    rows: Vec<(i32, u32)>,
}

impl TopRows {
    /// Room for the `limit` best.
    pub fn new(limit: usize) -> Self {
        TopRows { limit, threshold: i32::MIN, rows: Vec::with_capacity(limit * 2) }
    }

    #[inline]
    fn offer(&mut self, score: i32, row: u32) {
        if score > self.threshold {
            self.rows.push((score, row));
            if self.rows.len() == self.limit * 2 {
                self.shrink();
            }
        }
    }

    #[cold]
    fn shrink(&mut self) {
        if self.rows.len() > self.limit {
            // Lower rows win ties, whatever order they came in.
            self.rows.select_nth_unstable_by(self.limit - 1, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            self.rows.truncate(self.limit);
            self.threshold = self.rows[self.limit - 1].0;
        }
    }

    /// The best rows, in no particular order.
    pub fn into_rows(mut self) -> Vec<u32> {
        self.shrink();
        self.rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// Where the quantised rows lie. A component `c` in -127..=127 is stored as `c + 128`, since the dot-product
/// instructions take one unsigned and one signed side.
#[derive(Debug, Clone, Copy)]
pub struct RowLayout<'matrix> {
    /// Blocks of `BLOCK_ROWS` rows, one after the other.
    pub blocks: &'matrix [&'matrix [u8]],
    /// Bytes from one row to the next: whole lines.
    pub row_bytes: usize,
}

impl<'matrix> RowLayout<'matrix> {
    #[inline(always)]
    fn row(&self, row: u32) -> &'matrix [u8] {
        let (block, within) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        &self.blocks[block][within * self.row_bytes..][..self.row_bytes]
    }
}

/// Offers every one of `rows` with its dot product to `top`. `query` has `row_bytes` signed components, padded with
/// zeros. The scores are shifted by a constant of the query (the 128 of `RowLayout`), which no comparison notices.
pub fn scan(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
    assert!(query.len() == layout.row_bytes, "a query is as long as a padded row");
    assert!(query.len().is_multiple_of(LINE_BYTES), "rows are padded to whole lines");
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni")
        {
            // SAFETY: the processor has the features that the function is compiled for.
            return unsafe { x86::scan_avx512(layout, rows, query, top) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { x86::scan_avx2(layout, rows, query, top) };
        }
    }
    scan_portable(layout, rows, query, top);
}

/// Rows whose signs lie interleaved, so that one instruction looks up all of them.
pub const GROUP_ROWS: usize = 32;

/// What four signs of a row add to its score, by the four bits; 31 at most, so that eight of them fit a byte.
pub type SignTable = [u8; 16];

/// Tables of one 64-bit word. Eight of them go to each half of a register, where their sums still fit a byte.
const WORD_TABLES: usize = 16;

/// Bytes of a group for each table: rows 0 to 15 have the lower, rows 16 to 31 the upper halves of bytes.
pub const TABLE_BYTES: usize = GROUP_ROWS / 2;

/// Whether signs are looked up many at once here. One by one they take longer than the rows that they spare.
pub fn looks_signs_up_at_once() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Appends for every one of `groups` the scores of its rows: each the sum of what `tables`, one for every four signs,
/// say of it. In `layout` a row is a group. Up to 4,096 signs, so that no sum leaves 16 bits.
pub fn score_signs(layout: RowLayout<'_>, groups: &[u32], tables: &[SignTable], scores: &mut Vec<[u16; GROUP_ROWS]>) {
    assert!(tables.len() * TABLE_BYTES == layout.row_bytes, "there is a table for every four signs");
    assert!(tables.len().is_multiple_of(WORD_TABLES), "signs are padded to whole words");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { x86::score_signs_avx2(layout, groups, tables, scores) };
    }
    score_signs_portable(layout, groups, tables, scores);
}

/// Which of a group's scores are at least `floor`: bit n stands for score n.
#[inline]
pub fn at_least(scores: &[u16; GROUP_ROWS], floor: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { x86::at_least_avx2(scores, floor) };
    }
    at_least_portable(scores, floor)
}

fn at_least_portable(scores: &[u16; GROUP_ROWS], floor: u16) -> u32 {
    let places = scores.iter().enumerate();
    places.fold(0, |bits, (at, score)| bits | u32::from(*score >= floor) << at)
}

fn score_signs_portable(
    layout: RowLayout<'_>,
    groups: &[u32],
    tables: &[SignTable],
    scores: &mut Vec<[u16; GROUP_ROWS]>,
) {
    scores.extend(groups.iter().map(|group| {
        let mut sums = [0; GROUP_ROWS];
        let (lower, upper) = sums.split_at_mut(TABLE_BYTES);
        for (bytes, table) in layout.row(*group).as_chunks::<TABLE_BYTES>().0.iter().zip(tables) {
            for (at, byte) in bytes.iter().enumerate() {
                lower[at] += u16::from(table[usize::from(byte & 15)]);
                upper[at] += u16::from(table[usize::from(byte >> 4)]);
            }
        }
        sums
    }));
}

fn scan_portable(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
    for row in rows {
        let products = layout.row(*row).iter().zip(query).map(|(a, b)| i32::from(*a) * i32::from(*b));
        top.offer(products.sum(), *row);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{GROUP_ROWS, LINE_BYTES, PREFETCH_ROWS, RowLayout, SignTable, TABLE_BYTES, TopRows, WORD_TABLES};
    use std::arch::x86_64::*;

    /// Rows that are scanned side by side: their sums do not wait for each other, and one comparison serves all.
    const ABREAST: usize = 4;

    /// Asks for the row that will be scanned `PREFETCH_ROWS` rows later.
    #[inline(always)]
    fn prefetch(layout: &RowLayout<'_>, rows: &[u32], index: usize) {
        if let Some(ahead) = rows.get(index + PREFETCH_ROWS) {
            for line in layout.row(*ahead).chunks_exact(LINE_BYTES) {
                // SAFETY: prefetching has no effect on memory, and the address is that of a live line.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
            }
        }
    }

    /// Offers rows whose scores are each in eight partial sums.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn offer_group(group: &[u32; ABREAST], [a, b, c, d]: [__m256i; ABREAST], top: &mut TopRows) {
        // Halves are added until one sum per row is left, in the rows' order.
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let totals = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
        let better = _mm_cmpgt_epi32(totals, _mm_set1_epi32(top.threshold));
        if _mm_movemask_epi8(better) != 0 {
            let mut scores = [0i32; ABREAST];
            // SAFETY: sixteen writable bytes.
            unsafe { _mm_storeu_si128(scores.as_mut_ptr().cast(), totals) };
            group.iter().zip(scores).for_each(|(row, score)| top.offer(score, *row));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn scan_avx512(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
        let (groups, rest) = rows.as_chunks::<ABREAST>();
        for (index, group) in groups.iter().enumerate() {
            for at in 0..ABREAST {
                prefetch(&layout, rows, index * ABREAST + at);
            }
            let sums = dot_products(group.map(|row| layout.row(row)), query);
            let sums =
                sums.map(|sum| _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum)));
            offer_group(group, sums, top);
        }
        for row in rest {
            let [sum] = dot_products([layout.row(*row)], query);
            top.offer(_mm512_reduce_add_epi32(sum), *row);
        }
    }

    /// Sixteen partial sums of the dot product of each row with the query.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn dot_products<const ROWS: usize>(rows: [&[u8]; ROWS], query: &[i8]) -> [__m512i; ROWS] {
        let mut sums = [_mm512_setzero_si512(); ROWS];
        for (at, part) in query.chunks_exact(LINE_BYTES).enumerate() {
            // SAFETY: 64 readable bytes.
            let b = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
            for (sum, row) in sums.iter_mut().zip(rows) {
                let line = &row[at * LINE_BYTES..][..LINE_BYTES];
                // SAFETY: 64 readable bytes.
                let a = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
                *sum = _mm512_dpbusd_epi32(*sum, a, b);
            }
        }
        sums
    }

    /// Looks four signs of 32 rows up at once, by the byte shuffle (Andre et al., Cache locality is not enough, 2015).
    #[target_feature(enable = "avx2")]
    pub fn score_signs_avx2(
        layout: RowLayout<'_>,
        groups: &[u32],
        tables: &[SignTable],
        scores: &mut Vec<[u16; GROUP_ROWS]>,
    ) {
        /// Two tables a step, one for each half of a register.
        const STEP: usize = 2;
        let low = _mm256_set1_epi8(0x0f);
        for group in groups {
            let (steps, _) = layout.row(*group).as_chunks::<{ STEP * TABLE_BYTES }>();
            let mut sums = [_mm256_setzero_si256(); 2];
            let words = steps.chunks_exact(WORD_TABLES / STEP).zip(tables.chunks_exact(WORD_TABLES));
            for (steps, tables) in words {
                let mut word_sums = [_mm256_setzero_si256(); 2];
                for (bytes, tables) in steps.iter().zip(tables.as_chunks::<STEP>().0) {
                    // SAFETY: 32 readable bytes each.
                    let (bytes, tables) = unsafe {
                        (_mm256_loadu_si256(bytes.as_ptr().cast()), _mm256_loadu_si256(tables.as_ptr().cast()))
                    };
                    let lower = _mm256_and_si256(bytes, low);
                    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
                    word_sums[0] = _mm256_add_epi8(word_sums[0], _mm256_shuffle_epi8(tables, lower));
                    word_sums[1] = _mm256_add_epi8(word_sums[1], _mm256_shuffle_epi8(tables, upper));
                }
                for (sum, word) in sums.iter_mut().zip(word_sums) {
                    let even = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(word));
                    let odd = _mm256_cvtepu8_epi16(_mm256_extracti128_si256::<1>(word));
                    *sum = _mm256_add_epi16(*sum, _mm256_add_epi16(even, odd));
                }
            }
            let mut rows = [0u16; GROUP_ROWS];
            // SAFETY: 64 writable bytes.
            unsafe {
                _mm256_storeu_si256(rows.as_mut_ptr().cast(), sums[0]);
                _mm256_storeu_si256(rows[TABLE_BYTES..].as_mut_ptr().cast(), sums[1]);
            }
            scores.push(rows);
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn at_least_avx2(scores: &[u16; GROUP_ROWS], floor: u16) -> u32 {
        let floor = _mm256_set1_epi16(floor as i16);
        let [low, high] = [0, GROUP_ROWS / 2].map(|at| {
            // SAFETY: 32 readable bytes.
            let half = unsafe { _mm256_loadu_si256(scores[at..].as_ptr().cast()) };
            _mm256_cmpeq_epi16(_mm256_max_epu16(half, floor), half)
        });
        // Packing works within 128 bits: this puts the middle two quarters in order.
        let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
        _mm256_movemask_epi8(packed) as u32
    }

    #[target_feature(enable = "avx2")]
    pub fn scan_avx2(layout: RowLayout<'_>, rows: &[u32], query: &[i8], top: &mut TopRows) {
        let (groups, rest) = rows.as_chunks::<ABREAST>();
        for (index, group) in groups.iter().enumerate() {
            for at in 0..ABREAST {
                prefetch(&layout, rows, index * ABREAST + at);
            }
            let sums = signed_dot_products(group.map(|row| layout.row(row)), query);
            offer_group(group, sums, top);
        }
        for row in rest {
            let [sum] = signed_dot_products([layout.row(*row)], query);
            let pairs = _mm256_hadd_epi32(sum, sum);
            let pairs = _mm256_hadd_epi32(pairs, pairs);
            let total = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
            top.offer(_mm_cvtsi128_si32(total), *row);
        }
    }

    /// Eight partial sums of the dot product of each row with the query; here rows count as signed, which shifts all
    /// scores of a query alike. The 8-bit multiply-add adds two products: at magnitudes of 127 and less it does not
    /// saturate.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn signed_dot_products<const ROWS: usize>(rows: [&[u8]; ROWS], query: &[i8]) -> [__m256i; ROWS] {
        const STEP: usize = 32;
        let (bias, ones) = (_mm256_set1_epi8(i8::MIN), _mm256_set1_epi16(1));
        let mut sums = [_mm256_setzero_si256(); ROWS];
        for (at, part) in query.chunks_exact(STEP).enumerate() {
            // SAFETY: 32 readable bytes.
            let b = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
            let magnitudes = _mm256_abs_epi8(b);
            for (sum, row) in sums.iter_mut().zip(rows) {
                let bytes = &row[at * STEP..][..STEP];
                // SAFETY: 32 readable bytes.
                let a = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
                let signed = _mm256_sign_epi8(_mm256_xor_si256(a, bias), b);
                let pairs = _mm256_maddubs_epi16(magnitudes, signed);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
            }
        }
        sums
    }
}

/// The cosine of a unit query and a stored vector, `[dimensions]` both. The stored one is divided by its length, which
/// rounding to bf16 has moved off 1 by up to a thousandth.
pub fn cosine(query: &[f32], stored: &[bf16]) -> f32 {
    const LANES: usize = 16;
    let (mut dots, mut squares) = ([0f32; LANES], [0f32; LANES]);
    let (query_chunks, stored_chunks) = (query.chunks_exact(LANES), stored.chunks_exact(LANES));
    let (query_rest, stored_rest) = (query_chunks.remainder(), stored_chunks.remainder());
    for (q, s) in query_chunks.zip(stored_chunks) {
        for lane in 0..LANES {
            let component = widen(s[lane]);
            dots[lane] += q[lane] * component;
            squares[lane] += component * component;
        }
    }
    let (mut dot, mut square) = (dots.iter().sum::<f32>(), squares.iter().sum::<f32>());
    for (q, s) in query_rest.iter().zip(stored_rest) {
        dot += q * widen(*s);
        square += widen(*s) * widen(*s);
    }
    dot / square.sqrt()
}

/// `bf16::to_f32` without its NaN branch, so that the loop above becomes vector code.
#[inline(always)]
fn widen(component: bf16) -> f32 {
    f32::from_bits(u32::from(component.to_bits()) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    type Scan = unsafe fn(RowLayout<'_>, &[u32], &[i8], &mut TopRows);

    #[test]
    fn every_instruction_set_finds_the_rows_that_plain_arithmetic_finds() {
        let mut chance = Chance::new();
        let (row_bytes, rows) = (3 * LINE_BYTES, BLOCK_ROWS as u32 + 100);
        let extreme = |chance: &mut Chance| [1u8, 128, 255, (chance.bits() % 255 + 1) as u8][chance.below(4)];
        let blocks: Vec<Vec<u8>> =
            (0..2).map(|_| (0..BLOCK_ROWS * row_bytes).map(|_| extreme(&mut chance)).collect()).collect();
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        let layout = RowLayout { blocks: &blocks, row_bytes };
        let query: Vec<i8> = (0..row_bytes).map(|_| (i32::from(extreme(&mut chance)) - 128) as i8).collect();
        let subset: Vec<u32> = (0..rows).filter(|_| chance.below(3) > 0).collect();

        let mut expected: Vec<(i32, u32)> = subset
            .iter()
            .map(|row| {
                let bytes = layout.row(*row).iter();
                (bytes.zip(&query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum(), *row)
            })
            .collect();
        expected.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut expected: Vec<u32> = expected.into_iter().take(10).map(|(_, row)| row).collect();
        expected.sort_unstable();

        let mut scans: Vec<(&str, Scan)> = vec![("portable", scan_portable), ("chosen", scan)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                scans.push(("avx2", x86::scan_avx2));
            }
            if is_x86_feature_detected!("avx512vnni") {
                scans.push(("avx512", x86::scan_avx512));
            }
        }
        for (name, scan) in scans {
            let mut top = TopRows::new(10);
            // SAFETY: only instruction sets that the processor has were listed.
            unsafe { scan(layout, &subset, &query, &mut top) };
            let mut found = top.into_rows();
            found.sort_unstable();
            assert_eq!(found, expected, "{name}");
        }
    }

    type SignScan = unsafe fn(RowLayout<'_>, &[u32], &[SignTable], &mut Vec<[u16; GROUP_ROWS]>);

    #[test]
    fn every_instruction_set_scores_signs_as_plain_arithmetic_does() {
        let mut chance = Chance::new();
        let mut scans: Vec<(&str, SignScan)> = vec![("portable", score_signs_portable), ("chosen", score_signs)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            scans.push(("avx2", x86::score_signs_avx2));
        }
        for words in [1, 6, 64] {
            let tables: Vec<SignTable> = (0..words * WORD_TABLES)
                .map(|_| std::array::from_fn(|_| [31, chance.below(32) as u8][chance.below(2)]))
                .collect();
            let row_bytes = tables.len() * TABLE_BYTES;
            let block = |groups: usize, chance: &mut Chance| -> Vec<u8> {
                (0..groups * row_bytes).map(|_| [255, chance.bits() as u8][chance.below(2)]).collect()
            };
            let full = if words == 1 { BLOCK_ROWS } else { 30 };
            let (first, second) = (block(full, &mut chance), block(20, &mut chance));
            let blocks = [&first[..], &second[..]];
            let layout = RowLayout { blocks: &blocks, row_bytes };
            let mut groups = vec![full as u32 - 1, 3, 4, 29];
            if full == BLOCK_ROWS {
                groups.extend([full as u32, full as u32 + 19]);
            }
            let plain = |group: u32, row: usize| -> u16 {
                let bytes = layout.row(group).chunks_exact(TABLE_BYTES).map(|bytes| bytes[row % TABLE_BYTES]);
                let bits = bytes.map(|byte| if row < TABLE_BYTES { byte & 15 } else { byte >> 4 });
                bits.zip(&tables).map(|(bits, table)| u16::from(table[usize::from(bits)])).sum()
            };
            let expected: Vec<[u16; GROUP_ROWS]> =
                groups.iter().map(|group| std::array::from_fn(|row| plain(*group, row))).collect();
            for (name, scan) in &scans {
                let mut scores = Vec::new();
                // SAFETY: only instruction sets that the processor has were listed.
                unsafe { scan(layout, &groups, &tables, &mut scores) };
                assert_eq!(scores, expected, "{name}, {words} words");
            }
        }
    }

    #[test]
    fn scores_at_least_a_floor_are_told_at_every_place() {
        let mut chance = Chance::new();
        for _ in 0..500 {
            let greatest = [3, 40_000, 65_536][chance.below(3)];
            let scores: [u16; GROUP_ROWS] = std::array::from_fn(|_| chance.below(greatest) as u16);
            for floor in [scores[chance.below(GROUP_ROWS)], chance.below(greatest) as u16, 0, u16::MAX] {
                let told = at_least(&scores, floor);
                assert_eq!(told, at_least_portable(&scores, floor));
                for (at, score) in scores.iter().enumerate() {
                    assert_eq!(told >> at & 1 == 1, *score >= floor, "{score} at {at}, floor {floor}");
                }
            }
        }
    }

    #[test]
    fn the_cosine_is_that_of_the_definition() {
        let mut chance = Chance::new();
        for dimensions in [1, 3, 16, 17, 384] {
            let (query, stored) = (chance.unit_vector(dimensions), chance.unit_vector(dimensions));
            let rounded: Vec<bf16> = stored.iter().map(|x| bf16::from_f32(*x)).collect();
            let dot: f64 = query.iter().zip(&rounded).map(|(a, b)| f64::from(*a) * b.to_f64()).sum();
            let norm: f64 = rounded.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>().sqrt();
            assert!((f64::from(cosine(&query, &rounded)) - dot / norm).abs() < 1e-5);
        }
    }
}
