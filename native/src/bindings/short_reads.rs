//! Decides whether a short read runs on the JavaScript thread. Waking a worker thread takes as long as a scan of 10,000
//! vectors, and that time is part of every search. But other requests wait for the JavaScript thread, so short reads
//! get only a small share of its time.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Short reads may take at most one part in this many of the time of the JavaScript thread.
const SHARE_DIVISOR: u32 = 20;
/// Time that may be used at once after a pause: the reads of one search.
const BURST: Duration = Duration::from_millis(2);

thread_local! {
    /// The time share of short reads on this JavaScript thread. All projects use the same one.
    static SHORT_READS: RefCell<TimeShare> = const { RefCell::new(TimeShare { paid_until: None }) };
}

/// A share of a thread's time.
#[derive(Debug)]
struct TimeShare {
    /// When the time that was used so far will have been `1 / SHARE_DIVISOR` of all time.
    paid_until: Option<Instant>,
}

impl TimeShare {
    fn has_time(&self, now: Instant) -> bool {
        self.paid_until.is_none_or(|paid_until| paid_until <= now + BURST * SHARE_DIVISOR)
    }

    fn use_time(&mut self, now: Instant, used: Duration) {
        let since = self.paid_until.map_or(now, |paid_until| paid_until.max(now));
        self.paid_until = Some(since + used * SHARE_DIVISOR);
    }
}

/// Whether there is time for a short read on the calling thread.
pub(super) fn has_time() -> bool {
    SHORT_READS.with_borrow(|share| share.has_time(Instant::now()))
}

/// Runs a read on the calling thread and counts its time.
pub(super) fn timed<Output>(read: impl FnOnce() -> Output) -> Output {
    let started = Instant::now();
    let output = read();
    SHORT_READS.with_borrow_mut(|share| share.use_time(started, started.elapsed()));
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_get_a_twentieth_of_the_time_and_a_burst_after_a_pause() {
        let (start, mut share) = (Instant::now(), TimeShare { paid_until: None });
        let read = Duration::from_micros(250);
        let reads_in_second = |share: &mut TimeShare, second: u64| {
            let moments = (0..10_000).map(|at| start + Duration::from_secs(second) + Duration::from_micros(100 * at));
            moments.filter(|now| share.has_time(*now).then(|| share.use_time(*now, read)).is_some()).count()
        };
        let (first, second) = (reads_in_second(&mut share, 0), reads_in_second(&mut share, 1));
        assert!((205..=211).contains(&first), "{first}: 50 ms, and the burst");
        assert!((199..=201).contains(&second), "{second}: 50 ms");
        assert!((205..=211).contains(&reads_in_second(&mut share, 5)), "the burst again");
    }

    #[test]
    fn a_long_read_uses_up_the_time_of_those_after_it() {
        let (start, mut share) = (Instant::now(), TimeShare { paid_until: None });
        share.use_time(start, Duration::from_millis(50));
        assert!(!share.has_time(start + Duration::from_millis(959)));
        assert!(share.has_time(start + Duration::from_millis(960)));
    }
}
