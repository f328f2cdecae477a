//! Places of memories on a map, for JavaScript.

use napi::Env;
use napi::bindgen_prelude::{BigUint64ArraySlice, Float32Array, Float32ArraySlice, PromiseRaw};
use napi_derive::napi;

use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::{ToJs, js_error, run_in_background};
use crate::error::Error;

#[napi]
impl NativeIndex {
    /// See `Project::layout`. `known` has x and y of each memory, NaN for those without a place; so does the result.
    /// Runs on a thread of low priority.
    #[napi(catch_unwind)]
    pub fn layout<'env>(
        &self,
        env: &'env Env,
        memory_keys: BigUint64ArraySlice<'_>,
        known: Float32ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        let (memory_keys, known) = (memory_keys.to_vec(), known.to_vec());
        let project = self.project().map_err(js_error)?;
        run_in_background(env, move || {
            if known.len() != 2 * memory_keys.len() {
                return Err(Error::invalid("memories and their places differ in number"));
            }
            let place_of = |place: &[f32]| (!place[0].is_nan()).then(|| (place[0], place[1]));
            let known: Vec<_> = known.chunks_exact(2).map(place_of).collect();
            Ok(Places(project.layout(&memory_keys, &known)?))
        })
    }
}

struct Places(Vec<Option<(f32, f32)>>);

impl ToJs for Places {
    type Js = Float32Array;
    fn to_js(self) -> Float32Array {
        let places = self.0.into_iter().map(|place| place.unwrap_or((f32::NAN, f32::NAN)));
        places.flat_map(|(x, y)| [x, y]).collect::<Vec<_>>().into()
    }
}
