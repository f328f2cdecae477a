//! Priority of threads, and computations on several of them.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of threads of one computation.
const THREADS_MAX: usize = 4;
/// Number of items that a thread takes at once.
const ITEMS_AT_ONCE: usize = 32;
/// Minimum number of items that are computed on several threads. Fewer take less than 0.1 s, and are often published
/// while people search.
const SHARED_ITEMS_MIN: usize = 1_024;

/// Calls `compute` for each item, and returns the results in the order of the items. Many items are shared with up to
/// `THREADS_MAX - 1` other threads. Their priority is low, so they use only processor time that no other thread wants.
pub fn map_shared<Item: Sync, Value: Send>(items: &[Item], compute: impl Fn(&Item) -> Value + Sync) -> Vec<Value> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    if items.len() < SHARED_ITEMS_MIN || threads == 1 {
        return items.iter().map(compute).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut computed = Vec::new();
        loop {
            let first = next.fetch_add(ITEMS_AT_ONCE, Ordering::Relaxed);
            let Some(rest) = items.get(first..).filter(|rest| !rest.is_empty()) else { return computed };
            let values: Vec<Value> = rest.iter().take(ITEMS_AT_ONCE).map(&compute).collect();
            computed.push((first, values));
        }
    };
    let mut computed = std::thread::scope(|scope| {
        let spawn = |_| {
            scope.spawn(|| {
                lower_priority();
                work()
            })
        };
        let others: Vec<_> = (1..threads).map(spawn).collect();
        let mut computed = work();
        for other in others {
            computed.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        computed
    });
    computed.sort_unstable_by_key(|(first, _)| *first);
    computed.into_iter().flat_map(|(_, values)| values).collect()
}

/// Niceness of a thread of low priority: it gets about a tenth of the time of a processor that others want.
#[cfg(target_os = "linux")]
const NICENESS: libc::c_int = 10;

/// Lowers the priority of the calling thread, for the rest of its life. Does nothing on systems where only a process
/// has a priority.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: the calls have no memory arguments. On Linux, 0 stands for the calling thread. A failure only affects
    // speed.
    unsafe {
        if libc::getpriority(libc::PRIO_PROCESS, 0) < NICENESS {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_in_the_order_of_the_items() {
        for count in [0, 1, SHARED_ITEMS_MIN - 1, SHARED_ITEMS_MIN, SHARED_ITEMS_MIN + 1, 10_007] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(map_shared(&items, |item| item * 3), (0..count).map(|item| item * 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let items: Vec<usize> = (0..2 * SHARED_ITEMS_MIN).collect();
        for bad in [0, 700, items.len() - 1] {
            let outcome = std::panic::catch_unwind(|| map_shared(&items, |item| assert_ne!(*item, bad)));
            assert!(outcome.is_err());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_the_calling_thread_gets_a_low_priority() {
        // SAFETY: the call has no memory arguments.
        let niceness = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = niceness();
        let lowered = std::thread::spawn(move || {
            lower_priority();
            niceness()
        });
        assert_eq!(lowered.join().expect("the thread ended"), before.max(NICENESS));
        assert_eq!(niceness(), before);
    }
}
