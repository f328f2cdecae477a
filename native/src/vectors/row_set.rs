//! Which rows of a matrix a scan looks at: group by group, as their signs lie.

use crate::vectors::kernels::GROUP_ROWS;

/// Rows, each once, in the order in which their groups came; a group that came again stands there again.
#[derive(Debug, Clone, Default)]
pub struct RowSet {
    groups: Vec<u32>,
    /// Which rows of each group: bit n stands for its row n.
    bits: Vec<u32>,
    rows: usize,
}

impl RowSet {
    /// The empty set, with room for the groups of so many rows.
    pub fn with_room_for(rows: usize) -> Self {
        let groups = rows.div_ceil(GROUP_ROWS);
        RowSet { groups: Vec::with_capacity(groups), bits: Vec::with_capacity(groups), rows: 0 }
    }

    /// Adds rows of one group; none of them was there.
    pub fn push_group(&mut self, group: u32, bits: u32) {
        if bits != 0 {
            self.groups.push(group);
            self.bits.push(bits);
            self.rows += bits.count_ones() as usize;
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The groups; `bits` says what is meant of each.
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// Which rows of each group, in their order.
    pub fn bits(&self) -> &[u32] {
        &self.bits
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let groups = self.groups.iter().zip(&self.bits);
        groups.flat_map(|(group, bits)| rows_of_group(*group, *bits))
    }
}

/// Rows that are not there yet.
impl Extend<u32> for RowSet {
    fn extend<Rows: IntoIterator<Item = u32>>(&mut self, rows: Rows) {
        for row in rows {
            let (group, bit) = (row / GROUP_ROWS as u32, 1 << (row % GROUP_ROWS as u32));
            match self.bits.last_mut().filter(|_| self.groups.last() == Some(&group)) {
                Some(bits) => {
                    *bits |= bit;
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

/// The rows of a group that its bits mean, ascending.
pub fn rows_of_group(group: u32, bits: u32) -> impl Iterator<Item = u32> {
    bits_of(bits).map(move |bit| group * GROUP_ROWS as u32 + bit)
}

/// The numbers of the bits that are set, ascending.
pub fn bits_of(mut bits: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    #[test]
    fn holds_what_was_put_in_in_the_order_of_groups() {
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
        let mut set = RowSet::with_room_for(100);
        set.push_group(3, 0);
        set.push_group(1, 1 << 31 | 1);
        set.extend([64, 40]);
        assert_eq!((set.groups(), set.len()), (&[1, 2, 1][..], 4));
        assert_eq!(set.iter().collect::<Vec<_>>(), [32, 63, 64, 40]);
    }
}
