//! The set of rows that a scan covers, stored as a bit mask for each group of 32 rows. The groups are those of the
//! binary codes. Times: docs/measurements.md, "Rows of a scan as bits".

use crate::vectors::kernels::GROUP_ROWS;

/// A set of rows. Groups are in the order in which they were added. A group can occur several times with different
/// rows, but no row is in the set twice.
#[derive(Debug, Clone, Default)]
pub struct RowSet {
    groups: Vec<u32>,
    /// One mask for each element of `groups`. Bit n is set if row n of the group is in the set.
    masks: Vec<u32>,
    rows: usize,
}

impl RowSet {
    /// Creates an empty set with capacity for `rows` consecutive rows.
    pub fn with_capacity(rows: usize) -> Self {
        let groups = rows.div_ceil(GROUP_ROWS);
        RowSet { groups: Vec::with_capacity(groups), masks: Vec::with_capacity(groups), rows: 0 }
    }

    /// Adds the rows of a group that are set in `mask`. None of them may be in the set already.
    pub fn push_group(&mut self, group: u32, mask: u32) {
        if mask != 0 {
            self.groups.push(group);
            self.masks.push(mask);
            self.rows += mask.count_ones() as usize;
        }
    }

    /// All rows of several sets, in their order. No row may be in two of them.
    pub fn joined(parts: Vec<RowSet>) -> Self {
        RowSet {
            rows: parts.iter().map(RowSet::len).sum(),
            groups: parts.iter().flat_map(|part| &part.groups).copied().collect(),
            masks: parts.iter().flat_map(|part| &part.masks).copied().collect(),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The numbers of the groups. `masks` has the rows of each group.
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// The mask of each group, in the order of `groups`.
    pub fn masks(&self) -> &[u32] {
        &self.masks
    }

    /// All rows of the set, in the order of their groups.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let groups = self.groups.iter().zip(&self.masks);
        groups.flat_map(|(group, mask)| rows_of_group(*group, *mask))
    }
}

/// None of the added rows may be in the set already.
impl Extend<u32> for RowSet {
    fn extend<Rows: IntoIterator<Item = u32>>(&mut self, rows: Rows) {
        for row in rows {
            let (group, bit) = (row / GROUP_ROWS as u32, 1 << (row % GROUP_ROWS as u32));
            match self.masks.last_mut().filter(|_| self.groups.last() == Some(&group)) {
                Some(mask) => {
                    *mask |= bit;
                    self.rows += 1;
                }
                None => self.push_group(group, bit),
            }
        }
    }
}

impl FromIterator<u32> for RowSet {
    fn from_iter<Rows: IntoIterator<Item = u32>>(rows: Rows) -> Self {
        let mut set = RowSet::default();
        set.extend(rows);
        set
    }
}

/// The row numbers that a mask selects in a group, ascending.
pub fn rows_of_group(group: u32, mask: u32) -> impl Iterator<Item = u32> {
    set_bits(mask).map(move |bit| group * GROUP_ROWS as u32 + bit)
}

/// The numbers of the bits that are set in a mask, ascending.
pub fn set_bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    #[test]
    fn keeps_all_rows_in_the_order_of_their_groups() {
        let mut chance = Chance::new();
        for _ in 0..200 {
            let mut runs: Vec<Vec<u32>> = Vec::new();
            let mut next = 0;
            for _ in 0..chance.below(20) {
                next += chance.below(70) as u32;
                let run: Vec<u32> = (next..next + chance.below(50) as u32).collect();
                next += run.len() as u32;
                runs.push(run);
            }
            if chance.below(2) == 0 {
                runs.reverse();
            }
            let rows = runs.concat();
            let set: RowSet = rows.iter().copied().collect();
            assert_eq!(set.len(), rows.len());
            let mut sorted: Vec<u32> = set.iter().collect();
            let in_runs = rows.chunk_by(|a, b| a / 32 == b / 32).map(|run| {
                let mut run = run.to_vec();
                run.sort_unstable();
                run
            });
            assert_eq!(sorted, in_runs.collect::<Vec<_>>().concat());
            sorted.sort_unstable();
            let mut expected = rows;
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn groups_without_rows_are_left_out() {
        let mut set = RowSet::with_capacity(100);
        set.push_group(3, 0);
        set.push_group(1, 1 << 31 | 1);
        set.extend([64, 40]);
        assert_eq!((set.groups(), set.len()), (&[1, 2, 1][..], 4));
        assert_eq!(set.iter().collect::<Vec<_>>(), [32, 63, 64, 40]);
    }
}
