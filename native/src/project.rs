//! One project's derived indexes as a whole: what is published, shown, hidden and searched.
//! Refuses bad arguments before any part has changed, and fixes the order in which the parts change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entities::graph::NameGraph;
use crate::entities::mentions::{MemoryNames, NameFinder, Phrases};
use crate::entities::neighbours::{self, Neighbourhood};
use crate::entities::scope::Scope;
use crate::entities::walk::{self, Related, Seed};
use crate::error::{Error, Result};
use crate::filters::candidates::{Admissible, Candidates, Showing, check_key};
use crate::filters::filter::Filter;
use crate::filters::json::Json;
use crate::hit::Hit;
use crate::text::index::{StoredPassage, TextIndex};
use crate::text::schema::TextChunk;
use crate::vectors::index::{VectorChunk, VectorIndex, VectorOptions};

/// Hits a search may ask for: ten times what any mode of retrieval does.
pub const HITS_MAX: usize = 2_000;
/// Chunks in one round of publishing: the texts of the largest body, 100 MB, are cut into a quarter of it.
pub const CHUNKS_PER_PUBLISH_MAX: usize = 500_000;
/// Memories, and chunks, whose names change under one lock: about a millisecond.
const NAMES_SLICE: usize = 256;

/// What a project is opened with.
#[derive(Debug, Clone)]
pub struct ProjectOptions {
    /// The project's folder; `vectors/` and `text/` lie in it.
    pub directory: PathBuf,
    /// Components of a vector.
    pub dimensions: usize,
    /// Which embedding model made the vectors. A project written with another one refuses to open.
    pub fingerprint: String,
    /// Up to this many admissible chunks the nearest are found by a scan.
    pub hnsw_min_chunks: usize,
}

/// What differs between the chunks that should be there and those that are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Expected, without a vector.
    pub missing_vectors: Vec<u64>,
    /// Expected, without postings.
    pub missing_postings: Vec<u64>,
    /// With a vector, but not expected.
    pub extra_vectors: Vec<u64>,
    /// With postings, but not expected.
    pub extra_postings: Vec<u64>,
    /// The memories of the chunks that are not expected.
    pub surplus_memories: Vec<u64>,
}

/// Figures about a project as it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProjectStats {
    /// Memories that the index has heard of since it was opened.
    pub memories: usize,
    /// Those that are shown.
    pub visible: usize,
    /// Chunks with a vector.
    pub chunks: usize,
    /// Records of the vector log that count for nothing any more.
    pub dead_chunks: usize,
    /// Bytes of the vector log.
    pub log_bytes: u64,
    /// Bytes of the text index.
    pub text_bytes: u64,
    /// Chunks in the HNSW graph.
    pub hnsw_chunks: usize,
    /// Whether the graph may be asked.
    pub is_hnsw_ready: bool,
}

/// An open project. Searches come from any thread; `publish`, `remove` and `compact_if_needed` from one at a time.
#[derive(Debug)]
pub struct Project {
    candidates: Arc<Candidates>,
    vectors: VectorIndex,
    text: TextIndex,
    finder: NameFinder,
    /// Follows `text`: what is published there is added here, in the same call.
    names: RwLock<NameGraph>,
    dimensions: usize,
}

impl Project {
    /// Opens or creates a project. Nothing is visible until it is shown. Returns sentences about what was found damaged
    /// and dropped; the caller publishes the missing chunks again (`reconcile` names them).
    pub fn open(options: ProjectOptions) -> Result<(Project, Vec<String>)> {
        if options.fingerprint.contains('\n') {
            return Err(Error::invalid("a fingerprint has no line breaks"));
        }
        let candidates = Arc::new(Candidates::default());
        let vector_options = VectorOptions {
            directory: options.directory.join("vectors"),
            dimensions: options.dimensions,
            fingerprint: options.fingerprint,
            hnsw_min_chunks: options.hnsw_min_chunks,
        };
        let (vectors, mut repairs) = VectorIndex::open(vector_options, Arc::clone(&candidates))?;
        let (text, text_repairs) = TextIndex::open(&options.directory.join("text"), Arc::clone(&candidates))?;
        repairs.extend(text_repairs);
        let mut names = NameGraph::default();
        text.each_names(|chunk_key, ordinal, record| names.add(chunk_key, ordinal, record))?;
        let (finder, names) = (NameFinder::default(), RwLock::new(names));
        Ok((Project { candidates, vectors, text, finder, names, dimensions: options.dimensions }, repairs))
    }

    /// Makes memories searchable, or changes their user and expiry.
    pub fn show(&self, showings: &[Showing]) -> Result<()> {
        showings.iter().try_for_each(|showing| check_key("memory key", showing.memory_key))?;
        self.candidates.show(showings);
        Ok(())
    }

    /// Says what attributes memories have, one JSON object per key (`AttributeIndex::describe`): before they are shown, so
    /// that nothing is searchable that filters do not see.
    pub fn describe<Text: AsRef<str>>(&self, memory_keys: &[u64], attributes: &[Text]) -> Result<()> {
        if memory_keys.len() != attributes.len() {
            return Err(Error::invalid("memory keys and attributes differ in number"));
        }
        memory_keys.iter().try_for_each(|key| check_key("memory key", *key))?;
        let attributes = attributes.iter().map(|text| described(text.as_ref())).collect::<Result<Vec<Json>>>()?;
        self.candidates.describe(memory_keys, &attributes);
        Ok(())
    }

    /// Makes memories unsearchable at once.
    pub fn hide(&self, memory_keys: &[u64]) {
        self.candidates.hide(memory_keys);
    }

    /// The memories that a question of this user, or of the whole project, may see.
    pub fn admit(&self, user_key: Option<u64>, now_ms: u64) -> Result<Admissible> {
        user_key.map_or(Ok(()), |key| check_key("user key", key))?;
        Ok(self.candidates.admit(user_key, now_ms))
    }

    /// Those of them that lie within a filter, see `Filter::parse`.
    pub fn admit_within(&self, user_key: Option<u64>, now_ms: u64, filter: &str) -> Result<Admissible> {
        user_key.map_or(Ok(()), |key| check_key("user key", key))?;
        self.candidates.admit_within(user_key, now_ms, &Filter::parse(filter)?)
    }

    /// Replaces everything that the given memories had by `chunks` and their vectors, `[chunks, dimensions]` in a row.
    /// Durable in both parts on return, and searchable as far as the memories are shown. A crash or an error between
    /// the parts leaves the vectors new and the postings old; the same call again completes it. `names` has an element
    /// per memory; those of the chunks themselves are filled in here.
    pub fn publish(
        &self,
        memory_keys: &[u64],
        names: &[MemoryNames<'_>],
        chunks: &[TextChunk<'_>],
        vectors: &[f32],
    ) -> Result<()> {
        let vector_chunks = self.checked(memory_keys, chunks, vectors)?;
        let records = self.records(memory_keys, names, chunks)?;
        let chunks: Vec<TextChunk<'_>> =
            chunks.iter().zip(&records).map(|(chunk, names)| TextChunk { names, ..*chunk }).collect();
        self.vectors.publish(memory_keys, &vector_chunks)?;
        self.text.publish(memory_keys, &chunks)?;
        self.replace_names(memory_keys, &chunks)
    }

    /// Removes everything that the given memories had, durably. Unknown keys are fine.
    pub fn remove(&self, memory_keys: &[u64]) -> Result<()> {
        if memory_keys.is_empty() {
            return Ok(());
        }
        self.vectors.remove(memory_keys)?;
        self.text.remove(memory_keys)?;
        self.replace_names(memory_keys, &[])
    }

    /// The `limit` admissible chunks nearest to a unit vector `[dimensions]` by cosine.
    pub fn nearest(&self, vector: &[f32], within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        check_limit(limit)?;
        self.vectors.nearest(vector, within, limit)
    }

    /// The `limit` admissible chunks that match a query's words best, by b in 0..1.
    pub fn matching(&self, query: &str, within: &Admissible, limit: usize) -> Result<Vec<Hit>> {
        check_limit(limit)?;
        self.text.search(query, within, limit)
    }

    /// The cosines of exactly the given chunks of the given memories, two slices of one length, to a unit vector
    /// `[dimensions]`; NaN where there is no such chunk.
    pub fn similarities(&self, vector: &[f32], chunk_keys: &[u64], memory_keys: &[u64]) -> Result<Vec<f32>> {
        if chunk_keys.len() != memory_keys.len() {
            return Err(Error::invalid("chunk keys and memory keys differ in number"));
        }
        let ordinals = self.candidates.known_ordinals(memory_keys);
        let chunks: Vec<(u64, Option<u32>)> = chunk_keys.iter().copied().zip(ordinals).collect();
        self.vectors.score(vector, &chunks)
    }

    /// b of exactly the given chunks; 0 where nothing matches.
    pub fn lexical(&self, query: &str, chunk_keys: &[u64]) -> Result<Vec<f32>> {
        self.text.score(query, chunk_keys)
    }

    /// The `limit` admissible chunks that the names of a query lead to, from `seeds` and by way of other chunks.
    pub fn related(&self, query: &str, seeds: &[Seed], within: &Admissible, limit: usize) -> Result<Related> {
        check_limit(limit)?;
        let set = self.candidates.confine(within)?;
        let runs = self.finder.query_runs(query);
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let occurrences = |word: &str, most| self.text.occurrences(word, &set, most);
        let mut related = walk::related(&mut Scope::new(&names, &set), &runs, seeds, limit, occurrences)?;
        drop(names);
        self.candidates.retain_admitted(within, &mut related.hits, |hit| hit.ordinal);
        // A passage stays found where the one that led to it was hidden meanwhile; the way to it is not told any more.
        let mut passed: Vec<u32> = related.hits.iter().filter_map(|hit| hit.via.map(|(_, ordinal)| ordinal)).collect();
        self.candidates.retain_admitted(within, &mut passed, |ordinal| *ordinal);
        passed.sort_unstable();
        let is_hidden = |(_, ordinal): (u64, u32)| passed.binary_search(&ordinal).is_err();
        for hit in related.hits.iter_mut().filter(|hit| hit.via.is_some_and(is_hidden)) {
            (hit.from, hit.via, hit.through) = (0, None, 0);
        }
        Ok(related)
    }

    /// The names behind ids that `related` or `neighbourhood` gave, as they were first written; `None` for others.
    pub fn name_texts(&self, ids: &[u32]) -> Vec<Option<String>> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        ids.iter().map(|id| names.surface(*id).map(str::to_owned)).collect()
    }

    /// The names of an admissible memory and the admissible memories that share some, at most `limit` of each; nothing
    /// for a memory that is not there, or not admissible.
    pub fn neighbourhood(&self, memory_key: u64, within: &Admissible, limit: usize) -> Result<Neighbourhood> {
        check_limit(limit)?;
        let set = self.candidates.confine(within)?;
        let Some(ordinal) = self.candidates.known_ordinals(&[memory_key])[0] else {
            return Ok(Neighbourhood::default());
        };
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = neighbours::neighbourhood(&mut Scope::new(&names, &set), ordinal, limit);
        drop(names);
        self.candidates.retain_admitted(within, &mut found.neighbours, |neighbour| neighbour.ordinal);
        let mut whose = vec![ordinal];
        self.candidates.retain_admitted(within, &mut whose, |ordinal| *ordinal);
        Ok(if whose.is_empty() { Neighbourhood::default() } else { found })
    }

    /// The stored passages of the given chunks.
    pub fn passages(&self, chunk_keys: &[u64]) -> Result<Vec<Option<StoredPassage>>> {
        self.text.passages(chunk_keys)
    }

    /// The memory keys behind ordinals of hits.
    pub fn memory_keys(&self, ordinals: impl IntoIterator<Item = u32>) -> Vec<u64> {
        self.candidates.memory_keys(ordinals)
    }

    /// Compares the chunks that should be there with those that are. Ascending keys.
    pub fn reconcile(&self, expected: &[u64]) -> Differences {
        let expected: FxHashSet<u64> = expected.iter().copied().collect();
        let (vectors, postings) = (self.vectors.chunks(), self.text.chunks());
        let surplus = vectors.iter().chain(&postings).filter(|(key, _)| !expected.contains(key));
        let surplus: BTreeSet<u64> =
            self.candidates.memory_keys(surplus.map(|(_, ordinal)| *ordinal)).into_iter().collect();
        let vectors: FxHashSet<u64> = vectors.into_iter().map(|(key, _)| key).collect();
        let postings: FxHashSet<u64> = postings.into_iter().map(|(key, _)| key).collect();
        Differences {
            missing_vectors: without(&expected, &vectors),
            missing_postings: without(&expected, &postings),
            extra_vectors: without(&vectors, &expected),
            extra_postings: without(&postings, &expected),
            surplus_memories: surplus.into_iter().collect(),
        }
    }

    /// Figures as of now.
    pub fn stats(&self) -> ProjectStats {
        let (memories, visible) = self.candidates.counts();
        let vectors = self.vectors.stats();
        ProjectStats {
            memories,
            visible,
            chunks: vectors.chunks,
            dead_chunks: vectors.dead_chunks,
            log_bytes: vectors.log_bytes,
            text_bytes: self.text.bytes(),
            hnsw_chunks: vectors.hnsw_chunks,
            is_hnsw_ready: vectors.is_hnsw_ready,
        }
    }

    /// Rewrites the vector log if a quarter of it is dead or a record damaged; whether it did.
    pub fn compact_if_needed(&self) -> Result<bool> {
        self.vectors.compact_if_needed()
    }

    /// Ends its threads and lets go of its files. Searches that are under way finish; nothing is to be called after.
    pub fn close(&self) {
        self.vectors.close();
        self.text.close();
    }

    /// The record of names of each chunk; the title counts for the first chunk of its memory.
    fn records(
        &self,
        memory_keys: &[u64],
        names: &[MemoryNames<'_>],
        chunks: &[TextChunk<'_>],
    ) -> Result<Vec<Vec<u8>>> {
        if names.len() != memory_keys.len() {
            return Err(Error::invalid("memory keys and their names differ in number"));
        }
        let known = memory_keys.iter().zip(names);
        let mut known: FxHashMap<u64, (Option<&str>, Phrases)> =
            known.map(|(key, names)| (*key, (names.title, self.finder.phrases(names.phrases)))).collect();
        let record = |chunk: &TextChunk<'_>| match known.get_mut(&chunk.memory_key) {
            Some((title, phrases)) => self.finder.record(chunk.passage, title.take(), phrases),
            None => Vec::new(),
        };
        Ok(chunks.iter().map(record).collect())
    }

    fn replace_names(&self, memory_keys: &[u64], chunks: &[TextChunk<'_>]) -> Result<()> {
        let ordinals = self.candidates.ordinals(memory_keys.iter().copied());
        let of_chunks = self.candidates.ordinals(chunks.iter().map(|chunk| chunk.memory_key));
        // In slices, so that a search waits for one of them only. Nothing of these memories is shown meanwhile.
        for slice in ordinals.chunks(NAMES_SLICE) {
            let mut graph = self.names.write().unwrap_or_else(PoisonError::into_inner);
            slice.iter().for_each(|ordinal| graph.remove_memory(*ordinal));
        }
        for (slice, of_slice) in chunks.chunks(NAMES_SLICE).zip(of_chunks.chunks(NAMES_SLICE)) {
            let mut graph = self.names.write().unwrap_or_else(PoisonError::into_inner);
            slice
                .iter()
                .zip(of_slice)
                .try_for_each(|(chunk, ordinal)| graph.add(chunk.chunk_key, *ordinal, chunk.names))?;
        }
        Ok(())
    }

    fn checked<'data>(
        &self,
        memory_keys: &[u64],
        chunks: &[TextChunk<'data>],
        vectors: &'data [f32],
    ) -> Result<Vec<VectorChunk<'data>>> {
        if chunks.len() > CHUNKS_PER_PUBLISH_MAX {
            return Err(Error::invalid(format!(
                "{} chunks at once; {CHUNKS_PER_PUBLISH_MAX} are possible",
                chunks.len()
            )));
        }
        if vectors.len() != chunks.len() * self.dimensions {
            return Err(Error::invalid(format!(
                "{} vector components for {} chunks of {} dimensions",
                vectors.len(),
                chunks.len(),
                self.dimensions
            )));
        }
        memory_keys.iter().try_for_each(|key| check_key("memory key", *key))?;
        let memories: FxHashSet<u64> = memory_keys.iter().copied().collect();
        if memories.len() != memory_keys.len() {
            return Err(Error::invalid("a memory key is given twice"));
        }
        let mut seen = FxHashSet::default();
        let pairs = chunks.iter().zip(vectors.chunks_exact(self.dimensions));
        let checked = pairs.map(|(chunk, vector)| {
            check_key("chunk key", chunk.chunk_key)?;
            if !seen.insert(chunk.chunk_key) {
                return Err(Error::invalid(format!("chunk key {} is given twice", chunk.chunk_key)));
            }
            if !memories.contains(&chunk.memory_key) {
                return Err(Error::invalid(format!(
                    "chunk {} is of memory {}, which is not among those published",
                    chunk.chunk_key, chunk.memory_key
                )));
            }
            self.vectors.check(vector)?;
            Ok(VectorChunk { chunk_key: chunk.chunk_key, memory_key: chunk.memory_key, vector })
        });
        checked.collect()
    }
}

fn described(text: &str) -> Result<Json> {
    let attributes = Json::parse(text)?;
    if attributes.is_object(0) { Ok(attributes) } else { Err(Error::invalid("attributes that are no object")) }
}

fn check_limit(limit: usize) -> Result<()> {
    match limit {
        1..=HITS_MAX => Ok(()),
        _ => Err(Error::invalid(format!("a limit of {limit} hits; 1 to {HITS_MAX} are possible"))),
    }
}

fn without(these: &FxHashSet<u64>, those: &FxHashSet<u64>) -> Vec<u64> {
    let mut difference: Vec<u64> = these.difference(those).copied().collect();
    difference.sort_unstable();
    difference
}
