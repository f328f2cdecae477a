//! The exact nearest vectors for JavaScript. Only benchmarks ask for them.

use napi::Env;
use napi::bindgen_prelude::{Float32Array, Float32ArraySlice, PromiseRaw, Uint32Array};
use napi_derive::napi;

use crate::bindings::tasks::{ToJs, run_on_worker};
use crate::vectors::exact::{self, Neighbour};

/// The nearest vectors of several queries: those of the first query, then those of the second, and so on. Each query
/// has as many as were asked for, or all if there are fewer.
#[napi(object)]
pub struct NearestVectors {
    /// Numbers of the vectors, the nearest of a query first.
    pub rows: Uint32Array,
    /// Dot products with the query.
    pub scores: Float32Array,
}

/// Finds the `limit` vectors with the highest dot product for each query, from all components and without an index.
/// `queries` and `vectors` are row-major with `dimensions` components each. Uses all processors. Rejects with `invalid`
/// if the length of either is not a multiple of `dimensions`.
#[napi(catch_unwind)]
pub fn nearest_exactly<'env>(
    env: &'env Env,
    queries: Float32ArraySlice<'_>,
    vectors: Float32ArraySlice<'_>,
    dimensions: u32,
    limit: u32,
) -> napi::Result<PromiseRaw<'env, NearestVectors>> {
    let (queries, vectors) = (queries.to_vec(), vectors.to_vec());
    run_on_worker(env, move || Ok(Nearest(exact::nearest(&queries, &vectors, dimensions as usize, limit as usize)?)))
}

struct Nearest(Vec<Vec<Neighbour>>);

impl ToJs for Nearest {
    type Js = NearestVectors;
    fn to_js(self) -> NearestVectors {
        let all = || self.0.iter().flatten();
        NearestVectors {
            rows: all().map(|neighbour| neighbour.row).collect::<Vec<_>>().into(),
            scores: all().map(|neighbour| neighbour.score).collect::<Vec<_>>().into(),
        }
    }
}
