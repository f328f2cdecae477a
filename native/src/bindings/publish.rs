//! Publishing, removing and compacting for JavaScript: the calls that change files. JavaScript passes chunks in slices,
//! and keys of memories and vectors as typed arrays.

use napi::Env;
use napi::bindgen_prelude::{BigInt, BigUint64Array, BigUint64ArraySlice, Either, Null, PromiseRaw};
use napi_derive::napi;

use crate::bindings::conversions::{checked_key, optional_text};
use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::{WritingThread, js_error};
use crate::bindings::vector_model::VectorsOfModel;
use crate::entities::mentions::EntitySources;
use crate::error::Error;
use crate::project::Project;
use crate::text::schema::TextChunk;
use crate::vectors::sets::ModelVectors;

/// A chunk to publish, with its texts.
#[napi(object)]
pub struct PublishChunk {
    /// A key that was never used before. Only when the same version of a memory is published again, its chunks have the
    /// same keys.
    pub chunk_key: BigInt,
    /// Key of its memory, which must be one of those that the call publishes.
    pub memory_key: BigInt,
    /// Search text of the chunk.
    pub own: String,
    /// Context text: search text of the chunk together with its neighbours; `null` if it has no neighbours.
    pub context: Either<String, Null>,
    /// BCP 47 language tag, which chooses the stemmer; "und" for no stemmer.
    pub language: String,
    /// Text that `passages` returns. The chunk's entities are extracted from this text.
    pub passage: String,
    /// Position of the chunk in its memory. `passages` returns this string unchanged; the core does not read it.
    pub place: String,
}

/// Title and phrases of a memory, which give entities besides those that its text names.
#[napi(object)]
pub struct KnownEntities {
    /// Title of the memory, given or extracted. It becomes an entity of the memory's first chunk.
    pub title: Either<String, Null>,
    /// Key phrases or entities. The first 64 become entities of those chunks that contain them.
    pub phrases: Vec<String>,
}

/// The memories of one call of `publish`. The arrays are parallel.
#[napi(object)]
pub struct PublishedMemories {
    pub memory_keys: BigUint64Array,
    pub entities: Vec<KnownEntities>,
}

/// The chunks of one call of `publish`. JavaScript passes them in slices (`chunks.ts`), because passing all at once
/// would block the JavaScript thread for seconds. The call that gets them empties this list.
#[napi]
#[derive(Default)]
pub struct NativeChunks {
    chunks: Vec<PublishChunk>,
}

#[napi]
impl NativeChunks {
    /// Creates an empty list.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next chunks.
    #[napi(catch_unwind)]
    pub fn add(&mut self, chunks: Vec<PublishChunk>) {
        self.chunks.extend(chunks);
    }
}

#[napi]
impl NativeIndex {
    /// See `Project::publish`.
    #[napi(catch_unwind)]
    pub fn publish<'env>(
        &self,
        env: &'env Env,
        memories: PublishedMemories,
        chunks: &mut NativeChunks,
        vectors: Vec<VectorsOfModel>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let given = Given::new(memories, chunks, vectors);
        self.change(env, move |project| {
            project.publish(&given.memory_keys, &given.sources(), &chunks_of(&given.chunks)?, &given.vectors())
        })
    }

    /// See `Project::publish_vectors`.
    #[napi(catch_unwind)]
    pub fn publish_vectors<'env>(
        &self,
        env: &'env Env,
        memory_key: BigInt,
        chunk_keys: BigUint64ArraySlice<'_>,
        vectors: Vec<VectorsOfModel>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let chunk_keys = chunk_keys.to_vec();
        let vectors = copied(vectors);
        self.change(env, move |project| {
            let memory_key = checked_key(&memory_key, "memory key")?;
            project.publish_vectors(memory_key, &chunk_keys, &of_models(&vectors))
        })
    }

    /// See `Project::add_texts`.
    #[napi(catch_unwind)]
    pub fn add_texts<'env>(
        &self,
        env: &'env Env,
        memory_key: BigInt,
        known: KnownEntities,
        chunks: &mut NativeChunks,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let chunks = std::mem::take(&mut chunks.chunks);
        self.change(env, move |project| {
            let memory_key = checked_key(&memory_key, "memory key")?;
            project.add_texts(memory_key, sources_of(&known), &chunks_of(&chunks)?)
        })
    }

    /// See `Project::rebuild`. Resolves to the positions of the skipped memories in `memories`, in ascending order.
    #[napi(catch_unwind)]
    pub fn rebuild<'env>(
        &self,
        env: &'env Env,
        memories: PublishedMemories,
        chunks: &mut NativeChunks,
        vectors: Vec<VectorsOfModel>,
    ) -> napi::Result<PromiseRaw<'env, Vec<u32>>> {
        let given = Given::new(memories, chunks, vectors);
        self.change(env, move |project| {
            project.rebuild(&given.memory_keys, &given.sources(), &chunks_of(&given.chunks)?, &given.vectors())
        })
    }

    /// See `Project::remove`.
    #[napi(catch_unwind)]
    pub fn remove<'env>(
        &self,
        env: &'env Env,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let memory_keys = memory_keys.to_vec();
        self.change(env, move |project| project.remove(&memory_keys))
    }

    /// See `Project::compact_if_needed`.
    #[napi(catch_unwind)]
    pub fn compact_if_needed<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.change(env, Project::compact_if_needed)
    }

    /// See `Project::erase_vectors`.
    #[napi(catch_unwind)]
    pub fn erase_vectors<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        self.change(env, Project::erase_vectors)
    }

    /// See `Project::erase_texts`.
    #[napi(catch_unwind)]
    pub fn erase_texts<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        let project = self.project().map_err(js_error)?;
        // On a thread of its own, because it takes seconds and the project's writing thread must stay free.
        WritingThread::start().run(env, move || project.erase_texts())
    }
}

/// Arguments of `publish` and `rebuild`, copied from JavaScript.
struct Given {
    memory_keys: Vec<u64>,
    entities: Vec<KnownEntities>,
    chunks: Vec<PublishChunk>,
    /// Fingerprint of a model and its vectors, row-major.
    vectors: Vec<(String, Vec<f32>)>,
}

impl Given {
    /// Takes the chunks out of `chunks`.
    fn new(memories: PublishedMemories, chunks: &mut NativeChunks, vectors: Vec<VectorsOfModel>) -> Self {
        Self {
            memory_keys: memories.memory_keys.to_vec(),
            entities: memories.entities,
            chunks: std::mem::take(&mut chunks.chunks),
            vectors: copied(vectors),
        }
    }

    fn sources(&self) -> Vec<EntitySources<'_>> {
        self.entities.iter().map(sources_of).collect()
    }

    fn vectors(&self) -> Vec<ModelVectors<'_>> {
        of_models(&self.vectors)
    }
}

fn copied(vectors: Vec<VectorsOfModel>) -> Vec<(String, Vec<f32>)> {
    vectors.into_iter().map(|given| (given.fingerprint, given.vectors.to_vec())).collect()
}

fn of_models(vectors: &[(String, Vec<f32>)]) -> Vec<ModelVectors<'_>> {
    vectors.iter().map(|(fingerprint, vectors)| ModelVectors { fingerprint, vectors }).collect()
}

fn sources_of(known: &KnownEntities) -> EntitySources<'_> {
    EntitySources { title: optional_text(&known.title), phrases: &known.phrases }
}

fn chunks_of(chunks: &[PublishChunk]) -> Result<Vec<TextChunk<'_>>, Error> {
    fn chunk_of(chunk: &PublishChunk) -> Result<TextChunk<'_>, Error> {
        Ok(TextChunk {
            chunk_key: checked_key(&chunk.chunk_key, "chunk key")?,
            memory_key: checked_key(&chunk.memory_key, "memory key")?,
            own: &chunk.own,
            context: optional_text(&chunk.context),
            language: &chunk.language,
            passage: &chunk.passage,
            place: &chunk.place,
            entity_record: &[],
        })
    }
    chunks.iter().map(chunk_of).collect()
}
