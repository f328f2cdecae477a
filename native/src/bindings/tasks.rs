//! Runs core code for JavaScript: on the calling thread, a worker thread, a low-priority thread of its own, or the
//! writing thread of a project. No panic leaves these functions. JavaScript gets errors as `<code>: <detail>`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use napi::bindgen_prelude::{PromiseRaw, ToNapiValue, TypeName};
use napi::{Env, JsValue, Status, Task};
use napi_derive::napi;

use crate::error::{Error, Result};
use crate::panics;
use crate::threads;

/// Maximum number of changes that wait for a project's writing thread. A correct caller awaits each publication, so
/// even a hundred waiting changes would mean an error in the caller.
const PENDING_CHANGES_MAX: usize = 256;

/// A result of the core that can become a JavaScript value.
pub(super) trait ToJs: Send + 'static {
    /// The JavaScript class, object or array.
    type Js: ToNapiValue + TypeName;
    /// Converts the result. Runs on the JavaScript thread.
    fn to_js(self) -> Self::Js;
}

impl ToJs for () {
    type Js = ();
    fn to_js(self) {}
}

/// Runs core code on the calling thread.
pub(super) fn run<Output>(work: impl FnOnce() -> Result<Output>) -> napi::Result<Output> {
    guarded(work).map_err(js_error)
}

/// Runs core code on a worker thread. Many such calls can run at the same time.
pub(super) fn run_on_worker<'env, Output: ToJs>(
    env: &'env Env,
    work: impl FnOnce() -> Result<Output> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, Output::Js>> {
    Ok(env.spawn(WorkerTask { work: Some(Box::new(work)) })?.promise_object())
}

struct WorkerTask<Output> {
    work: Option<Box<dyn FnOnce() -> Result<Output> + Send>>,
}

impl<Output: ToJs> Task for WorkerTask<Output> {
    type Output = Output;
    type JsValue = Output::Js;

    fn compute(&mut self) -> napi::Result<Output> {
        let work = self.work.take().ok_or_else(|| js_error(Error::Bug("a task ran twice".to_owned())))?;
        run(work)
    }

    fn resolve(&mut self, _env: Env, output: Output) -> napi::Result<Output::Js> {
        Ok(output.to_js())
    }
}

/// Runs core code that takes long on a thread of its own. Its priority is low, so that searches get a processor before
/// it. The caller limits the number of such calls at the same time.
pub(super) fn run_in_background<'env, Output: ToJs>(
    env: &'env Env,
    work: impl FnOnce() -> Result<Output> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, Output::Js>> {
    let (deferred, promise) = env.create_deferred()?;
    let run = move || {
        threads::lower_priority();
        match guarded(work) {
            Ok(output) => deferred.resolve(move |_| Ok(output.to_js())),
            Err(error) => deferred.reject(js_error(error)),
        }
    };
    let thread = std::thread::Builder::new().name("mneme-background".to_owned());
    thread.spawn(run).map_err(|cause| js_error(Error::from_io("starting a thread", &cause)))?;
    Ok(PromiseRaw::new(env.raw(), promise.raw()))
}

/// A thread that runs the changes of one project in the order of their calls. It ends when this value is dropped and
/// the waiting changes are done.
pub(super) struct WritingThread {
    changes: Sender<Change>,
    pending: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

type Change = Box<dyn FnOnce() + Send>;

impl WritingThread {
    pub(super) fn start() -> WritingThread {
        let (changes, received) = channel::<Change>();
        std::thread::spawn(move || received.into_iter().for_each(|change| change()));
        WritingThread { changes, pending: Arc::default(), ended: Arc::default() }
    }

    /// Whether changes are waiting or in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Number of changes that have ended.
    pub(super) fn ended(&self) -> usize {
        self.ended.load(Ordering::Acquire)
    }

    /// Queues a change. Fails with `Invalid` if too many changes are waiting already.
    pub(super) fn run<'env, Output: ToNapiValue + Send + 'static>(
        &self,
        env: &'env Env,
        work: impl FnOnce() -> Result<Output> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'env, Output>> {
        if self.pending.fetch_add(1, Ordering::AcqRel) >= PENDING_CHANGES_MAX {
            self.pending.fetch_sub(1, Ordering::AcqRel);
            return Err(js_error(Error::invalid(format!("{PENDING_CHANGES_MAX} changes are waiting already"))));
        }
        let (deferred, promise) = env.create_deferred()?;
        let (pending, ended) = (Arc::clone(&self.pending), Arc::clone(&self.ended));
        let change: Change = Box::new(move || {
            let outcome = guarded(work);
            ended.fetch_add(1, Ordering::AcqRel);
            pending.fetch_sub(1, Ordering::AcqRel);
            match outcome {
                Ok(output) => deferred.resolve(move |_| Ok(output)),
                Err(error) => deferred.reject(js_error(error)),
            }
        });
        self.changes.send(change).map_err(|_| js_error(Error::Bug("the writing thread has ended".to_owned())))?;
        Ok(PromiseRaw::new(env.raw(), promise.raw()))
    }
}

/// Runs core code and turns a panic into `Error::Bug`. In an asynchronous task, a panic would abort the runtime.
fn guarded<Output>(work: impl FnOnce() -> Result<Output>) -> Result<Output> {
    panics::keep_off_terminal();
    panics::catch(work).unwrap_or_else(|message| Err(Error::Bug(format!("panic: {message}"))))
}

/// Returns the panics since the last call that no failed call has reported, one sentence each.
#[napi(catch_unwind)]
pub fn take_panics() -> Vec<String> {
    panics::take()
}

/// The JavaScript error for a core error; `addon.ts` splits its message.
pub(super) fn js_error(error: Error) -> napi::Error {
    napi::Error::new(Status::GenericFailure, format!("{}: {error}", error.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_the_core_becomes_an_error() {
        let error = guarded(|| -> Result<()> { panic!("row {}", 7) }).expect_err("a panic");
        assert_eq!(error, Error::Bug("panic: row 7".to_owned()));
    }
}
