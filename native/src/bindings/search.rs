//! Vector search, full-text search and stored passages for JavaScript.

use napi::Env;
use napi::bindgen_prelude::{
    BigUint64Array, BigUint64ArraySlice, Either, Float32Array, Float32ArraySlice, Null, PromiseRaw,
};
use napi_derive::napi;

use crate::bindings::admissible::NativeAdmissible;
use crate::bindings::conversions::or_null;
use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::ToJs;
use crate::error::Result;
use crate::hit::{Hit, HybridHit};
use crate::project::{self, Project, ScoredChunks};
use crate::text::index;

/// Hits of a search as parallel arrays, best first.
#[napi(object)]
pub struct Hits {
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
    pub scores: Float32Array,
}

/// Hits of a hybrid search as parallel arrays.
#[napi(object)]
pub struct HybridHits {
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
    /// Cosine similarities to the query; NaN for a chunk that does not exist or whose vector is damaged.
    pub cosines: Float32Array,
    /// BM25 scores; 0 if no word matches.
    pub text_scores: Float32Array,
}

/// A query as text and as vector.
#[napi(object)]
pub struct HybridQuery {
    pub text: String,
    /// Fingerprint of the vector's model.
    pub fingerprint: String,
    /// Unit vector, `[dimensions]`.
    pub vector: Float32Array,
}

/// The part of a chunk that is stored for display.
#[napi(object)]
pub struct StoredPassage {
    /// Text of the passage.
    pub text: String,
    /// Position of the chunk in its memory, as the string that was published. The core does not read this string.
    pub place: String,
}

#[napi]
impl NativeIndex {
    /// See `Project::search_vectors`. Runs at once if that is short (`short_reads.rs`).
    #[napi(catch_unwind)]
    pub fn search_vectors<'env>(
        &self,
        env: &'env Env,
        fingerprint: String,
        vector: Float32ArraySlice<'_>,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<Either<Hits, PromiseRaw<'env, Hits>>> {
        let (vector, within) = (vector.to_vec(), within.share());
        self.read_vectors(env, move |project| {
            with_memories(project, project.search_vectors(&fingerprint, &vector, &within, limit as usize)?)
        })
    }

    /// See `Project::search_text`.
    #[napi(catch_unwind)]
    pub fn search_text<'env>(
        &self,
        env: &'env Env,
        query: String,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<PromiseRaw<'env, Hits>> {
        let within = within.share();
        self.read(env, move |project| with_memories(project, project.search_text(&query, &within, limit as usize)?))
    }

    /// See `Project::search_hybrid`. If the hits of `searchVectors` are given as `nearHits`, vectors are not
    /// searched again.
    #[napi(catch_unwind)]
    pub fn search_hybrid<'env>(
        &self,
        env: &'env Env,
        query: HybridQuery,
        text_hits: Hits,
        within: &NativeAdmissible,
        limit: u32,
        near_hits: Option<Hits>,
    ) -> napi::Result<PromiseRaw<'env, HybridHits>> {
        let HybridQuery { text, fingerprint, vector } = query;
        let vector = vector.to_vec();
        let (text_hits, near_hits) = (text_hits.to_core(), near_hits.map(|hits| hits.to_core()));
        let within = within.share();
        self.read(env, move |project| {
            let query = project::HybridQuery { text: &text, fingerprint: &fingerprint, vector: &vector };
            match near_hits {
                Some(near_hits) => project.join_hits(&query, &near_hits, &text_hits),
                None => project.search_hybrid(&query, &text_hits, &within, limit as usize),
            }
        })
    }

    /// See `Project::score_vectors`.
    #[napi(catch_unwind)]
    pub fn score_vectors<'env>(
        &self,
        env: &'env Env,
        fingerprint: String,
        vector: Float32ArraySlice<'_>,
        chunk_keys: BigUint64ArraySlice<'_>,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<Either<Float32Array, PromiseRaw<'env, Float32Array>>> {
        let (vector, chunk_keys, memory_keys) = (vector.to_vec(), chunk_keys.to_vec(), memory_keys.to_vec());
        self.read_vectors(env, move |project| {
            project.score_vectors(&fingerprint, &vector, &chunk_keys, &memory_keys).map(Scores)
        })
    }

    /// See `Project::compare_vectors`.
    #[napi(catch_unwind)]
    pub fn compare_vectors<'env>(
        &self,
        env: &'env Env,
        chunk_keys: BigUint64ArraySlice<'_>,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<Either<Float32Array, PromiseRaw<'env, Float32Array>>> {
        let (chunk_keys, memory_keys) = (chunk_keys.to_vec(), memory_keys.to_vec());
        self.read_vectors(env, move |project| project.compare_vectors(&chunk_keys, &memory_keys).map(Scores))
    }

    /// See `Project::stored_vectors`.
    #[napi(catch_unwind)]
    pub fn stored_vectors<'env>(
        &self,
        env: &'env Env,
        fingerprint: String,
        chunk_keys: BigUint64ArraySlice<'_>,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        let (chunk_keys, memory_keys) = (chunk_keys.to_vec(), memory_keys.to_vec());
        self.read(env, move |project| project.stored_vectors(&fingerprint, &chunk_keys, &memory_keys).map(Scores))
    }

    /// See `Project::score_text`.
    #[napi(catch_unwind)]
    pub fn score_text<'env>(
        &self,
        env: &'env Env,
        query: String,
        chunk_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, Float32Array>> {
        let chunk_keys = chunk_keys.to_vec();
        self.read(env, move |project| project.score_text(&query, &chunk_keys).map(Scores))
    }

    /// See `Project::passages`. Gives `null` for a chunk that does not exist.
    #[napi(catch_unwind)]
    pub fn passages<'env>(
        &self,
        env: &'env Env,
        chunk_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, Vec<Either<StoredPassage, Null>>>> {
        let chunk_keys = chunk_keys.to_vec();
        self.read(env, move |project| project.passages(&chunk_keys))
    }
}

impl Hits {
    fn to_core(&self) -> ScoredChunks {
        ScoredChunks {
            chunk_keys: self.chunk_keys.to_vec(),
            memory_keys: self.memory_keys.to_vec(),
            scores: self.scores.to_vec(),
        }
    }
}

/// Hits, each with the key of its memory.
struct HitsWithMemories {
    hits: Vec<Hit>,
    memory_keys: Vec<u64>,
}

fn with_memories(project: &Project, hits: Vec<Hit>) -> Result<HitsWithMemories> {
    let memory_keys = project.memory_keys(hits.iter().map(|hit| hit.ordinal));
    Ok(HitsWithMemories { hits, memory_keys })
}

impl ToJs for HitsWithMemories {
    type Js = Hits;
    fn to_js(self) -> Hits {
        Hits {
            chunk_keys: self.hits.iter().map(|hit| hit.chunk_key).collect::<Vec<_>>().into(),
            memory_keys: self.memory_keys.into(),
            scores: self.hits.iter().map(|hit| hit.score).collect::<Vec<_>>().into(),
        }
    }
}

impl ToJs for Vec<HybridHit> {
    type Js = HybridHits;
    fn to_js(self) -> HybridHits {
        HybridHits {
            chunk_keys: self.iter().map(|hit| hit.chunk_key).collect::<Vec<_>>().into(),
            memory_keys: self.iter().map(|hit| hit.memory_key).collect::<Vec<_>>().into(),
            cosines: self.iter().map(|hit| hit.cosine).collect::<Vec<_>>().into(),
            text_scores: self.iter().map(|hit| hit.text_score).collect::<Vec<_>>().into(),
        }
    }
}

/// One score per chunk.
struct Scores(Vec<f32>);

impl ToJs for Scores {
    type Js = Float32Array;
    fn to_js(self) -> Float32Array {
        self.0.into()
    }
}

impl ToJs for Vec<Option<index::StoredPassage>> {
    type Js = Vec<Either<StoredPassage, Null>>;
    fn to_js(self) -> Self::Js {
        let passage = |stored: index::StoredPassage| StoredPassage { text: stored.text, place: stored.place };
        self.into_iter().map(|stored| or_null(stored.map(passage))).collect()
    }
}
