//! Memory of the process for JavaScript.

use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::bindings::tasks::run_on_worker;
use crate::memory;

/// Gives freed memory of the core and of other libraries back to the operating system.
#[napi(catch_unwind)]
pub fn release_free_memory(env: &Env) -> napi::Result<PromiseRaw<'_, ()>> {
    run_on_worker(env, || {
        memory::release_free_memory();
        Ok(())
    })
}
