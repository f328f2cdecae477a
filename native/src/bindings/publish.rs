//! Publishing, removing and compacting for JavaScript: the calls that change files.
//! Keys and vectors cross as typed arrays, texts slice by slice.

use napi::Env;
use napi::bindgen_prelude::{BigUint64Array, BigUint64ArraySlice, Either, Float32ArraySlice, Null, PromiseRaw};
use napi_derive::napi;

use crate::bindings::conversions::optional_text;
use crate::bindings::index::NativeIndex;
use crate::entities::mentions::EntitySources;
use crate::error::Error;
use crate::project::Project;
use crate::text::schema::TextChunk;

/// The texts of a chunk.
#[napi(object)]
pub struct ChunkText {
    /// The chunk's own text, for full-text search.
    pub own: String,
    /// Its text together with the text around it; `null` where nothing is around it.
    pub context: Either<String, Null>,
    /// BCP 47 tag that chooses the stemmer; "und" for none.
    pub language: String,
    /// What `passages` returns, and where the chunk's entities are found.
    pub passage: String,
    /// Where the chunk stands in its memory; `passages` returns it unchanged.
    pub place: String,
}

/// Entities of a memory that are known beside its text.
#[napi(object)]
pub struct KnownEntities {
    /// The title, given or extracted; it counts for the memory's first chunk.
    pub title: Either<String, Null>,
    /// Key phrases or entities. The first 64 count, in the chunks that contain them.
    pub phrases: Vec<String>,
}

/// The memories of a publication; the arrays are parallel.
#[napi(object)]
pub struct PublishedMemories {
    pub memory_keys: BigUint64Array,
    pub entities: Vec<KnownEntities>,
}

/// The texts of a publication. They cross slice by slice: all at once would block the JavaScript thread for seconds.
#[napi]
#[derive(Default)]
pub struct NativeChunkTexts {
    texts: Vec<ChunkText>,
}

#[napi]
impl NativeChunkTexts {
    /// Contains no texts yet.
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
    /// Replaces everything that the given memories had by these chunks and their unit vectors, `[chunks,
    /// dimensions]`. The chunks' keys, memory keys and texts are parallel. Takes the texts: `texts` is empty
    /// afterwards. Durable when it resolves; it shows nothing itself. Idempotent.
    #[napi(catch_unwind)]
    pub fn publish<'env>(
        &self,
        env: &'env Env,
        memories: PublishedMemories,
        chunk_keys: BigUint64ArraySlice<'_>,
        chunk_memory_keys: BigUint64ArraySlice<'_>,
        texts: &mut NativeChunkTexts,
        vectors: Float32ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let (memory_keys, chunk_keys) = (memories.memory_keys.to_vec(), chunk_keys.to_vec());
        let entities = memories.entities;
        let (chunk_memory_keys, vectors) = (chunk_memory_keys.to_vec(), vectors.to_vec());
        let texts = std::mem::take(&mut texts.texts);
        self.change(env, move |project| {
            if chunk_keys.len() != texts.len() || chunk_memory_keys.len() != texts.len() {
                return Err(Error::invalid("chunk keys, memory keys and texts differ in number"));
            }
            let known = entities
                .iter()
                .map(|known| EntitySources { title: optional_text(&known.title), phrases: &known.phrases });
            let keys = chunk_keys.iter().zip(&chunk_memory_keys);
            let chunks = keys.zip(&texts).map(|((chunk_key, memory_key), text)| TextChunk {
                chunk_key: *chunk_key,
                memory_key: *memory_key,
                own: &text.own,
                context: optional_text(&text.context),
                language: &text.language,
                passage: &text.passage,
                place: &text.place,
                entity_record: &[],
            });
            project.publish(&memory_keys, &known.collect::<Vec<_>>(), &chunks.collect::<Vec<_>>(), &vectors)
        })
    }

    /// Removes everything that the given memories had, durably. Unknown keys are ignored.
    #[napi(catch_unwind)]
    pub fn remove<'env>(
        &self,
        env: &'env Env,
        memory_keys: BigUint64ArraySlice<'_>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let memory_keys = memory_keys.to_vec();
        self.change(env, move |project| project.remove(&memory_keys))
    }

    /// Rewrites the vector log if a quarter of it is dead or a record is damaged. Resolves to whether it did.
    /// Searches go on meanwhile.
    #[napi(catch_unwind)]
    pub fn compact_if_needed<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.change(env, Project::compact_if_needed)
    }
}
