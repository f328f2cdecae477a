//! Publishing, removing and compacting for JavaScript: the calls that change files. JavaScript passes keys and vectors
//! as typed arrays, and texts in slices.

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

/// The texts of a chunk.
#[napi(object)]
pub struct ChunkText {
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

/// The texts of one call of `publish`. JavaScript passes them in slices, because passing all at once would block the
/// JavaScript thread for seconds.
#[napi]
#[derive(Default)]
pub struct NativeChunkTexts {
    texts: Vec<ChunkText>,
}

#[napi]
impl NativeChunkTexts {
    /// Creates an empty list of texts.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the texts of the next chunks.
    #[napi(catch_unwind)]
    pub fn add(&mut self, texts: Vec<ChunkText>) {
        self.texts.extend(texts);
    }
}

#[napi]
impl NativeIndex {
    /// Replaces all indexed data of the given memories by these chunks and their unit vectors. `vectors` has those of
    /// the live model (otherwise the call fails with `other_model`) and, if they are known, those of the model whose
    /// vectors are being built; without them, these memories are missing there. Other models are ignored. `chunkKeys`,
    /// `chunkMemoryKeys` and `texts` are parallel. `texts` is emptied. When the promise resolves, the change is
    /// durable. Visibility does not change. The call can be repeated with the same effect.
    #[napi(catch_unwind)]
    pub fn publish<'env>(
        &self,
        env: &'env Env,
        memories: PublishedMemories,
        chunk_keys: BigUint64ArraySlice<'_>,
        chunk_memory_keys: BigUint64ArraySlice<'_>,
        texts: &mut NativeChunkTexts,
        vectors: Vec<VectorsOfModel>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let given = Given::new(memories, chunk_keys, chunk_memory_keys, texts, vectors);
        self.change(env, move |project| {
            project.publish(&given.memory_keys, &given.sources(), &given.chunks()?, &given.vectors())
        })
    }

    /// Begins to publish a large memory in parts, so that other changes can run between them: replaces its vectors, as
    /// `publish` does, and removes its texts. `addTexts` adds new ones. The memory must not be shown before it has all
    /// of them.
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

    /// Adds the texts of the next chunks of a large memory after `publishVectors`, durably. A title in `known` becomes
    /// an entity of the first of them. `chunkKeys` and `texts` are parallel. `texts` is emptied.
    #[napi(catch_unwind)]
    pub fn add_texts<'env>(
        &self,
        env: &'env Env,
        memory_key: BigInt,
        known: KnownEntities,
        chunk_keys: BigUint64ArraySlice<'_>,
        texts: &mut NativeChunkTexts,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let chunk_keys = chunk_keys.to_vec();
        let texts = std::mem::take(&mut texts.texts);
        self.change(env, move |project| {
            let memory_key = checked_key(&memory_key, "memory key")?;
            if chunk_keys.len() != texts.len() {
                return Err(Error::invalid("chunk keys and texts differ in number"));
            }
            let chunks = chunk_keys.iter().zip(&texts).map(|(chunk_key, text)| chunk_of(*chunk_key, memory_key, text));
            project.add_texts(memory_key, sources_of(&known), &chunks.collect::<Vec<_>>())
        })
    }

    /// Replaces vectors, postings and entities of memories that still have exactly these chunks in the index, and
    /// skips the others. The arguments are those of `publish`; only vectors of the live model are replaced. Searches
    /// find the memories meanwhile. When the promise resolves, the change is durable. It resolves to the positions of
    /// the skipped memories in `memories`, in ascending order. The call can be repeated with the same effect.
    #[napi(catch_unwind)]
    pub fn rebuild<'env>(
        &self,
        env: &'env Env,
        memories: PublishedMemories,
        chunk_keys: BigUint64ArraySlice<'_>,
        chunk_memory_keys: BigUint64ArraySlice<'_>,
        texts: &mut NativeChunkTexts,
        vectors: Vec<VectorsOfModel>,
    ) -> napi::Result<PromiseRaw<'env, Vec<u32>>> {
        let given = Given::new(memories, chunk_keys, chunk_memory_keys, texts, vectors);
        self.change(env, move |project| {
            project.rebuild(&given.memory_keys, &given.sources(), &given.chunks()?, &given.vectors())
        })
    }

    /// Removes all indexed data of the given memories, durably. Unknown keys are ignored.
    #[napi(catch_unwind)]
    pub fn remove<'env>(
        &self,
        env: &'env Env,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let memory_keys = memory_keys.to_vec();
        self.change(env, move |project| project.remove(&memory_keys))
    }

    /// Rewrites a vector log if a fifth of its records is no longer valid or a record is damaged. Resolves to
    /// whether it rewrote one. Searches can run at the same time.
    #[napi(catch_unwind)]
    pub fn compact_if_needed<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.change(env, Project::compact_if_needed)
    }

    /// Removes the vectors of removed chunks from the files, durably.
    #[napi(catch_unwind)]
    pub fn erase_vectors<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        self.change(env, Project::erase_vectors)
    }

    /// Removes the texts and postings of removed chunks from the files, durably. Resolves to false if old files could
    /// not be removed; then the call is to be repeated. Other changes can run meanwhile, but not a second call of this
    /// function.
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
    /// One entry per chunk; parallel to `chunk_memory_keys` and `texts`.
    chunk_keys: Vec<u64>,
    chunk_memory_keys: Vec<u64>,
    texts: Vec<ChunkText>,
    /// Fingerprint of a model and its vectors, row-major.
    vectors: Vec<(String, Vec<f32>)>,
}

impl Given {
    /// Takes the texts out of `texts`.
    fn new(
        memories: PublishedMemories,
        chunk_keys: BigUint64ArraySlice<'_>,
        chunk_memory_keys: BigUint64ArraySlice<'_>,
        texts: &mut NativeChunkTexts,
        vectors: Vec<VectorsOfModel>,
    ) -> Self {
        Self {
            memory_keys: memories.memory_keys.to_vec(),
            entities: memories.entities,
            chunk_keys: chunk_keys.to_vec(),
            chunk_memory_keys: chunk_memory_keys.to_vec(),
            texts: std::mem::take(&mut texts.texts),
            vectors: copied(vectors),
        }
    }

    fn sources(&self) -> Vec<EntitySources<'_>> {
        self.entities.iter().map(sources_of).collect()
    }

    fn chunks(&self) -> Result<Vec<TextChunk<'_>>, Error> {
        let Self { chunk_keys, chunk_memory_keys, texts, .. } = self;
        if chunk_keys.len() != texts.len() || chunk_memory_keys.len() != texts.len() {
            return Err(Error::invalid("chunk keys, memory keys and texts differ in number"));
        }
        let keys = chunk_keys.iter().zip(chunk_memory_keys).zip(texts);
        Ok(keys.map(|((chunk_key, memory_key), text)| chunk_of(*chunk_key, *memory_key, text)).collect())
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

fn chunk_of(chunk_key: u64, memory_key: u64, text: &ChunkText) -> TextChunk<'_> {
    TextChunk {
        chunk_key,
        memory_key,
        own: &text.own,
        context: optional_text(&text.context),
        language: &text.language,
        passage: &text.passage,
        place: &text.place,
        entity_record: &[],
    }
}
