//! Priority of threads.

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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

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
