//! Keeps panics off the terminal. A panic that `catch` catches becomes an error of its caller; panics of other threads
//! are kept until JavaScript asks for them and logs them.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, Once, PoisonError};

/// Maximum number of panics that are kept; the first ones, because later ones often follow from them.
const KEPT_MAX: usize = 16;

/// Panics of threads that no `catch` watches, such as those of libraries.
static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Replaces Rust's message on the standard error stream for every panic from now on. Later calls do nothing.
pub fn keep_off_terminal() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            keep(panic);
            if cfg!(test) {
                default(panic); // a failing test shows why
            }
        }));
    });
}

/// Runs `work`. If it panics, returns the message.
pub fn catch<Output>(work: impl FnOnce() -> Output) -> Result<Output, String> {
    let was_caught = IS_CAUGHT.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(was_caught);
    outcome.map_err(|panic| message_of(panic.as_ref()).to_owned())
}

/// Returns the panics since the last call that nobody caught, and forgets them.
pub fn take() -> Vec<String> {
    std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

fn keep(panic: &PanicHookInfo<'_>) {
    if IS_CAUGHT.get() {
        return;
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() < KEPT_MAX {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let thread = std::thread::current().name().unwrap_or("without a name").to_owned();
        kept.push(format!("{}{place}, in the thread {thread}", message_of(panic.payload())));
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_is_returned_and_another_one_is_kept_once() {
        keep_off_terminal();
        assert_eq!(catch(|| 7), Ok(7));
        assert_eq!(catch(|| -> () { panic!("row {}", 7) }), Err("row 7".to_owned()));
        let thread = std::thread::Builder::new().name("library".to_owned()).spawn(|| panic!("lost"));
        assert!(thread.expect("started").join().is_err());
        let kept = take();
        assert!(kept.iter().any(|panic| panic.starts_with("lost at ") && panic.ends_with("library")), "{kept:?}");
        assert!(!kept.iter().any(|panic| panic.starts_with("row 7")), "{kept:?}");
        assert!(!take().iter().any(|panic| panic.starts_with("lost")));
    }
}
