//! Stores very many short lists of numbers in one pool. Most entities have only one mention, and a list of one number
//! needs no memory besides the eight bytes of its handle.

/// Handle of a list in `PostingLists`. Only the pool that filled the list can read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ListHandle {
    /// The number itself if the list contains exactly one; otherwise the start of the list's block in the pool.
    head: u32,
    length: u32,
}

impl ListHandle {
    /// Number of elements.
    pub(crate) fn len(self) -> usize {
        self.length as usize
    }
}

/// The pool of lists. A list of n > 1 numbers has a block whose size is n rounded up to a power of two. Free blocks are
/// reused.
#[derive(Debug, Default)]
pub(crate) struct PostingLists {
    pool: Vec<u32>,
    /// Starts of the free blocks. Element k has the blocks of 2^k numbers.
    free: [Vec<u32>; 32],
}

impl PostingLists {
    /// The numbers of a list, in no particular order.
    pub(crate) fn get<'pool>(&'pool self, list: &'pool ListHandle) -> &'pool [u32] {
        match list.length {
            0 => &[],
            1 => std::slice::from_ref(&list.head),
            length => &self.pool[list.head as usize..][..length as usize],
        }
    }

    /// Adds a number.
    pub(crate) fn push(&mut self, list: &mut ListHandle, number: u32) {
        if list.length == 0 {
            *list = ListHandle { head: number, length: 1 };
            return;
        }
        if list.length.is_power_of_two() {
            self.resize(list, list.length, list.length * 2);
        }
        self.pool[(list.head + list.length) as usize] = number;
        list.length += 1;
    }

    /// Removes one occurrence of a number. Does nothing if the list does not contain the number.
    pub(crate) fn remove(&mut self, list: &mut ListHandle, number: u32) {
        let Some(at) = self.get(list).iter().position(|held| *held == number) else { return };
        match list.length {
            1 => *list = ListHandle::default(),
            2 => {
                let block = list.head;
                *list = ListHandle { head: self.pool[block as usize + 1 - at], length: 1 };
                self.free[1].push(block);
            }
            length => {
                let last = list.head + length - 1;
                self.pool[list.head as usize + at] = self.pool[last as usize];
                list.length -= 1;
                if list.length.is_power_of_two() {
                    self.resize(list, list.length * 2, list.length);
                }
            }
        }
    }

    /// Removes the numbers for which `keep` is false, in one pass.
    pub(crate) fn retain(&mut self, list: &mut ListHandle, keep: impl Fn(u32) -> bool) {
        match list.length {
            0 => {}
            1 if keep(list.head) => {}
            1 => *list = ListHandle::default(),
            length => {
                let (block, held) = (list.head, length.next_power_of_two());
                let numbers = &mut self.pool[block as usize..][..length as usize];
                let mut kept = 0;
                for at in 0..numbers.len() {
                    if keep(numbers[at]) {
                        numbers[kept] = numbers[at];
                        kept += 1;
                    }
                }
                let first = numbers[0];
                list.length = kept as u32;
                let size = list.length.next_power_of_two();
                if list.length < 2 {
                    *list = if kept == 0 { ListHandle::default() } else { ListHandle { head: first, length: 1 } };
                    self.free[held.trailing_zeros() as usize].push(block);
                } else if size < held {
                    self.resize(list, held, size);
                }
            }
        }
    }

    /// Moves a non-empty list from its block of `held` numbers, or from its handle if it has one number, to a block of
    /// `size` numbers.
    fn resize(&mut self, list: &mut ListHandle, held: u32, size: u32) {
        let block = self.block(size);
        if list.length == 1 {
            self.pool[block as usize] = list.head;
        } else {
            let from = list.head as usize;
            self.pool.copy_within(from..from + list.length as usize, block as usize);
            self.free[held.trailing_zeros() as usize].push(list.head);
        }
        list.head = block;
    }

    /// Returns the start of a free block of this size, which is a power of two.
    fn block(&mut self, size: u32) -> u32 {
        let free = &mut self.free[size.trailing_zeros() as usize];
        free.pop().unwrap_or_else(|| {
            let start = u32::try_from(self.pool.len()).expect("a project has fewer than 2^32 entity mentions");
            self.pool.resize(self.pool.len() + size as usize, 0);
            start
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    #[test]
    fn behaves_like_plain_lists() {
        let mut chance = Chance::new();
        let mut pool = PostingLists::default();
        let mut lists = vec![(ListHandle::default(), Vec::new()); 20];
        for step in 0..20_000u32 {
            let (list, model) = &mut lists[chance.below(20)];
            if chance.below(2) == 0 && !model.is_empty() {
                if chance.below(4) == 0 {
                    let (divisor, remainder) = (1 + chance.below(4) as u32, chance.below(3) as u32);
                    let keep = |number: u32| number % divisor == remainder;
                    model.retain(|number| keep(*number));
                    pool.retain(list, keep);
                } else {
                    let number = model.swap_remove(chance.below(model.len()));
                    pool.remove(list, number);
                    pool.remove(list, u32::MAX);
                }
            } else {
                pool.push(list, step);
                model.push(step);
            }
            let mut held = pool.get(list).to_vec();
            held.sort_unstable();
            model.sort_unstable();
            assert_eq!((list.length as usize, &held), (model.len(), &*model));
        }
        lists.iter_mut().for_each(|(list, model)| model.drain(..).for_each(|number| pool.remove(list, number)));
        assert!(lists.iter().all(|(list, _)| *list == ListHandle::default()));
    }

    #[test]
    fn free_blocks_are_reused() {
        let mut pool = PostingLists::default();
        let mut lists = [ListHandle::default(); 20];
        let mut fill_and_empty = |pool: &mut PostingLists| {
            lists.iter_mut().for_each(|list| (0..100).for_each(|number| pool.push(list, number)));
            lists.iter_mut().for_each(|list| (0..100).for_each(|number| pool.remove(list, number)));
            pool.pool.len()
        };
        let pool_size = fill_and_empty(&mut pool);
        assert_eq!(fill_and_empty(&mut pool), pool_size);
    }
}
