//! Spreads the scan of a large set over the processors. All scans of the process share the processors: a scan takes
//! only those that no other scan uses, so that many searches at once do not start more threads than there are
//! processors. `row_table`, `binary_codes` and `int4_matrix` define the work on each part.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::vectors::scan_pool;

/// Number of rows in a part of a scan. A thread that has finished its part takes the next one, so that a thread that
/// the system delays does not delay the whole scan for long. A part takes about 0.1 ms.
pub const PART_ROWS: usize = 32_768;
/// Minimum number of rows for each thread of a scan. Fewer rows take less than half a millisecond.
const THREAD_ROWS_MIN: usize = 131_072;
/// Maximum number of threads of a scan. More of them only wait for memory.
const THREADS_MAX: usize = 8;

/// Number of processors.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
/// Number of threads that all scans in progress use.
static SCANNING: AtomicUsize = AtomicUsize::new(0);

/// The threads that a scan may use: its own, and others that it reserved.
#[derive(Debug)]
pub struct ScanThreads {
    others: usize,
}

impl ScanThreads {
    /// Reserves threads for a scan of `rows` rows: that of the caller, and as many others as are worthwhile and free.
    /// They are free again when the value is dropped.
    pub fn for_rows(rows: usize) -> ScanThreads {
        let wanted = (rows / THREAD_ROWS_MIN).clamp(1, THREADS_MAX) - 1;
        ScanThreads { others: reserve(wanted, *PROCESSORS, &SCANNING) }
    }

    /// Only the thread of the caller.
    #[cfg(test)]
    pub fn only_own() -> ScanThreads {
        ScanThreads::with_others(0)
    }

    /// Exactly this number of threads in addition to that of the caller, however many are free.
    #[cfg(test)]
    pub fn with_others(others: usize) -> ScanThreads {
        SCANNING.fetch_add(1 + others, Ordering::Relaxed);
        ScanThreads { others }
    }

    /// Calls `work` for the parts of `0..items`, which have `part_items` items each except the last one. Returns the
    /// results in the order of the parts.
    pub fn map_parts<Value: Send>(
        &self,
        items: usize,
        part_items: usize,
        work: impl Fn(Range<usize>) -> Value + Sync,
    ) -> Vec<Value> {
        let parts = items.div_ceil(part_items);
        let part = |number: usize| number * part_items..items.min((number + 1) * part_items);
        if self.others == 0 || parts < 2 {
            return (0..parts).map(|number| work(part(number))).collect();
        }
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(parts)));
        scan_pool::share(self.others.min(parts - 1), &|| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= parts {
                    return;
                }
                let value = work(part(number));
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, value));
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, value)| value).collect()
    }

    /// Like `map_parts`, for the parts of a slice, which `work` may change. It also gets the index of the first item.
    pub fn map_slices<Item: Send, Value: Send>(
        &self,
        items: &mut [Item],
        part_items: usize,
        work: impl Fn(usize, &mut [Item]) -> Value + Sync,
    ) -> Vec<Value> {
        let count = items.len();
        // Each lock is taken once.
        let parts: Vec<Mutex<&mut [Item]>> = items.chunks_mut(part_items).map(Mutex::new).collect();
        self.map_parts(count, part_items, |part| {
            let mut items = parts[part.start / part_items].lock().unwrap_or_else(PoisonError::into_inner);
            work(part.start, &mut items)
        })
    }
}

impl Drop for ScanThreads {
    fn drop(&mut self) {
        SCANNING.fetch_sub(1 + self.others, Ordering::Relaxed);
    }
}

/// Adds the caller's thread to `scanning`, and up to `wanted` others, as long as there are no more than `processors`.
/// Returns the number of others.
fn reserve(wanted: usize, processors: usize, scanning: &AtomicUsize) -> usize {
    let mut others = 0;
    // The closure always returns a value, so the update cannot fail.
    let _ = scanning.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |scanning| {
        others = wanted.min(processors.saturating_sub(scanning + 1));
        Some(scanning + 1 + others)
    });
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_in_one_part_and_results_are_in_order() {
        for others in 0..4 {
            for items in [0, 1, 9, 10, 11, 1_000] {
                let parts = ScanThreads::with_others(others).map_parts(items, 10, |part| part);
                assert_eq!(parts.into_iter().flatten().collect::<Vec<_>>(), (0..items).collect::<Vec<_>>());
                let mut numbers = vec![0; items];
                let lengths = ScanThreads::with_others(others).map_slices(&mut numbers, 10, |first, part| {
                    part.iter_mut().enumerate().for_each(|(at, number)| *number += first + at);
                    part.len()
                });
                assert_eq!(numbers, (0..items).collect::<Vec<_>>());
                assert_eq!(lengths.iter().sum::<usize>(), items);
            }
        }
    }

    #[test]
    fn scans_at_the_same_time_share_the_processors() {
        let scanning = AtomicUsize::new(0);
        assert_eq!(reserve(3, 8, &scanning), 3, "four threads");
        assert_eq!(reserve(7, 8, &scanning), 3, "eight threads");
        assert_eq!(reserve(1, 8, &scanning), 0, "nine threads: a scan always has that of its caller");
        scanning.fetch_sub(4, Ordering::Relaxed);
        assert_eq!(reserve(1, 8, &scanning), 1, "seven threads");
        assert_eq!(reserve(5, 1, &scanning), 0);
    }

    #[test]
    fn small_scans_reserve_no_thread() {
        assert_eq!(ScanThreads::for_rows(2 * THREAD_ROWS_MIN - 1).others, 0);
    }

    #[test]
    #[should_panic(expected = "part 3")]
    fn a_panic_in_another_thread_reaches_the_caller() {
        ScanThreads::with_others(2).map_parts(100, 10, |part| assert!(part.start != 30, "part 3"));
    }
}
