//! The indexes of one project as a whole: publishing, visibility and searches. This file checks arguments before any
//! index changes, and defines the order in which the indexes change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::admissible_graph::AdmissibleGraph;
use crate::entities::explore::{Curation, EntityNode, EntityPath, EntityQuery, Explorer, Surroundings};
use crate::entities::loading::LoadedGraph;
use crate::entities::mentions::{EntitySources, MentionExtractor, PhraseSet};
use crate::entities::neighbours::{self, Neighbourhood};
use crate::entities::walk::{self, GraphHits, WalkOptions};
use crate::error::{Error, Result};
use crate::filters::filter::Filter;
use crate::filters::json::Json;
use crate::filters::memory_table::{Admissible, MemoryTable, VisibleMemory, check_key};
use crate::hit::{Hit, HybridHit};
use crate::layout;
use crate::panics;
use crate::project_files::{self, ProjectFiles, TEXT_FOLDER};
use crate::text::index::{StoredPassage, TextIndex};
use crate::text::schema::TextChunk;
use crate::threads::map_shared;
use crate::vectors::graph::builder::GraphStatus;
use crate::vectors::graph::limits::VectorIndexKind;
use crate::vectors::index::VectorStats;
use crate::vectors::set_file::VectorModel;
use crate::vectors::sets::{CheckedVectors, MissingVectors, ModelVectors, SetModels, SetOptions, VectorSets};

/// Maximum number of chunks of a memory whose vectors determine its place on a map.
const LAYOUT_CHUNKS_MAX: usize = 8;

/// Maximum number of hits that a search can return. It is ten times as many as any retrieval mode needs.
pub const HITS_MAX: usize = 2_000;
/// Maximum number of chunks of one publication. It is four times the number of chunks that the largest request body,
/// 100 MB, can give.
pub const CHUNKS_PER_PUBLISH_MAX: usize = 500_000;
/// Number of memories or chunks whose entities are changed under one lock. This takes about a millisecond.
const ENTITIES_SLICE: usize = 256;

/// A query as text and as vector.
#[derive(Debug, Clone, Copy)]
pub struct HybridQuery<'query> {
    /// The query as text.
    pub text: &'query str,
    /// Fingerprint of the vector's model.
    pub fingerprint: &'query str,
    /// Unit vector of the query, `[dimensions]`.
    pub vector: &'query [f32],
}

/// Hits of one search as parallel arrays, best first.
#[derive(Debug, Clone)]
pub struct ScoredChunks {
    /// Keys of the chunks.
    pub chunk_keys: Vec<u64>,
    /// The memory of each chunk.
    pub memory_keys: Vec<u64>,
    /// The score of each chunk.
    pub scores: Vec<f32>,
}

impl ScoredChunks {
    /// Fails with `Invalid` if the arrays differ in length or are longer than the hits of a search can be.
    fn check(&self) -> Result<()> {
        let lengths = [self.chunk_keys.len(), self.memory_keys.len(), self.scores.len()];
        if lengths.iter().any(|length| *length != lengths[0]) || lengths[0] > HITS_MAX {
            let [chunks, memories, scores] = lengths;
            return Err(Error::invalid(format!(
                "{chunks} chunks, {memories} memories and {scores} scores: hits need as many of each, at most {HITS_MAX}"
            )));
        }
        Ok(())
    }

    /// Chunk key, memory key and score of each hit.
    fn iter(&self) -> impl Iterator<Item = (u64, u64, f32)> {
        let keys = self.chunk_keys.iter().copied().zip(self.memory_keys.iter().copied());
        keys.zip(self.scores.iter().copied()).map(|((chunk_key, memory_key), score)| (chunk_key, memory_key, score))
    }
}

/// Options for opening a project.
#[derive(Debug, Clone)]
pub struct ProjectOptions {
    /// The project's folder. It contains the subfolder `text`, and a subfolder per vector set.
    pub directory: PathBuf,
    /// Embedding model of a new project. A project that exists keeps its own.
    pub new_model: VectorModel,
}

/// Differences between the chunks that are indexed and the expected chunks, which should be. All lists are in ascending
/// order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Keys of expected chunks without a vector.
    pub missing_vectors: Vec<u64>,
    /// Keys of expected chunks without postings.
    pub missing_postings: Vec<u64>,
    /// Keys of expected chunks with postings, but without entities.
    pub missing_entities: Vec<u64>,
    /// Keys of chunks that have a vector but are not expected.
    pub extra_vectors: Vec<u64>,
    /// Keys of chunks that have postings but are not expected.
    pub extra_postings: Vec<u64>,
    /// Keys of the memories of all chunks that are not expected.
    pub surplus_memories: Vec<u64>,
}

/// Statistics of an open project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProjectStats {
    /// Number of memories that the index has seen since it was opened.
    pub memories: usize,
    /// Statistics of the vector index.
    pub vectors: VectorStats,
    /// Number of chunks in the text index.
    pub text_chunks: usize,
    /// Number of chunks in the entity graph; 0 until it is loaded.
    pub entity_records: usize,
}

/// An open project. Any thread may search, show and hide. Only one thread at a time may call a method that changes
/// vectors, texts or vector sets, except `erase_texts`, which may run beside one other change.
#[derive(Debug)]
pub struct Project {
    directory: PathBuf,
    memory_table: Arc<MemoryTable>,
    vectors: VectorSets,
    /// The entity graph of the chunks in `text`. A publication or removal changes both. It comes before `text`, so that
    /// its loading ends before the files of `text` are closed.
    graph: LoadedGraph,
    text: Arc<TextIndex>,
    extractor: MentionExtractor,
}

impl Project {
    /// Opens or creates a project. No memory is visible until `show` is called for it. Also returns descriptions of the
    /// damaged data that was dropped, one sentence per damage. After damage, `reconcile` says which chunks must be
    /// published again.
    pub fn open(options: ProjectOptions) -> Result<(Project, Vec<String>)> {
        let memory_table = Arc::new(MemoryTable::default());
        let ProjectOptions { directory, new_model } = options;
        let text_directory = directory.join(TEXT_FOLDER);
        let set_options = SetOptions { directory: directory.clone(), new_model };
        let open_text = || -> Result<(Arc<TextIndex>, LoadedGraph, Vec<String>)> {
            let (text, repairs) = TextIndex::open(&text_directory, Arc::clone(&memory_table))?;
            let text = Arc::new(text);
            let loaded = Arc::clone(&text);
            let graph = LoadedGraph::load(move |add| loaded.for_each_entity_record(add))?;
            Ok((text, graph, repairs))
        };
        // The files of both parts are read completely, so that damage is noticed before the first search: that waits
        // for `reconcile`, which waits for the graph.
        let (vectors, text) = std::thread::scope(|scope| {
            let text = scope.spawn(|| panics::catch(open_text));
            let vectors = VectorSets::open(set_options, Arc::clone(&memory_table));
            (vectors, text.join().unwrap_or_else(|_| Err("it could not be caught".to_owned())))
        });
        let (text, graph, text_repairs) =
            text.unwrap_or_else(|panic| Err(Error::Bug(format!("panic while the text index was opened: {panic}"))))?;
        let (vectors, mut repairs) = vectors?;
        repairs.extend(text_repairs);
        let extractor = MentionExtractor::default();
        Ok((Project { directory, memory_table, vectors, text, extractor, graph }, repairs))
    }

    /// Makes memories searchable, or changes their user and expiry.
    pub fn show(&self, visible_memories: &[VisibleMemory]) -> Result<()> {
        visible_memories.iter().try_for_each(|visible_memory| check_key("memory key", visible_memory.memory_key))?;
        self.memory_table.show(visible_memories);
        Ok(())
    }

    /// Sets the attributes that filters read, one JSON object per memory (see `AttributeIndex::describe`). Call it
    /// before `show`, so that filters know the attributes of every searchable memory.
    pub fn describe<Text: AsRef<str> + Sync>(&self, memory_keys: &[u64], attributes: &[Text]) -> Result<()> {
        self.memory_table.describe(memory_keys, &Project::checked_attributes(memory_keys, attributes)?);
        Ok(())
    }

    /// Like `describe`, but does not sort the attributes, for loading many memories. Call `sort_attributes` after the
    /// last of them. A filter that is evaluated before that sorts first.
    pub fn describe_unsorted<Text: AsRef<str> + Sync>(&self, memory_keys: &[u64], attributes: &[Text]) -> Result<()> {
        self.memory_table.describe_unsorted(memory_keys, &Project::checked_attributes(memory_keys, attributes)?);
        Ok(())
    }

    /// Sorts the attributes that `describe_unsorted` has set. Does nothing if they are sorted.
    pub fn sort_attributes(&self) {
        self.memory_table.sort_attributes();
    }

    fn checked_attributes<Text: AsRef<str> + Sync>(memory_keys: &[u64], attributes: &[Text]) -> Result<Vec<Json>> {
        if memory_keys.len() != attributes.len() {
            return Err(Error::invalid("memory keys and attributes differ in number"));
        }
        memory_keys.iter().try_for_each(|key| check_key("memory key", *key))?;
        map_shared(attributes, |text| attributes_of(text.as_ref())).into_iter().collect()
    }

    /// Makes memories unsearchable at once.
    pub fn hide(&self, memory_keys: &[u64]) {
        self.memory_table.hide(memory_keys);
    }

    /// Returns the memories that a request may see: those of one user, or of the whole project if `user_key` is `None`.
    pub fn admit(&self, user_key: Option<u64>, now_ms: u64) -> Result<Admissible> {
        user_key.map_or(Ok(()), |key| check_key("user key", key))?;
        Ok(self.memory_table.admit(user_key, now_ms))
    }

    /// Like `admit`, but returns only memories that match a filter (see `Filter::parse`).
    pub fn admit_within(&self, user_key: Option<u64>, now_ms: u64, filter: &str) -> Result<Admissible> {
        user_key.map_or(Ok(()), |key| check_key("user key", key))?;
        self.memory_table.admit_within(user_key, now_ms, &Filter::parse(filter)?)
    }

    /// Replaces all indexed data of the given memories by `chunks` and their vectors: those of the live model, and
    /// those of the model whose vectors are being built, if they are known. When the call returns, vectors and texts
    /// are durable, and searchable if their memory is shown. After a crash or an error in between, new vectors and old
    /// postings may exist; repeating the call completes the change. `known` has one element per memory. The field
    /// `entity_record` of `chunks` is ignored; this function computes the records.
    pub fn publish(
        &self,
        memory_keys: &[u64],
        known: &[EntitySources<'_>],
        chunks: &[TextChunk<'_>],
        vectors: &[ModelVectors<'_>],
    ) -> Result<()> {
        let checked_vectors = self.checked(memory_keys, &keys_of(chunks), vectors)?;
        let records = self.records(memory_keys, known, chunks)?;
        self.vectors.publish(memory_keys, &checked_vectors)?;
        let chunks = with_records(chunks, &records);
        self.text.publish(memory_keys, &chunks)?;
        self.replace_entities(memory_keys, &chunks)
    }

    /// Begins to publish a memory in parts, between which other changes can run: replaces its vectors, as `publish`
    /// does, and removes its texts and entities. `add_texts` adds new ones. The memory must not be shown before it has
    /// all of them.
    pub fn publish_vectors(&self, memory_key: u64, chunk_keys: &[u64], vectors: &[ModelVectors<'_>]) -> Result<()> {
        let keys: Vec<(u64, u64)> = chunk_keys.iter().map(|chunk_key| (*chunk_key, memory_key)).collect();
        let checked_vectors = self.checked(&[memory_key], &keys, vectors)?;
        self.vectors.publish(&[memory_key], &checked_vectors)?;
        self.text.remove(&[memory_key])?;
        self.replace_entities(&[memory_key], &[])
    }

    /// Adds the texts and entities of the next chunks of a memory after `publish_vectors`, durably. A title in `known`
    /// becomes an entity of the first of these chunks. After an error, begin again with `publish_vectors`.
    pub fn add_texts(&self, memory_key: u64, known: EntitySources<'_>, chunks: &[TextChunk<'_>]) -> Result<()> {
        if chunks.iter().any(|chunk| chunk.memory_key != memory_key) {
            return Err(Error::invalid("texts of another memory were given"));
        }
        let records = self.records(&[memory_key], &[known], chunks)?;
        let chunks = with_records(chunks, &records);
        self.text.publish(&[], &chunks)?;
        self.replace_entities(&[], &chunks)
    }

    /// Removes all indexed data of the given memories, durably. Unknown keys are ignored.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        if memory_keys.is_empty() {
            return Ok(());
        }
        self.vectors.remove(memory_keys)?;
        self.text.remove(memory_keys)?;
        self.replace_entities(memory_keys, &[])?;
        self.memory_table.forget(memory_keys);
        Ok(())
    }

    /// Vector search: returns the `limit` admissible chunks with the highest cosine similarity to a unit vector
    /// (`[dimensions]`) of the model with this fingerprint. Fails with `OtherModel` if another model is live.
    pub fn search_vectors(
        &self,
        fingerprint: &str,
        vector: &[f32],
        within: &Admissible,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        check_limit(limit)?;
        self.vectors.live_of(fingerprint)?.search(vector, within, limit)
    }

    /// Whether a vector search takes less than a millisecond and reads no file.
    pub fn is_vector_search_short(&self) -> bool {
        self.vectors.live().is_search_short()
    }

    /// See `VectorSets::choose`.
    pub fn choose_vector_index(&self, kind: VectorIndexKind) {
        self.vectors.choose(kind);
    }

    /// The state of the graph that vector searches can use.
    pub fn graph_status(&self) -> GraphStatus {
        self.vectors.graph_status()
    }

    /// Full-text search: returns the `limit` admissible chunks with the highest BM25 score, 0..1.
    pub fn search_text(&self, query: &str, within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        check_limit(limit)?;
        self.text.search(query, within, limit)
    }

    /// Returns the cosine similarity of exactly the given chunks to a unit vector (`[dimensions]`); NaN for a chunk
    /// that does not exist. `memory_keys` has the memory of each chunk. Fails with `OtherModel` if the vector's model,
    /// given by its fingerprint, is not live.
    pub fn score_vectors(
        &self,
        fingerprint: &str,
        vector: &[f32],
        chunk_keys: &[u64],
        memory_keys: &[u64],
    ) -> Result<Vec<f32>> {
        let chunks = self.with_ordinals(chunk_keys, memory_keys)?;
        self.vectors.live_of(fingerprint)?.score_chunks(vector, &chunks)
    }

    /// Returns the cosine similarities between exactly the given chunks (at most 256), row-major `[chunks, chunks]`;
    /// NaN for a chunk that does not exist. `memory_keys` has the memory of each chunk.
    pub fn compare_vectors(&self, chunk_keys: &[u64], memory_keys: &[u64]) -> Result<Vec<f32>> {
        self.vectors.live().compare_chunks(&self.with_ordinals(chunk_keys, memory_keys)?)
    }

    /// Returns the stored vectors of exactly the given chunks, row-major `[chunks, dimensions]`; NaN for a chunk that
    /// does not exist. `memory_keys` has the memory of each chunk. Fails with `OtherModel` unless the model with this
    /// fingerprint is live or being built.
    pub fn stored_vectors(&self, fingerprint: &str, chunk_keys: &[u64], memory_keys: &[u64]) -> Result<Vec<f32>> {
        let chunks = self.with_ordinals(chunk_keys, memory_keys)?;
        let is_building = self.models().building.is_some_and(|model| model.fingerprint == fingerprint);
        match self.vectors.both().1.filter(|_| is_building) {
            Some(building) => building.stored_vectors(&chunks),
            None => self.vectors.live_of(fingerprint)?.stored_vectors(&chunks),
        }
    }

    /// Each chunk with the ordinal of its memory, `None` for an unknown memory.
    fn with_ordinals(&self, chunk_keys: &[u64], memory_keys: &[u64]) -> Result<Vec<(u64, Option<u32>)>> {
        if chunk_keys.len() != memory_keys.len() {
            return Err(Error::invalid("chunk keys and memory keys differ in number"));
        }
        Ok(chunk_keys.iter().copied().zip(self.memory_table.known_ordinals(memory_keys)).collect())
    }

    /// Returns the BM25 score of exactly the given chunks; 0 if no word matches or the chunk does not exist.
    pub fn score_text(&self, query: &str, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        self.text.score_chunks(query, chunk_keys)
    }

    /// Hybrid search: searches vectors like `search_vectors`, and adds the hits of `search_text` for the same query and
    /// set. The chunks with the highest cosine similarity come first, then the other text hits in their order. Every
    /// chunk has both scores; text hits keep the score that they were given.
    pub fn search_hybrid(
        &self,
        query: &HybridQuery<'_>,
        text_hits: &ScoredChunks,
        within: &Admissible,
        limit: usize,
    ) -> Result<Vec<HybridHit>> {
        let hits = self.search_vectors(query.fingerprint, query.vector, within, limit)?;
        let near_hits = ScoredChunks {
            memory_keys: self.memory_keys(hits.iter().map(|hit| hit.ordinal)),
            chunk_keys: hits.iter().map(|hit| hit.chunk_key).collect(),
            scores: hits.iter().map(|hit| hit.score).collect(),
        };
        self.join_hits(query, &near_hits, text_hits)
    }

    /// The second part of `search_hybrid`, for hits of `search_vectors` for the same query and set.
    pub fn join_hits(
        &self,
        query: &HybridQuery<'_>,
        near_hits: &ScoredChunks,
        text_hits: &ScoredChunks,
    ) -> Result<Vec<HybridHit>> {
        near_hits.check()?;
        text_hits.check()?;
        let mut cosine_of: FxHashMap<u64, f32> = near_hits.iter().map(|(key, _, score)| (key, score)).collect();
        let mut text_score_of: FxHashMap<u64, f32> = text_hits.iter().map(|(key, _, score)| (key, score)).collect();

        let is_unscored = |key: &u64| !text_score_of.contains_key(key);
        let unscored: Vec<u64> = near_hits.chunk_keys.iter().copied().filter(is_unscored).collect();
        text_score_of.extend(unscored.iter().copied().zip(self.score_text(query.text, &unscored)?));

        let others = text_hits.iter().filter(|(key, _, _)| !cosine_of.contains_key(key));
        let (other_keys, other_memory_keys): (Vec<u64>, Vec<u64>) =
            others.map(|(key, memory, _)| (key, memory)).unzip();
        let cosines = self.score_vectors(query.fingerprint, query.vector, &other_keys, &other_memory_keys)?;
        cosine_of.extend(other_keys.iter().copied().zip(cosines));

        let keys = near_hits.iter().map(|(key, memory, _)| (key, memory));
        let with_scores = |(chunk_key, memory_key)| HybridHit {
            chunk_key,
            memory_key,
            cosine: cosine_of[&chunk_key],
            text_score: text_score_of[&chunk_key],
        };
        Ok(keys.chain(other_keys.iter().copied().zip(other_memory_keys)).map(with_scores).collect())
    }

    /// Graph search: finds admissible chunks that are linked to the query's entities or the seeds, directly or via one
    /// other chunk, and returns the best of them.
    pub fn search_graph(&self, query: &str, within: &Admissible, options: &WalkOptions<'_>) -> Result<GraphHits> {
        check_limit(options.limit)?;
        let set = self.memory_table.still_visible(within)?;
        let ngrams = self.extractor.query_ngrams(query);
        let graph = self.graph.read()?;
        let occurrences = |word: &str, most| self.text.document_frequency_within(word, &set, most);
        let mut found = walk::search(&mut AdmissibleGraph::new(&graph, &set), &ngrams, options, occurrences)?;
        drop(graph);
        self.memory_table.retain_admitted(within, &mut found.hits, |hit| hit.ordinal);
        // If the intermediate passage of a hit's path was hidden during the search, the hit is kept without its path.
        let mut passed: Vec<u32> = found.hits.iter().filter_map(|hit| hit.via.map(|(_, ordinal)| ordinal)).collect();
        self.memory_table.retain_admitted(within, &mut passed, |ordinal| *ordinal);
        passed.sort_unstable();
        let is_hidden = |(_, ordinal): (u64, u32)| passed.binary_search(&ordinal).is_err();
        for hit in found.hits.iter_mut().filter(|hit| hit.via.is_some_and(is_hidden)) {
            (hit.from, hit.via, hit.through) = (0, None, 0);
        }
        Ok(found)
    }

    /// Returns the names of entities by the ids of `search_graph` and `neighbourhood`, in their first surface form;
    /// `None` for other ids.
    pub fn entity_names(&self, ids: &[u32]) -> Result<Vec<Option<String>>> {
        let graph = self.graph.read()?;
        Ok(ids.iter().map(|id| graph.surface(*id).map(str::to_owned)).collect())
    }

    /// Returns the entities of an admissible memory and the admissible memories that share some of them, at most
    /// `limit` of each. Both are empty if the memory is unknown or not admissible.
    pub fn neighbourhood(&self, memory_key: u64, within: &Admissible, limit: usize) -> Result<Neighbourhood> {
        check_limit(limit)?;
        let set = self.memory_table.still_visible(within)?;
        let Some(ordinal) = self.memory_table.known_ordinals(&[memory_key])[0] else {
            return Ok(Neighbourhood::default());
        };
        let graph = self.graph.read()?;
        let mut found = neighbours::neighbourhood(&mut AdmissibleGraph::new(&graph, &set), ordinal, limit);
        drop(graph);
        self.memory_table.retain_admitted(within, &mut found.neighbours, |neighbour| neighbour.ordinal);
        let mut still_admitted = vec![ordinal];
        self.memory_table.retain_admitted(within, &mut still_admitted, |ordinal| *ordinal);
        Ok(if still_admitted.is_empty() { Neighbourhood::default() } else { found })
    }

    /// Returns places of memories on a plane, where similar ones lie close together. Those of `known` stay. A memory
    /// without vectors has no place. Takes seconds for 20,000 memories.
    pub fn layout(&self, memory_keys: &[u64], known: &[Option<(f32, f32)>]) -> Result<Vec<Option<(f32, f32)>>> {
        let vectors = self.vectors.live();
        let ordinals = self.memory_table.known_ordinals(memory_keys);
        let (mut rows, mut dimensions, mut places) = (Vec::new(), 0, Vec::new());
        let mut is_placed = vec![false; memory_keys.len()];
        for (at, (key, ordinal)) in memory_keys.iter().zip(ordinals).enumerate() {
            let chunks: Vec<(u64, Option<u32>)> =
                vectors.memory_chunks(*key).into_iter().take(LAYOUT_CHUNKS_MAX).map(|chunk| (chunk, ordinal)).collect();
            let stored = vectors.stored_vectors(&chunks)?;
            let Some(width) = stored.len().checked_div(chunks.len()).filter(|width| *width > 0) else { continue };
            let mut sum = vec![0.0f32; width];
            let whole = stored.chunks_exact(width).filter(|vector| vector.iter().all(|value| value.is_finite()));
            whole.for_each(|vector| sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value));
            let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
            if length == 0.0 {
                continue;
            }
            rows.extend(sum.iter().map(|value| value / length));
            dimensions = width;
            places.push(known[at]);
            is_placed[at] = true;
        }
        let mut placed = layout::layout(&rows, dimensions, &places).into_iter();
        Ok(is_placed.into_iter().map(|is_placed| if is_placed { placed.next() } else { None }).collect())
    }

    /// Lists entities of an admissible set. Fails with `Invalid` for a set of another project or a limit over
    /// `HITS_MAX`.
    pub fn entities(&self, within: &Admissible, curation: &Curation, query: &EntityQuery) -> Result<Vec<EntityNode>> {
        check_limit(query.limit)?;
        let set = self.memory_table.still_visible(within)?;
        let graph = self.graph.read()?;
        Ok(Explorer::new(AdmissibleGraph::new(&graph, &set), curation).list(set.iter(), query))
    }

    /// Returns an entity with its surroundings in an admissible set. `None` if the set does not mention it.
    pub fn entity(
        &self,
        hash: u64,
        within: &Admissible,
        curation: &Curation,
        limit: usize,
    ) -> Result<Option<Surroundings>> {
        check_limit(limit)?;
        let set = self.memory_table.still_visible(within)?;
        let graph = self.graph.read()?;
        Ok(Explorer::new(AdmissibleGraph::new(&graph, &set), curation).surroundings(hash, limit))
    }

    /// Returns a shortest path between two entities in an admissible set.
    pub fn entity_path(&self, from: u64, to: u64, within: &Admissible, curation: &Curation) -> Result<EntityPath> {
        let set = self.memory_table.still_visible(within)?;
        let graph = self.graph.read()?;
        Ok(Explorer::new(AdmissibleGraph::new(&graph, &set), curation).path(from, to))
    }

    /// Returns the stored passages of the given chunks, in their order. See `TextIndex::passages`.
    pub fn passages(&self, chunk_keys: &[u64]) -> Result<Vec<Option<StoredPassage>>> {
        self.text.passages(chunk_keys)
    }

    /// Returns the memory keys of the ordinals of hits.
    pub fn memory_keys(&self, ordinals: impl IntoIterator<Item = u32>) -> Vec<u64> {
        self.memory_table.memory_keys(ordinals)
    }

    /// Compares the chunks that should be indexed with those that are.
    pub fn reconcile(&self, expected: &[u64]) -> Result<Differences> {
        let expected: FxHashSet<u64> = expected.iter().copied().collect();
        let (vectors, postings) = (self.vectors.live().chunks(), self.text.chunks());
        let surplus = vectors.iter().chain(&postings).filter(|(key, _)| !expected.contains(key));
        let surplus: BTreeSet<u64> =
            self.memory_table.memory_keys(surplus.map(|(_, ordinal)| *ordinal)).into_iter().collect();
        let vectors: FxHashSet<u64> = vectors.into_iter().map(|(key, _)| key).collect();
        let postings: FxHashSet<u64> = postings.into_iter().map(|(key, _)| key).collect();
        let graph = self.graph.read()?;
        let in_graph: FxHashSet<u64> = postings.iter().copied().filter(|key| graph.slot_of(*key).is_some()).collect();
        drop(graph);
        Ok(Differences {
            missing_entities: without(&(&expected & &postings), &in_graph),
            missing_vectors: without(&expected, &vectors),
            missing_postings: without(&expected, &postings),
            extra_vectors: without(&vectors, &expected),
            extra_postings: without(&postings, &expected),
            surplus_memories: surplus.into_iter().collect(),
        })
    }

    /// See `project_files::list`.
    pub fn files(&self) -> Result<ProjectFiles> {
        project_files::list(&self.directory, &self.vectors, &self.text)
    }

    /// See `project_files::damage_of`.
    pub fn damage_of(&self, path: &str) -> Result<Option<String>> {
        project_files::damage_of(&self.directory, path, &self.vectors, &self.text)
    }

    /// Returns the current statistics.
    pub fn stats(&self) -> ProjectStats {
        ProjectStats {
            memories: self.memory_table.len(),
            vectors: self.vectors.live().stats(),
            text_chunks: self.text.chunk_count(),
            entity_records: self.graph.live_chunks(),
        }
    }

    /// The embedding models of the project's vector sets.
    pub fn models(&self) -> SetModels {
        self.vectors.models()
    }

    /// See `VectorSets::begin`.
    pub fn begin_model(&self, model: VectorModel) -> Result<()> {
        self.vectors.begin(model)
    }

    /// See `VectorSets::missing`.
    pub fn missing_vectors(&self) -> Result<MissingVectors> {
        self.vectors.missing()
    }

    /// See `VectorSets::add`.
    pub fn add_vectors(&self, chunk_keys: &[u64], memory_keys: &[u64], vectors: ModelVectors<'_>) -> Result<usize> {
        if chunk_keys.len() != memory_keys.len() {
            return Err(Error::invalid("chunk keys and memory keys differ in number"));
        }
        let chunks: Vec<(u64, u64)> = chunk_keys.iter().copied().zip(memory_keys.iter().copied()).collect();
        self.vectors.add(&chunks, vectors)
    }

    /// See `VectorSets::swap`.
    pub fn swap_model(&self) -> Result<bool> {
        self.vectors.swap()
    }

    /// See `VectorSets::drop_building`.
    pub fn drop_building(&self) -> Result<()> {
        self.vectors.drop_building()
    }

    /// See `VectorSets::forget_previous`.
    pub fn forget_previous(&self) -> Result<()> {
        self.vectors.forget_previous()
    }

    /// Rewrites a vector log if a fifth of its records is no longer valid or a record is damaged. Returns whether it
    /// rewrote one.
    pub fn compact_if_needed(&self) -> Result<bool> {
        self.vectors.compact_if_needed()
    }

    /// Removes the vectors of removed chunks from the files, durably.
    pub fn erase_vectors(&self) -> Result<()> {
        self.vectors.erase_removed()
    }

    /// Removes the texts and postings of removed chunks from the files, durably. Returns false if old files could not
    /// be removed; then the call is to be repeated. Rewrites the segments of the text index that have such chunks,
    /// which takes seconds for a large one. Other changes can run meanwhile, but not a second call of this function.
    pub fn erase_texts(&self) -> Result<bool> {
        self.text.erase_removed()
    }

    /// Replaces vectors (of the live model), postings and entities of memories whose indexed chunks are exactly the
    /// given ones, durably. Other memories were changed or removed meanwhile, and are skipped: their positions in
    /// `memory_keys` are returned. The arguments are those of `publish`. A search finds each memory with its old or
    /// its new parts at every moment. After a crash or an error in between, a memory has new vectors and old postings,
    /// which fit together, because the chunks are the same.
    pub fn rebuild(
        &self,
        memory_keys: &[u64],
        known: &[EntitySources<'_>],
        chunks: &[TextChunk<'_>],
        vectors: &[ModelVectors<'_>],
    ) -> Result<Vec<u32>> {
        self.checked(memory_keys, &keys_of(chunks), vectors)?;
        let records = self.records(memory_keys, known, chunks)?;
        let live = self.vectors.live();
        let mut given: FxHashMap<u64, Vec<u64>> = memory_keys.iter().map(|key| (*key, Vec::new())).collect();
        chunks.iter().for_each(|chunk| given.entry(chunk.memory_key).or_default().push(chunk.chunk_key));
        given.retain(|memory_key, keys| {
            let mut live_keys = live.memory_chunks(*memory_key);
            live_keys.sort_unstable();
            keys.sort_unstable();
            !keys.is_empty() && *keys == live_keys
        });
        let kept: Vec<usize> = (0..chunks.len()).filter(|at| given.contains_key(&chunks[*at].memory_key)).collect();
        let kept_vectors = vectors.iter().map(|each| {
            let dimensions = each.vectors.len() / chunks.len().max(1);
            kept.iter().flat_map(|at| &each.vectors[at * dimensions..(at + 1) * dimensions]).copied().collect()
        });
        let kept_vectors: Vec<Vec<f32>> = kept_vectors.collect();
        let kept_vectors: Vec<ModelVectors<'_>> = (vectors.iter().zip(&kept_vectors))
            .map(|(each, vectors)| ModelVectors { fingerprint: each.fingerprint, vectors })
            .collect();
        let kept_chunks: Vec<TextChunk<'_>> =
            kept.iter().map(|at| TextChunk { entity_record: &records[*at], ..chunks[*at] }).collect();
        let kept_keys: Vec<u64> = memory_keys.iter().copied().filter(|key| given.contains_key(key)).collect();
        if !kept_keys.is_empty() {
            // Vectors of other models are not replaced: they stay valid, because the chunks are the same.
            live.publish(&kept_keys, &self.checked(&kept_keys, &keys_of(&kept_chunks), &kept_vectors)?.live)?;
            self.text.publish(&kept_keys, &kept_chunks)?;
            self.exchange_entities(&kept_chunks)?;
        }
        let skipped = memory_keys.iter().enumerate().filter(|(_, key)| !given.contains_key(key));
        Ok(skipped.map(|(at, _)| at as u32).collect())
    }

    /// Ends the threads and releases the files. Searches in progress finish normally. The project must not be used
    /// after this call.
    pub fn close(&self) {
        self.vectors.close();
        self.text.close();
    }

    /// Returns the entity record of each chunk. A title becomes an entity of the first chunk of its memory.
    fn records(
        &self,
        memory_keys: &[u64],
        known: &[EntitySources<'_>],
        chunks: &[TextChunk<'_>],
    ) -> Result<Vec<Vec<u8>>> {
        if known.len() != memory_keys.len() {
            return Err(Error::invalid("memory keys and their known entities differ in number"));
        }
        let known = memory_keys.iter().zip(known);
        let mut known: FxHashMap<u64, (Option<&str>, PhraseSet)> =
            known.map(|(key, known)| (*key, (known.title, self.extractor.phrases(known.phrases)))).collect();
        let mut take_title = |memory_key| known.get_mut(&memory_key).and_then(|(title, _)| title.take());
        let titled: Vec<_> = chunks.iter().map(|chunk| (chunk, take_title(chunk.memory_key))).collect();
        Ok(map_shared(&titled, |(chunk, title)| match known.get(&chunk.memory_key) {
            Some((_, phrases)) => self.extractor.record(chunk.passage, *title, phrases),
            None => Vec::new(),
        }))
    }

    /// Removes the entities of `memory_keys`, and adds those of `chunks`, which may belong to other memories.
    fn replace_entities(&self, memory_keys: &[u64], chunks: &[TextChunk<'_>]) -> Result<()> {
        let ordinals: Vec<u32> = self.memory_table.known_ordinals(memory_keys).into_iter().flatten().collect();
        let chunk_ordinals = self.memory_table.ordinals(chunks.iter().map(|chunk| chunk.memory_key));
        // The graph changes in slices, so that a search waits for one slice at most. Searches do not see a half-changed
        // memory, because these memories are not shown during a publication.
        for slice in ordinals.chunks(ENTITIES_SLICE) {
            let mut graph = self.graph.write()?;
            slice.iter().for_each(|ordinal| graph.remove_memory(*ordinal));
        }
        for (slice, ordinals) in chunks.chunks(ENTITIES_SLICE).zip(chunk_ordinals.chunks(ENTITIES_SLICE)) {
            let mut graph = self.graph.write()?;
            slice
                .iter()
                .zip(ordinals)
                .try_for_each(|(chunk, ordinal)| graph.add(chunk.chunk_key, *ordinal, chunk.entity_record))?;
        }
        Ok(())
    }

    /// Replaces the entities of memories while searches run. The lock is held for a whole memory, so that no search
    /// sees some of its old and some of its new entities. Takes about 10 µs per chunk.
    fn exchange_entities(&self, chunks: &[TextChunk<'_>]) -> Result<()> {
        let ordinals = self.memory_table.ordinals(chunks.iter().map(|chunk| chunk.memory_key));
        let mut by_memory: FxHashMap<u32, Vec<&TextChunk<'_>>> = FxHashMap::default();
        ordinals.iter().zip(chunks).for_each(|(ordinal, chunk)| by_memory.entry(*ordinal).or_default().push(chunk));
        for (ordinal, chunks) in by_memory {
            let mut graph = self.graph.write()?;
            graph.remove_memory(ordinal);
            chunks.iter().try_for_each(|chunk| graph.add(chunk.chunk_key, ordinal, chunk.entity_record))?;
        }
        Ok(())
    }

    /// Checks the arguments of `publish`, and pairs chunks with their vectors. `chunks` has pairs (chunk key, memory
    /// key).
    fn checked<'data>(
        &self,
        memory_keys: &[u64],
        chunks: &[(u64, u64)],
        vectors: &[ModelVectors<'data>],
    ) -> Result<CheckedVectors<'data>> {
        if chunks.len() > CHUNKS_PER_PUBLISH_MAX {
            return Err(Error::invalid(format!(
                "{} chunks at once; {CHUNKS_PER_PUBLISH_MAX} is the maximum",
                chunks.len()
            )));
        }
        memory_keys.iter().try_for_each(|key| check_key("memory key", *key))?;
        let memories: FxHashSet<u64> = memory_keys.iter().copied().collect();
        if memories.len() != memory_keys.len() {
            return Err(Error::invalid("a memory key is given twice"));
        }
        let mut seen = FxHashSet::default();
        for (chunk_key, memory_key) in chunks {
            check_key("chunk key", *chunk_key)?;
            if !seen.insert(*chunk_key) {
                return Err(Error::invalid(format!("chunk key {chunk_key} is given twice")));
            }
            if !memories.contains(memory_key) {
                return Err(Error::invalid(format!(
                    "chunk {chunk_key} belongs to memory {memory_key}, which is not published in this call"
                )));
            }
        }
        self.vectors.check(chunks, vectors)
    }
}

/// Pairs (chunk key, memory key).
fn keys_of(chunks: &[TextChunk<'_>]) -> Vec<(u64, u64)> {
    chunks.iter().map(|chunk| (chunk.chunk_key, chunk.memory_key)).collect()
}

fn with_records<'data>(chunks: &[TextChunk<'data>], records: &'data [Vec<u8>]) -> Vec<TextChunk<'data>> {
    chunks.iter().zip(records).map(|(chunk, entity_record)| TextChunk { entity_record, ..*chunk }).collect()
}

fn attributes_of(text: &str) -> Result<Json> {
    let attributes = Json::parse(text)?;
    if attributes.is_object(0) { Ok(attributes) } else { Err(Error::invalid("attributes are not a JSON object")) }
}

fn check_limit(limit: usize) -> Result<()> {
    match limit {
        1..=HITS_MAX => Ok(()),
        _ => Err(Error::invalid(format!("a limit of {limit} hits; it must be 1 to {HITS_MAX}"))),
    }
}

/// Returns the keys of `these` that are not in `those`, in ascending order.
fn without(these: &FxHashSet<u64>, those: &FxHashSet<u64>) -> Vec<u64> {
    let mut difference: Vec<u64> = these.difference(those).copied().collect();
    difference.sort_unstable();
    difference
}
