//! The embedding models of a project for JavaScript: building vectors of another model, and swapping them in.

use napi::Env;
use napi::bindgen_prelude::{BigUint64Array, BigUint64ArraySlice, Either, Null, PromiseRaw};
use napi_derive::napi;

use crate::bindings::conversions::or_null;
use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::run;
use crate::bindings::vector_model::{VectorModel, VectorsOfModel};
use crate::project::Project;
use crate::vectors::sets::ModelVectors;

/// The embedding models of a project.
#[napi(object)]
pub struct IndexModels {
    /// Model that searches use.
    pub live: VectorModel,
    /// Model whose vectors are being built.
    pub building: Either<VectorModel, Null>,
    /// Model that was live before the last swap, if its vectors are still stored.
    pub previous: Either<VectorModel, Null>,
}

/// What the vectors that are being built still lack.
#[napi(object)]
pub struct MissingVectors {
    /// Memories of which at least one chunk has no vector, in ascending order.
    pub memory_keys: BigUint64Array,
    /// Number of chunks of these memories.
    pub missing_chunks: f64,
    /// Number of all chunks of the project.
    pub chunks: f64,
}

#[napi]
impl NativeIndex {
    /// Returns the embedding models of the project.
    #[napi(catch_unwind)]
    pub fn models(&self) -> napi::Result<IndexModels> {
        let models = run(|| Ok(self.project()?.models()))?;
        Ok(IndexModels {
            live: VectorModel::of_core(models.live),
            building: or_null(models.building.map(VectorModel::of_core)),
            previous: or_null(models.previous.map(VectorModel::of_core)),
        })
    }

    /// See `Project::begin_model`.
    #[napi(catch_unwind)]
    pub fn begin_model<'env>(&self, env: &'env Env, model: VectorModel) -> napi::Result<PromiseRaw<'env, ()>> {
        self.change(env, move |project| project.begin_model(model.to_core()))
    }

    /// See `Project::missing_vectors`.
    #[napi(catch_unwind)]
    pub fn missing_vectors<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, MissingVectors>> {
        self.change(env, |project| {
            let missing = project.missing_vectors()?;
            Ok(MissingVectors {
                memory_keys: missing.memory_keys.into(),
                missing_chunks: missing.missing_chunks as f64,
                chunks: missing.chunks as f64,
            })
        })
    }

    /// See `Project::add_vectors`.
    #[napi(catch_unwind)]
    pub fn add_vectors<'env>(
        &self,
        env: &'env Env,
        chunk_keys: BigUint64ArraySlice<'_>,
        chunk_memory_keys: BigUint64ArraySlice<'_>,
        vectors: VectorsOfModel,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let (chunk_keys, memory_keys) = (chunk_keys.to_vec(), chunk_memory_keys.to_vec());
        let (fingerprint, vectors) = (vectors.fingerprint, vectors.vectors.to_vec());
        self.change(env, move |project| {
            let vectors = ModelVectors { fingerprint: &fingerprint, vectors: &vectors };
            project.add_vectors(&chunk_keys, &memory_keys, vectors).map(|added| added as f64)
        })
    }

    /// See `Project::swap_model`.
    #[napi(catch_unwind)]
    pub fn swap_model<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.change(env, Project::swap_model)
    }

    /// See `Project::drop_building`.
    #[napi(catch_unwind)]
    pub fn drop_building<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        self.change(env, Project::drop_building)
    }

    /// See `Project::forget_previous`.
    #[napi(catch_unwind)]
    pub fn forget_previous<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        self.change(env, Project::forget_previous)
    }
}
