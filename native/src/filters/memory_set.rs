//! Bitmap of memories. `filters::memory_table` decides which memories are in a set.

/// Set of memories as a dense bitmap, one bit per ordinal. For 132,000 memories it has 16 KB, so copying or
/// intersecting takes one or two microseconds. A membership test during a scan reads one word of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySet {
    words: Vec<u64>,
}

impl MemorySet {
    /// Creates an empty set with room for ordinals below `ordinals`.
    pub fn with_room_for(ordinals: usize) -> Self {
        MemorySet { words: vec![0; ordinals.div_ceil(64)] }
    }

    /// Adds an ordinal. Grows the bitmap if necessary.
    pub fn insert(&mut self, ordinal: u32) {
        let word = ordinal as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (ordinal % 64);
    }

    /// Removes an ordinal. Does nothing if the ordinal is not in the set.
    pub fn remove(&mut self, ordinal: u32) {
        if let Some(word) = self.words.get_mut(ordinal as usize / 64) {
            *word &= !(1 << (ordinal % 64));
        }
    }

    /// Whether the ordinal is in the set. An ordinal beyond the end of the bitmap is not.
    #[inline]
    pub fn contains(&self, ordinal: u32) -> bool {
        match self.words.get(ordinal as usize / 64) {
            Some(word) => word >> (ordinal % 64) & 1 == 1,
            None => false,
        }
    }

    /// Number of ordinals in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Returns the ordinals that are in both sets.
    pub fn intersection(&self, other: &MemorySet) -> MemorySet {
        MemorySet { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// Returns the ordinals that are in this set but not in the other.
    pub fn difference(&self, other: &MemorySet) -> MemorySet {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        MemorySet { words: self.words.iter().zip(others).map(|(a, b)| a & !b).collect() }
    }

    /// Adds all ordinals of another set.
    pub fn add_all(&mut self, other: &MemorySet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Iterates over the ordinals in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| ordinals_of(index, *word))
    }

    /// Iterates over the ordinals below `end` that are not in the set, in ascending order.
    pub fn iter_missing(&self, end: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.words.iter().copied().chain(std::iter::repeat(0)).take((end as usize).div_ceil(64));
        let missing = words.enumerate().flat_map(|(index, word)| ordinals_of(index, !word));
        missing.take_while(move |ordinal| *ordinal < end)
    }
}

/// The ordinals whose bits are set in a word of the bitmap, ascending.
fn ordinals_of(index: usize, word: u64) -> impl Iterator<Item = u32> {
    let mut left = word;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let bit = left.trailing_zeros();
        left &= left - 1;
        Some(index as u32 * 64 + bit)
    })
}

impl FromIterator<u32> for MemorySet {
    fn from_iter<Ordinals: IntoIterator<Item = u32>>(ordinals: Ordinals) -> Self {
        let mut set = MemorySet::default();
        ordinals.into_iter().for_each(|ordinal| set.insert(ordinal));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_a_set_of_numbers() {
        let mut chance = Chance::new();
        let (mut bits, mut model) = (MemorySet::with_room_for(10), BTreeSet::new());
        let (mut other_bits, mut other_model) = (MemorySet::default(), BTreeSet::new());
        for _ in 0..2_000 {
            let ordinal = chance.below(700) as u32;
            if chance.below(3) == 0 {
                bits.remove(ordinal);
                model.remove(&ordinal);
            } else {
                bits.insert(ordinal);
                model.insert(ordinal);
            }
            let other = chance.below(300) as u32;
            other_bits.insert(other);
            other_model.insert(other);
        }
        assert!(bits.iter().eq(model.iter().copied()));
        for end in [0, 1, 63, 64, 65, 500, 700, 1_000] {
            assert!(bits.iter_missing(end).eq((0..end).filter(|ordinal| !model.contains(ordinal))), "below {end}");
        }
        assert_eq!(bits.len(), model.len());
        assert_eq!(bits.is_empty(), model.is_empty());
        assert!((0..2_000).all(|ordinal| bits.contains(ordinal) == model.contains(&ordinal)));
        for (left, right, left_model, right_model) in
            [(&bits, &other_bits, &model, &other_model), (&other_bits, &bits, &other_model, &model)]
        {
            assert!(left.intersection(right).iter().eq(left_model.intersection(right_model).copied()));
            assert!(left.difference(right).iter().eq(left_model.difference(right_model).copied()));
            let mut union = left.clone();
            union.add_all(right);
            assert!(union.iter().eq(left_model.union(right_model).copied()));
            assert_eq!(union, union.iter().collect());
        }
    }
}
