//! The threads that help with scans. They are started once and wait for jobs. If each scan started its own threads, on
//! a busy machine it would have to wait until the system runs them. The file has `unsafe` code, because a job borrows
//! the rows that it scans.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

/// Work that several threads do at the same time; each call does a share of it.
type Work<'scope> = dyn Fn() + Sync + 'scope;

/// Work that helpers may join until the caller closes the job.
struct Job {
    work: WorkPointer,
    state: Mutex<JobState>,
    left: Condvar,
}

/// The work of a job. It must not be called after the job was closed.
struct WorkPointer(*const Work<'static>);

// SAFETY: the work may be called by any thread, because it is `Sync`.
unsafe impl Send for WorkPointer {}
// SAFETY: as above.
unsafe impl Sync for WorkPointer {}

struct JobState {
    is_open: bool,
    /// Number of helpers that are doing the work.
    helpers: usize,
    /// The panic of a helper (the last one, if there are several), which is passed on to the caller.
    panic: Option<Box<dyn Any + Send>>,
}

#[derive(Default)]
struct Helpers {
    /// Jobs that wait for a helper. A job is in the queue once for each helper that it may have.
    queue: Mutex<Queue>,
    queued: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Arc<Job>>,
    threads: usize,
}

static HELPERS: LazyLock<Helpers> = LazyLock::new(Helpers::default);

/// Closes a job when it is dropped, also if the work of the caller panics.
struct Closing<'job>(&'job Arc<Job>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        lock(&HELPERS.queue).jobs.retain(|job| !Arc::ptr_eq(job, self.0));
        let mut state = lock(&self.0.state);
        state.is_open = false;
        while state.helpers > 0 {
            state = self.0.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Calls `work` on the caller's thread, and at the same time on up to `others` helpers, if they are free in time.
/// Returns when all calls have ended. A panic of any of them is then passed on to the caller.
pub fn share(others: usize, work: &Work<'_>) {
    // SAFETY: only the lifetime changes. `Closing` waits until no helper is in `work`, and no helper enters it later.
    let pointer = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
    let state = Mutex::new(JobState { is_open: true, helpers: 0, panic: None });
    let job = Arc::new(Job { work: WorkPointer(pointer), state, left: Condvar::new() });
    let closing = Closing(&job);
    HELPERS.offer(&job, others);
    work();
    drop(closing);
    let panic = lock(&job.state).panic.take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Helpers {
    fn offer(&self, job: &Arc<Job>, others: usize) {
        let mut queue = lock(&self.queue);
        queue.jobs.extend((0..others).map(|_| Arc::clone(job)));
        while queue.threads < others {
            let thread = std::thread::Builder::new().name("mneme-scan".to_owned());
            // If the system refuses a thread, the others do its work.
            if thread.spawn(|| HELPERS.help()).is_err() {
                break;
            }
            queue.threads += 1;
        }
        drop(queue);
        self.queued.notify_all();
    }

    /// Helps with one job after the other.
    fn help(&self) -> ! {
        loop {
            let mut queue = lock(&self.queue);
            let job = loop {
                match queue.jobs.pop_front() {
                    Some(job) => break job,
                    None => queue = self.queued.wait(queue).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(queue);
            job.help();
        }
    }
}

impl Job {
    fn help(&self) {
        let mut state = lock(&self.state);
        if !state.is_open {
            return;
        }
        state.helpers += 1;
        drop(state);
        // SAFETY: the job was open when this helper was counted, so `Closing` keeps the work alive until it has left.
        let work = unsafe { &*self.work.0 };
        let ended = catch_unwind(AssertUnwindSafe(work));
        let mut state = lock(&self.state);
        state.helpers -= 1;
        if let Err(panic) = ended {
            state.panic = Some(panic);
        }
        drop(state);
        self.left.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_call_is_in_progress_when_the_work_has_ended() {
        for round in 0..2_000 {
            let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            share(round % 4, &|| {
                started.fetch_add(1, Ordering::SeqCst);
                std::hint::black_box((0..round * 10).sum::<usize>());
                ended.fetch_add(1, Ordering::SeqCst);
            });
            let calls = started.load(Ordering::SeqCst);
            assert_eq!(ended.load(Ordering::SeqCst), calls);
            assert!((1..=1 + round % 4).contains(&calls));
        }
    }

    #[test]
    fn several_threads_can_share_work_at_the_same_time() {
        let calls = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        share(3, &|| {
                            calls.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert!(calls.into_inner() >= 1_600);
    }

    #[test]
    fn helpers_survive_a_panic() {
        for _ in 0..50 {
            let entered = AtomicUsize::new(0);
            let shared = catch_unwind(AssertUnwindSafe(|| {
                share(2, &|| {
                    if entered.fetch_add(1, Ordering::SeqCst) == 0 {
                        panic!("the first call fails");
                    }
                });
            }));
            assert!(shared.is_err());
        }
        share(2, &|| {});
    }
}
