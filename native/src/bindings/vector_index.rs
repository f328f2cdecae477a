//! The index of a project's vectors for JavaScript: the scan, or the graph that is built in the background.

use napi::Env;
use napi::bindgen_prelude::{Either, Null, PromiseRaw};
use napi_derive::napi;

use crate::bindings::conversions::or_null;
use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::run;
use crate::error::{Error, Result};
use crate::vectors::graph::limits::VectorIndexKind;

/// A graph that is being built, or could not be built.
#[napi(object)]
pub struct VectorIndexBuild {
    /// Number of vectors that the graph has.
    pub vectors_done: f64,
    /// Number of all vectors.
    pub vectors_total: f64,
    /// Why building has failed; null while it goes on.
    pub error: Either<String, Null>,
    /// Time at which building was started, in ms since 1970.
    pub started_at_ms: f64,
}

/// The state of the index of a project's vectors.
#[napi(object)]
pub struct VectorIndexStatus {
    /// Whether searches use the graph. Otherwise they scan.
    pub is_graph_active: bool,
    /// The graph that is being built; null if none is, and none has failed.
    pub build: Either<VectorIndexBuild, Null>,
    /// Number of vectors that the graph has, including those of removed chunks.
    pub graph_chunks: f64,
    /// Number of vectors that the graph does not have yet. Searches scan them.
    pub vectors_missing: f64,
    /// Number of searches that the graph has answered since the project was opened.
    pub graph_searches: f64,
    /// Why the last attempt to save the graph failed, or why the saved graph was not used; null if neither happened.
    pub note: Either<String, Null>,
}

#[napi]
impl NativeIndex {
    /// Sets how vectors are searched: `auto`, `scan` or `hnsw` (see `VectorIndexKind`).
    #[napi(catch_unwind)]
    pub fn choose_vector_index<'env>(&self, env: &'env Env, kind: String) -> napi::Result<PromiseRaw<'env, ()>> {
        self.change(env, move |project| {
            project.choose_vector_index(kind_of(&kind)?);
            Ok(())
        })
    }

    /// The state of the index of the vectors.
    #[napi(catch_unwind)]
    pub fn vector_index_status(&self) -> napi::Result<VectorIndexStatus> {
        let (status, graph_searches) = run(|| {
            let project = self.project()?;
            Ok((project.graph_status(), project.stats().vectors.graph_searches))
        })?;
        Ok(VectorIndexStatus {
            is_graph_active: status.is_active,
            build: or_null(status.build.map(|build| VectorIndexBuild {
                vectors_done: build.rows_done as f64,
                vectors_total: build.rows_total as f64,
                error: or_null(build.error),
                started_at_ms: build.started_at_ms as f64,
            })),
            graph_chunks: status.rows_done as f64,
            vectors_missing: status.rows_missing as f64,
            graph_searches: graph_searches as f64,
            note: or_null(status.note),
        })
    }
}

fn kind_of(name: &str) -> Result<VectorIndexKind> {
    match name {
        "auto" => Ok(VectorIndexKind::Auto),
        "scan" => Ok(VectorIndexKind::Scan),
        "hnsw" => Ok(VectorIndexKind::Hnsw),
        other => Err(Error::invalid(format!("the vector index {other:?}; it must be auto, scan or hnsw"))),
    }
}
