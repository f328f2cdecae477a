//! A second thread, the helper, for work of a few milliseconds. Waking a thread can take as long as the work, so the
//! caller begins at once; the helper joins when it is awake.
//!
//! The work has phases of two halves each. The calling thread does every first half. The second half is done by the
//! thread that is free first: the helper, or the caller after the first half. A phase begins when both halves of the
//! previous phase are done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Number of times that a waiting thread checks whether the other half is done before it yields. This takes about ten
/// microseconds in all.
const SPINS: usize = 500;
/// Maximum time for which the helper waits for the caller. Then it gives up on this work. After this time, the caller
/// is probably not scheduled, and further waiting would occupy a core that other threads need.
const HELPER_WAIT_MAX: Duration = Duration::from_millis(5);

/// Work that two threads can share.
pub trait HalvedWork: Send + Sync {
    /// Number of phases.
    fn phases(&self) -> usize;
    /// Does one half of a phase, 0 or 1. It is called only after both halves of all earlier phases are done.
    fn run(&self, phase: usize, half: usize);
}

/// A thread that sleeps until there is work for it.
pub struct Helper {
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Mailbox {
    post: Mutex<Post>,
    posted: Condvar,
}

#[derive(Default)]
struct Post {
    round: Option<Arc<Round>>,
    is_closing: bool,
}

/// Work in progress that two threads share.
struct Round {
    work: Arc<dyn HalvedWork>,
    /// Number of phases whose second half has been claimed by a thread.
    taken: AtomicUsize,
    /// Number of phases whose first half is done, and number of phases whose second half is done.
    done: [AtomicUsize; 2],
    /// Whether one thread panicked. Then the other thread must not wait for it.
    has_failed: AtomicBool,
}

impl Helper {
    /// Starts the thread.
    pub fn start(name: &str) -> Result<Self> {
        let mailbox = Arc::new(Mailbox::default());
        let thread_mailbox = Arc::clone(&mailbox);
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || help(&thread_mailbox));
        let thread = started.map_err(|cause| Error::from_io("starting the helper thread", &cause))?;
        Ok(Helper { mailbox, thread: Some(thread) })
    }

    /// Does the whole work. The helper does second halves if it is awake in time. The call does not wait for a helper
    /// that is still busy with other work.
    pub fn share(&self, work: Arc<dyn HalvedWork>) {
        let round = Arc::new(Round {
            work,
            taken: AtomicUsize::new(0),
            done: [AtomicUsize::new(0), AtomicUsize::new(0)],
            has_failed: AtomicBool::new(false),
        });
        self.mailbox.lock().round = Some(Arc::clone(&round));
        self.mailbox.posted.notify_one();
        let _guard = PanicFlag(&round);
        for phase in 0..round.work.phases() {
            round.run(phase, 0);
            if round.claim_second_half(phase) {
                round.run(phase, 1);
            } else {
                let is_done = round.wait_for(1, phase + 1, None);
                assert!(is_done, "the helper panicked in its half");
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.mailbox.lock().is_closing = true;
        self.mailbox.posted.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the helper was already passed on to the caller of `share`.
            let _ended = thread.join();
        }
    }
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next round. Returns `None` when the helper is dropped.
    fn next(&self) -> Option<Arc<Round>> {
        let mut post = self.lock();
        loop {
            if post.is_closing {
                return None;
            }
            if let Some(round) = post.round.take() {
                return Some(round);
            }
            post = self.posted.wait(post).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Round {
    fn run(&self, phase: usize, half: usize) {
        self.work.run(phase, half);
        self.done[half].store(phase + 1, Ordering::Release);
    }

    fn claim_second_half(&self, phase: usize) -> bool {
        self.taken.compare_exchange(phase, phase + 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Waits until a half (0 or 1) of the first `phases` phases is done. Returns false if the other thread panicked or
    /// the time ran out first.
    fn wait_for(&self, half: usize, phases: usize, time: Option<Duration>) -> bool {
        let since = Instant::now();
        loop {
            for _ in 0..SPINS {
                if self.done[half].load(Ordering::Acquire) >= phases {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.has_failed.load(Ordering::Acquire) || time.is_some_and(|time| since.elapsed() > time) {
                return self.done[half].load(Ordering::Acquire) >= phases;
            }
            std::thread::yield_now();
        }
    }
}

/// Sets `Round::has_failed` if this thread panics, so that the other thread does not wait for it.
struct PanicFlag<'a>(&'a Round);

impl Drop for PanicFlag<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::Release);
        }
    }
}

fn help(mailbox: &Mailbox) {
    while let Some(round) = mailbox.next() {
        // If this work panicked, `PanicFlag` has noted that for the caller. The next work does not depend on it, so the
        // thread goes on.
        let _outcome = catch_unwind(AssertUnwindSafe(|| help_with(&round)));
    }
}

fn help_with(round: &Round) {
    let _guard = PanicFlag(round);
    for phase in 0..round.work.phases() {
        let is_ready = (0..2).all(|half| round.wait_for(half, phase, Some(HELPER_WAIT_MAX)));
        if !is_ready {
            return;
        }
        if round.claim_second_half(phase) {
            round.run(phase, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::eventually;
    use std::thread::ThreadId;

    /// Each half of a phase computes a sum of both halves of the previous phase.
    struct Sums {
        phases: usize,
        fails_at: Option<(usize, usize)>,
        cells: [[AtomicUsize; 2]; 40],
    }

    impl Sums {
        fn new(phases: usize, fails_at: Option<(usize, usize)>) -> Arc<Self> {
            Arc::new(Sums { phases, fails_at, cells: std::array::from_fn(|_| Default::default()) })
        }
    }

    impl HalvedWork for Sums {
        fn phases(&self) -> usize {
            self.phases
        }

        fn run(&self, phase: usize, half: usize) {
            assert!(self.fails_at != Some((phase, half)), "a failure that the test wants");
            let found =
                |half: usize| if phase == 0 { half + 1 } else { self.cells[phase - 1][half].load(Ordering::Relaxed) };
            // The sum depends on both halves of the previous phase.
            let sum = (found(0) * 3 + found(1) * 5 + half) % 1_000_003;
            for _ in 0..(phase * 7 + half * 13) % 29 * 40 {
                std::hint::spin_loop();
            }
            assert_eq!(self.cells[phase][half].swap(sum, Ordering::Relaxed), 0, "each half is done once");
        }
    }

    fn expected(phases: usize) -> (usize, usize) {
        (0..phases).fold((1, 2), |(a, b), _| ((a * 3 + b * 5) % 1_000_003, (a * 3 + b * 5 + 1) % 1_000_003))
    }

    #[test]
    fn every_half_is_done_once_and_after_the_previous_phase() {
        let helper = Helper::start("test").expect("a thread");
        for round in 0..3_000 {
            let phases = 1 + round % 40;
            let work = Sums::new(phases, None);
            let shared: Arc<dyn HalvedWork> = Arc::<Sums>::clone(&work);
            helper.share(shared);
            let last = &work.cells[phases - 1];
            assert_eq!((last[0].load(Ordering::Relaxed), last[1].load(Ordering::Relaxed)), expected(phases));
        }
    }

    /// Work whose first half waits until another thread has done the second half. It has only one phase: before a later
    /// phase, the helper might give up on a caller that is not scheduled on a busy machine.
    struct Together {
        caller: ThreadId,
        is_helped: AtomicBool,
    }

    impl HalvedWork for Together {
        fn phases(&self) -> usize {
            1
        }

        fn run(&self, _phase: usize, half: usize) {
            if half == 1 {
                assert_ne!(std::thread::current().id(), self.caller);
                self.is_helped.store(true, Ordering::Release);
            } else {
                eventually("the helper did its half", || self.is_helped.load(Ordering::Acquire));
            }
        }
    }

    #[test]
    fn the_helper_does_second_halves() {
        let helper = Helper::start("test").expect("a thread");
        for _ in 0..50 {
            let work = Together { caller: std::thread::current().id(), is_helped: AtomicBool::new(false) };
            helper.share(Arc::new(work));
        }
    }

    #[test]
    fn a_panic_fails_the_work_and_the_next_work_is_done() {
        let helper = Helper::start("test").expect("a thread");
        for half in [0, 1] {
            for phase in [0, 3, 9] {
                let work = Sums::new(10, Some((phase, half)));
                assert!(catch_unwind(AssertUnwindSafe(|| helper.share(work))).is_err(), "half {half} of {phase}");
                let sound = Sums::new(10, None);
                let shared: Arc<dyn HalvedWork> = Arc::<Sums>::clone(&sound);
                helper.share(shared);
                assert_eq!(sound.cells[9][0].load(Ordering::Relaxed), expected(10).0);
            }
        }
    }

    #[test]
    fn several_callers_can_share_one_helper_and_dropping_it_ends_its_thread() {
        let helper = Helper::start("test").expect("a thread");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let work = Sums::new(12, None);
                        let shared: Arc<dyn HalvedWork> = Arc::<Sums>::clone(&work);
                        helper.share(shared);
                        assert_eq!(work.cells[11][1].load(Ordering::Relaxed), expected(12).1);
                    }
                });
            }
        });
        let mailbox = Arc::downgrade(&helper.mailbox);
        drop(helper);
        assert!(mailbox.upgrade().is_none(), "the thread has ended");
    }
}
