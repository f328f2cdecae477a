//! A second thread for work of a few milliseconds, too short to wait for one: it helps where it comes in time, and nothing
//! waits for it to begin.
//!
//! The work has phases of two halves each. Whoever shares it does every first half; the second one belongs to who comes
//! first, the helper or the sharer after the first. A phase begins when both halves of the one before are done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Looks at a half that is under way before the thread lets others run: some ten microseconds.
const LOOKS: usize = 500;
/// A helper that was kept waiting for longer than a half should take leaves: the sharer has no core, and waiting would keep
/// others from one.
const HELPER_WAIT_MAX: Duration = Duration::from_millis(5);

/// Work that two threads may share.
pub trait HalvedWork: Send + Sync {
    /// How many phases there are.
    fn phases(&self) -> usize;
    /// Does one half, 0 or 1, of a phase. Both halves of the phases before are done.
    fn run(&self, phase: usize, half: usize);
}

/// A thread that sleeps until there is work.
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

/// One work while it is shared.
struct Round {
    work: Arc<dyn HalvedWork>,
    /// Second halves that somebody has begun.
    taken: AtomicUsize,
    /// Phases whose first, whose second half is done.
    done: [AtomicUsize; 2],
    /// That nobody waits for it.
    has_failed: AtomicBool,
}

impl Helper {
    /// Starts the thread.
    pub fn start(name: &str) -> Result<Self> {
        let mailbox = Arc::new(Mailbox::default());
        let its_mailbox = Arc::clone(&mailbox);
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || help(&its_mailbox));
        let thread = started.map_err(|cause| Error::from_io("starting a helper's thread", &cause))?;
        Ok(Helper { mailbox, thread: Some(thread) })
    }

    /// Does the work, all of it when this returns. One at a time: a helper that is still at another one is not waited for.
    pub fn share(&self, work: Arc<dyn HalvedWork>) {
        let round = Arc::new(Round {
            work,
            taken: AtomicUsize::new(0),
            done: [AtomicUsize::new(0), AtomicUsize::new(0)],
            has_failed: AtomicBool::new(false),
        });
        self.mailbox.lock().round = Some(Arc::clone(&round));
        self.mailbox.posted.notify_one();
        let _failing = Failing(&round);
        for phase in 0..round.work.phases() {
            round.run(phase, 0);
            if round.takes_second(phase) {
                round.run(phase, 1);
            } else {
                let is_done = round.waits_for(1, phase + 1, None);
                assert!(is_done, "a helper failed at its half");
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.mailbox.lock().is_closing = true;
        self.mailbox.posted.notify_one();
        if let Some(thread) = self.thread.take() {
            // What failed there failed its sharer as well.
            let _ended = thread.join();
        }
    }
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next round; `None` when there will be none.
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

    fn takes_second(&self, phase: usize) -> bool {
        self.taken.compare_exchange(phase, phase + 1, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether so many phases of a half became done, rather than the other thread failed or the time was over.
    fn waits_for(&self, half: usize, phases: usize, time: Option<Duration>) -> bool {
        let since = Instant::now();
        loop {
            for _ in 0..LOOKS {
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

/// Tells the other thread when this one fails.
struct Failing<'a>(&'a Round);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_failed.store(true, Ordering::Release);
        }
    }
}

fn help(mailbox: &Mailbox) {
    while let Some(round) = mailbox.next() {
        // The sharer was told by `Failing`; the next work is another.
        let _outcome = catch_unwind(AssertUnwindSafe(|| help_with(&round)));
    }
}

fn help_with(round: &Round) {
    let _failing = Failing(round);
    for phase in 0..round.work.phases() {
        let is_begun = (0..2).all(|half| round.waits_for(half, phase, Some(HELPER_WAIT_MAX)));
        if !is_begun {
            return;
        }
        if round.takes_second(phase) {
            round.run(phase, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::eventually;
    use std::thread::ThreadId;

    /// Each phase adds what it finds of the other half to its own.
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
            assert!(self.fails_at != Some((phase, half)), "as the test wants");
            let found =
                |half: usize| if phase == 0 { half + 1 } else { self.cells[phase - 1][half].load(Ordering::Relaxed) };
            // Not known before both of the last ones are.
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
    fn every_half_is_done_once_and_after_the_phase_before() {
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

    /// Whose first halves wait until somebody else has done the second ones.
    struct Together {
        sharer: ThreadId,
        helped: AtomicUsize,
    }

    impl HalvedWork for Together {
        fn phases(&self) -> usize {
            5
        }

        fn run(&self, phase: usize, half: usize) {
            if half == 1 {
                assert_ne!(std::thread::current().id(), self.sharer);
                self.helped.fetch_add(1, Ordering::AcqRel);
            } else {
                eventually("the helper did its half", || self.helped.load(Ordering::Acquire) > phase);
            }
        }
    }

    #[test]
    fn the_helper_helps() {
        let helper = Helper::start("test").expect("a thread");
        for _ in 0..50 {
            let work = Together { sharer: std::thread::current().id(), helped: AtomicUsize::new(0) };
            helper.share(Arc::new(work));
        }
    }

    #[test]
    fn who_fails_fails_the_work_and_the_next_one_is_done() {
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
    fn several_may_share_with_one_helper_and_dropping_it_ends_its_thread() {
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
        assert!(mailbox.upgrade().is_none(), "the thread held it");
    }
}
