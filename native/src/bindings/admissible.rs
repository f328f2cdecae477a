//! Admissible sets for JavaScript. JavaScript gets a handle; the set of memories itself stays in the core.

use std::sync::Arc;

use napi_derive::napi;

use crate::bindings::tasks::ToJs;
use crate::filters::memory_table::Admissible;

/// Admissible set: the memories that one request may see. Valid only for the index that made it.
#[napi]
pub struct NativeAdmissible {
    set: Arc<Admissible>,
}

#[napi]
impl NativeAdmissible {
    /// Number of memories in the set.
    #[napi(getter, catch_unwind)]
    pub fn memories(&self) -> f64 {
        self.set.memories() as f64
    }
}

impl NativeAdmissible {
    /// Returns the set for a search on another thread.
    pub(super) fn share(&self) -> Arc<Admissible> {
        Arc::clone(&self.set)
    }
}

impl ToJs for Admissible {
    type Js = NativeAdmissible;
    fn to_js(self) -> NativeAdmissible {
        NativeAdmissible { set: Arc::new(self) }
    }
}
