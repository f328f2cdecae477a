//! Very many short lists of numbers in one piece of memory: who mentions a name. Most names have one mention, which
//! takes no room beyond the list's own eight bytes.

/// A list in `PostingLists`; only the pool that filled it can read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// The number itself if there is one; else where its block begins.
    head: u32,
    length: u32,
}

impl List {
    /// How many numbers it holds.
    pub(crate) fn len(self) -> usize {
        self.length as usize
    }
}

/// The pool. A list of n > 1 numbers has a block of the next power of two; freed blocks are used again.
#[derive(Debug, Default)]
pub(crate) struct PostingLists {
    pool: Vec<u32>,
    /// Free blocks by the power of two of their size.
    free: [Vec<u32>; 32],
}

impl PostingLists {
    /// The numbers of a list, in no particular order.
    pub(crate) fn get<'pool>(&'pool self, list: &'pool List) -> &'pool [u32] {
        match list.length {
            0 => &[],
            1 => std::slice::from_ref(&list.head),
            length => &self.pool[list.head as usize..][..length as usize],
        }
    }

    /// Adds a number.
    pub(crate) fn push(&mut self, list: &mut List, number: u32) {
        if list.length == 0 {
            *list = List { head: number, length: 1 };
            return;
        }
        if list.length.is_power_of_two() {
            self.resize(list, list.length, list.length * 2);
        }
        self.pool[(list.head + list.length) as usize] = number;
        list.length += 1;
    }

    /// Takes out one number that is equal; nothing happens if there is none.
    pub(crate) fn remove(&mut self, list: &mut List, number: u32) {
        let Some(at) = self.get(list).iter().position(|held| *held == number) else { return };
        match list.length {
            1 => *list = List::default(),
            2 => {
                let block = list.head;
                *list = List { head: self.pool[block as usize + 1 - at], length: 1 };
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

    /// Keeps the numbers that `keep` holds for; one pass, however many go.
    pub(crate) fn retain(&mut self, list: &mut List, keep: impl Fn(u32) -> bool) {
        match list.length {
            0 => {}
            1 if keep(list.head) => {}
            1 => *list = List::default(),
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
                    *list = if kept == 0 { List::default() } else { List { head: first, length: 1 } };
                    self.free[held.trailing_zeros() as usize].push(block);
                } else if size < held {
                    self.resize(list, held, size);
                }
            }
        }
    }

    /// Moves a list of more than no numbers from its block of `held` to one of `size`.
    fn resize(&mut self, list: &mut List, held: u32, size: u32) {
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

    fn block(&mut self, size: u32) -> u32 {
        let free = &mut self.free[size.trailing_zeros() as usize];
        free.pop().unwrap_or_else(|| {
            let start = u32::try_from(self.pool.len()).expect("a project has fewer than 2^32 mentions of names");
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
    fn holds_what_plain_lists_hold_and_uses_its_memory_again() {
        let mut chance = Chance::new();
        let mut pool = PostingLists::default();
        let mut lists = vec![(List::default(), Vec::new()); 20];
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
        assert!(lists.iter().all(|(list, _)| *list == List::default()));
    }

    #[test]
    fn freed_blocks_are_used_again() {
        let mut pool = PostingLists::default();
        let mut lists = [List::default(); 20];
        let mut fill_and_empty = |pool: &mut PostingLists| {
            lists.iter_mut().for_each(|list| (0..100).for_each(|number| pool.push(list, number)));
            lists.iter_mut().for_each(|list| (0..100).for_each(|number| pool.remove(list, number)));
            pool.pool.len()
        };
        let room = fill_and_empty(&mut pool);
        assert_eq!(fill_and_empty(&mut pool), room);
    }
}
