//! Graph search: spreads mass from the query's entities and the seeds to passages, in at most two hops. This is like
//! personalised PageRank by local push: a push divides the mass of an entity among its passages, or the mass of a
//! passage among its entities, in proportion to the link weights.
//!
//! ```text
//! mass  = 0.1 seeds + 0.16 EP query + 0.1 EP PE seeds + 0.6 EP PE EP query
//! score = certainty × clamp(1 + log10(mass / greatest mass) / 2.5, 0, 1)
//! ```
//!
//! `query` is the mass of the query's entities (`query_entities`). `seeds` is the mass of the seeds, the best passages
//! of other search legs (`seed_masses`). `EP` pushes mass from entities to passages, `PE` from passages to entities.
//! The constants were measured on judged question sets (`docs/measurements.md`, "Walk"; formulas in
//! `docs/glossary.md`).
//!
//! An entity is active if it is the title of a passage, or at least two passages declare it
//! (`entities::admissible_graph`). If the caller wants it, the walk also begins at names in the query that only one
//! passage contains.

use rustc_hash::FxHashMap;

use crate::entities::admissible_graph::AdmissibleGraph;
use crate::entities::graph::{EntityGraph, EntityId, Slot};
use crate::entities::mentions::QueryNgram;
use crate::entities::query_entities::{QueryEntity, find_query_entities, query_entities};
use crate::error::{Error, Result};

/// Maximum number of seeds. The walk begins at the query's entities and at these passages.
pub const SEEDS_MAX: usize = 10;

/// Total mass of the seeds.
const SEED_MASS: f64 = 0.2;
/// Weight of mass that stays at a seed.
const SEED_WEIGHT: f64 = 0.1;
/// Weight of mass that arrives at a passage directly from a query entity.
const ENTITY_WEIGHT: f64 = 0.16;
/// Weight of mass that goes from a seed via an entity to a passage.
const SEED_HOP_WEIGHT: f64 = 0.1;
/// Weight of mass that goes from a query entity via a passage and another entity to a second passage.
const ENTITY_HOP_WEIGHT: f64 = 0.6;
/// Added to the link weight of a passage's title entity when mass goes from the passage to its entities.
const PASSAGE_TO_ENTITY_TITLE_BONUS: f64 = 1.0;
/// Added to the link weight of a passage whose title is the entity when mass goes from the entity to its passages.
const ENTITY_TO_PASSAGE_TITLE_BONUS: f64 = 10.0;
/// Range of the score in powers of ten: a passage with 10^2.5 times less mass than the best one has score 0.
const SCORE_DECADES: f64 = 2.5;
/// Limit of the edges that each of the three pushes follows. The heaviest sources come first. The source at which the
/// limit is reached is still pushed completely. On 2WikiMultihop among 132,000 other passages, limits of 500, 1,000,
/// 2,000 and 5,000 found the same (R@5 0.968), and a query took 1.3, 2.7, 4.6 and 6.8 ms on a busy machine.
const EDGES_MAX: usize = 500;
/// A source is not pushed if its mass is less than this share of the greatest source's mass.
const MASS_SHARE_MIN: f64 = 1e-4;

/// A passage at which the walk begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seed {
    pub chunk_key: u64,
    /// Score of the passage, on any scale that all seeds share.
    pub score: f32,
}

/// Where a walk begins, besides the query's entities, and how many hits it returns.
#[derive(Debug, Clone, Copy)]
pub struct WalkOptions<'seeds> {
    /// At most `SEEDS_MAX`.
    pub seeds: &'seeds [Seed],
    pub limit: usize,
    /// Whether the walk also begins at names in the query that only one passage contains.
    pub uses_single_names: bool,
    /// Minimum graph certainty. Below it there is no walk: hits and certainty are those of a query without entities.
    pub certainty_min: f64,
}

/// Result of a graph search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphHits {
    /// Sorted by score, best first.
    pub hits: Vec<GraphHit>,
    /// Graph certainty in 0..1: how sure the graph is that the query names an entity, and that it is a rare one.
    pub certainty: f32,
}

/// A passage that the walk reached, and the strongest single path to it: query entity (`from`) → another passage
/// (`via`) → an entity that links both passages (`through`). A path from a seed has no `from`. A direct path from a
/// query entity has only `from`, and a seed itself may have none of the three. Paths that visit the passage itself on
/// the way are ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphHit {
    pub chunk_key: u64,
    /// Ordinal of its memory.
    pub ordinal: u32,
    /// Graph score, above 0 and at most 1.
    pub score: f32,
    /// The query entity at which the path begins; 0 if the path begins at a seed.
    pub from: EntityId,
    /// The intermediate passage, as (chunk key, ordinal of its memory).
    pub via: Option<(u64, u32)>,
    /// The entity that links `via` to this passage; 0 if there is no `via`.
    pub through: EntityId,
}

/// Mass at a passage, and the largest part of this mass that came from a single source: the query entity `from`, or
/// the seed itself (`from` is 0).
#[derive(Default, Clone, Copy)]
struct PassageMass {
    mass: f64,
    strongest: f64,
    from: EntityId,
}

/// Mass at an entity, and the two strongest paths to the entity, which use different passages. Two are kept because a
/// passage must not be reached by a path via itself.
#[derive(Default, Clone, Copy)]
struct EntityMass {
    mass: f64,
    paths: [Path; 2],
}

/// A path from a query entity (`from`, 0 for a seed) via a passage to an entity. `strength` is the mass on this path.
#[derive(Default, Clone, Copy)]
struct Path {
    strength: f64,
    from: EntityId,
    via: Slot,
}

/// The passages reached so far, each with its mass and its hit. `score` of a hit is the strength of its path;
/// `score_hits` replaces it by the graph score.
type Reached = FxHashMap<Slot, (f64, GraphHit)>;

/// Graph search that begins at the entities among a query's n-grams and at the seeds. `occurrences(word, limit)` counts
/// the admissible passages that contain a word in any inflection or case; it may stop at `limit`. Fails with
/// `Invalid` if there are too many seeds or a seed's score is not finite.
pub(crate) fn search(
    admissible: &mut AdmissibleGraph<'_>,
    ngrams: &[QueryNgram],
    options: &WalkOptions<'_>,
    occurrences: impl FnMut(&str, usize) -> Result<usize>,
) -> Result<GraphHits> {
    search_within(EDGES_MAX, admissible, ngrams, options, occurrences)
}

/// Like `search`, but each push follows `edges_max` edges instead of `EDGES_MAX`.
fn search_within(
    edges_max: usize,
    admissible: &mut AdmissibleGraph<'_>,
    ngrams: &[QueryNgram],
    &WalkOptions { seeds, limit, uses_single_names, certainty_min }: &WalkOptions<'_>,
    mut occurrences: impl FnMut(&str, usize) -> Result<usize>,
) -> Result<GraphHits> {
    if seeds.len() > SEEDS_MAX || seeds.iter().any(|seed| !seed.score.is_finite()) {
        return Err(Error::invalid(format!("seeds are at most {SEEDS_MAX} passages with finite scores")));
    }
    let found = find_query_entities(admissible, ngrams, uses_single_names);
    // Compares the `f32` that the caller gets, so that a caller's minimum means the returned number.
    let is_unsure = |certainty: f64| certainty <= 0.0 || f64::from(certainty as f32) < certainty_min;
    if found.iter().all(|entity| is_unsure(entity.certainty_bound())) {
        return Ok(GraphHits::default());
    }
    let (query, certainty) = query_entities(admissible, found, &mut occurrences)?;
    if is_unsure(certainty) {
        return Ok(GraphHits::default());
    }
    let seed_masses = seed_masses(admissible, seeds);
    let first_hop = push_query_entities(admissible, &query, edges_max);
    let entities = push_passages(admissible, &seed_masses, &first_hop, edges_max);
    let mut reached = Reached::default();
    push_entities(admissible, &entities, edges_max, &mut reached);
    let graph = admissible.graph();
    for (slot, mass) in &seed_masses {
        add_mass(&mut reached, graph, *slot, SEED_WEIGHT * mass, SEED_WEIGHT * mass, |_| ());
    }
    for (slot, passage) in &first_hop {
        let (mass, strongest) = (ENTITY_WEIGHT * passage.mass, ENTITY_WEIGHT * passage.strongest);
        add_mass(&mut reached, graph, *slot, mass, strongest, |hit| hit.from = passage.from);
    }
    Ok(GraphHits { hits: score_hits(reached, certainty, limit), certainty: certainty as f32 })
}

/// Returns the admissible seeds with their masses, sorted by chunk key. The masses sum to `SEED_MASS` and are
/// proportional to the score scaled to 0..1 (minimum to maximum) plus 0.05.
fn seed_masses(admissible: &AdmissibleGraph<'_>, seeds: &[Seed]) -> Vec<(Slot, f64)> {
    let graph = admissible.graph();
    let found = seeds.iter().filter_map(|seed| Some((graph.slot_of(seed.chunk_key)?, f64::from(seed.score))));
    let mut found: Vec<(Slot, f64)> = found.filter(|(slot, _)| admissible.admits(*slot)).collect();
    found.sort_by(|a, b| {
        (graph.chunk(a.0).chunk_key, b.1).partial_cmp(&(graph.chunk(b.0).chunk_key, a.1)).expect("finite")
    });
    found.dedup_by_key(|(slot, _)| *slot);
    let least = found.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let span = found.iter().map(|(_, score)| score - least).fold(0.0, f64::max);
    found.iter_mut().for_each(|(_, score)| *score = if span > 0.0 { (*score - least) / span } else { 0.0 } + 0.05);
    let sum: f64 = found.iter().map(|(_, mass)| mass).sum();
    found.iter_mut().for_each(|(_, mass)| *mass *= SEED_MASS / sum);
    found
}

/// First push, `EP query`: divides the mass of each query entity among its passages.
fn push_query_entities(
    admissible: &mut AdmissibleGraph<'_>,
    query: &[QueryEntity],
    edges_max: usize,
) -> FxHashMap<Slot, PassageMass> {
    let mut passages: FxHashMap<Slot, PassageMass> = FxHashMap::default();
    let mut edges = 0;
    for source in query {
        let mut linked = admissible.passages_of(source.entity, ENTITY_TO_PASSAGE_TITLE_BONUS);
        if linked.is_empty() {
            // A name that a single passage contains links no passages, so the walk begins at that passage.
            let graph = admissible.graph();
            let slots = graph.postings(source.entity).map(|posting| posting.slot());
            linked = slots.filter(|slot| admissible.admits(*slot)).map(|slot| (slot, 1.0)).collect();
        }
        let sum: f64 = linked.iter().map(|(_, weight)| weight).sum();
        edges += linked.len();
        for (slot, weight) in linked {
            let mass = source.mass * weight / sum;
            let passage = passages.entry(slot).or_default();
            passage.mass += mass;
            if mass > passage.strongest {
                (passage.strongest, passage.from) = (mass, source.entity);
            }
        }
        if edges >= edges_max {
            break;
        }
    }
    passages
}

/// Second push, `0.1 PE seeds + 0.6 PE EP query`: divides the mass of the seeds and of the passages of the first push
/// among their entities. Returns these entities, heaviest first.
fn push_passages(
    admissible: &mut AdmissibleGraph<'_>,
    seed_masses: &[(Slot, f64)],
    first_hop: &FxHashMap<Slot, PassageMass>,
    edges_max: usize,
) -> Vec<(EntityId, EntityMass)> {
    let graph = admissible.graph();
    let sources = weighted_sources(graph, seed_masses, first_hop);
    let least = sources.first().map_or(0.0, |(_, source)| source.mass * MASS_SHARE_MIN);
    let mut entities: FxHashMap<EntityId, EntityMass> = FxHashMap::default();
    let mut edges = 0;
    for (slot, source) in sources.iter().take_while(|(_, source)| source.mass >= least) {
        let links = admissible.links(*slot);
        edges += links.len();
        let weighted = |admissible: &mut AdmissibleGraph<'_>, number: usize| {
            let link = admissible.link(number);
            let stats = admissible.stats(link.entity);
            (link.entity, link.weight(PASSAGE_TO_ENTITY_TITLE_BONUS) * admissible.idf(stats))
        };
        let sum: f64 = links.clone().map(|number| weighted(admissible, number).1).sum();
        for number in links {
            let (entity, weight) = weighted(admissible, number);
            let target = entities.entry(entity).or_default();
            target.mass += source.mass * weight / sum;
            target.offer(Path { strength: source.strongest * weight / sum, from: source.from, via: *slot });
        }
        if edges >= edges_max {
            break;
        }
    }
    let mut entities: Vec<(EntityId, EntityMass)> = entities.into_iter().collect();
    entities.sort_by(|(entity, mass), (other_entity, other)| {
        other.mass.total_cmp(&mass.mass).then_with(|| graph.hash(*entity).cmp(&graph.hash(*other_entity)))
    });
    entities
}

/// The sources of the second push: the passages of the first push and the seeds, with their weighted masses, heaviest
/// first.
fn weighted_sources(
    graph: &EntityGraph,
    seed_masses: &[(Slot, f64)],
    first_hop: &FxHashMap<Slot, PassageMass>,
) -> Vec<(Slot, PassageMass)> {
    let mut sources: FxHashMap<Slot, PassageMass> = FxHashMap::default();
    for (slot, passage) in first_hop {
        let PassageMass { mass, strongest, from } = *passage;
        let weighted = PassageMass { mass: ENTITY_HOP_WEIGHT * mass, strongest: ENTITY_HOP_WEIGHT * strongest, from };
        sources.insert(*slot, weighted);
    }
    for (slot, mass) in seed_masses {
        let source = sources.entry(*slot).or_default();
        source.mass += SEED_HOP_WEIGHT * mass;
        if SEED_HOP_WEIGHT * mass > source.strongest {
            (source.strongest, source.from) = (SEED_HOP_WEIGHT * mass, 0);
        }
    }
    let mut sources: Vec<(Slot, PassageMass)> = sources.into_iter().collect();
    sources.sort_by(|(slot, passage), (other_slot, other)| {
        other
            .mass
            .total_cmp(&passage.mass)
            .then_with(|| graph.chunk(*slot).chunk_key.cmp(&graph.chunk(*other_slot).chunk_key))
    });
    sources
}

impl EntityMass {
    /// Keeps a path if it is one of the two strongest. Each passage offers only one path, so the two kept paths always
    /// use different passages.
    fn offer(&mut self, path: Path) {
        if path.strength > self.paths[0].strength {
            self.paths = [path, self.paths[0]];
        } else if path.strength > self.paths[1].strength {
            self.paths[1] = path;
        }
    }
}

/// Third push, `EP` applied to the result of the second push: divides the mass of each entity among its passages.
fn push_entities(
    admissible: &mut AdmissibleGraph<'_>,
    entities: &[(EntityId, EntityMass)],
    edges_max: usize,
    reached: &mut Reached,
) {
    let least = entities.first().map_or(0.0, |(_, source)| source.mass * MASS_SHARE_MIN);
    let graph = admissible.graph();
    let mut edges = 0;
    for (entity, source) in entities.iter().take_while(|(_, source)| source.mass >= least) {
        let linked = admissible.passages_of(*entity, ENTITY_TO_PASSAGE_TITLE_BONUS);
        let sum: f64 = linked.iter().map(|(_, weight)| weight).sum();
        edges += linked.len();
        for (slot, weight) in linked {
            let share = weight / sum;
            let path = source.paths.iter().find(|path| path.via != slot).copied().unwrap_or_default();
            add_mass(reached, graph, slot, source.mass * share, path.strength * share, |hit| {
                hit.from = path.from;
                hit.through = *entity;
                let via = graph.chunk(path.via);
                hit.via = Some((via.chunk_key, via.ordinal));
            });
        }
        if edges >= edges_max {
            break;
        }
    }
}

/// Adds mass to a passage. If the path that brings this mass is the strongest so far, `set_path` writes the path into
/// the hit.
fn add_mass(
    reached: &mut Reached,
    graph: &EntityGraph,
    slot: Slot,
    mass: f64,
    strength: f64,
    set_path: impl FnOnce(&mut GraphHit),
) {
    let chunk = graph.chunk(slot);
    let (chunk_key, ordinal) = (chunk.chunk_key, chunk.ordinal);
    let without_path = GraphHit { chunk_key, ordinal, score: 0.0, from: 0, via: None, through: 0 };
    let (sum, hit) = reached.entry(slot).or_insert((0.0, without_path));
    *sum += mass;
    if strength as f32 > hit.score {
        *hit = GraphHit { score: strength as f32, ..without_path };
        set_path(hit);
    }
}

/// Returns the best hits with their graph scores: certainty × clamp(1 + log10(mass / greatest mass) / 2.5, 0, 1).
fn score_hits(reached: Reached, certainty: f64, limit: usize) -> Vec<GraphHit> {
    let greatest = reached.values().map(|(mass, _)| *mass).fold(0.0, f64::max);
    let score = |mass: f64| certainty * (1.0 + (mass / greatest).log10() / SCORE_DECADES).clamp(0.0, 1.0);
    let scored = reached.into_values().map(|(mass, hit)| (mass, GraphHit { score: score(mass) as f32, ..hit }));
    let mut hits: Vec<(f64, GraphHit)> = scored.filter(|(_, hit)| hit.score > 0.0).collect();
    hits.sort_unstable_by(|(mass, hit), (other_mass, other)| {
        other_mass.total_cmp(mass).then(hit.chunk_key.cmp(&other.chunk_key))
    });
    hits.truncate(limit);
    hits.into_iter().map(|(_, hit)| hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::mentions::{MentionExtractor, PhraseSet};
    use crate::entities::record::{DATE, DECLARED, Mention, PROPER_NOUN, RecordReader, TITLE};
    use crate::entities::words::is_caseless;
    use crate::filters::memory_set::MemorySet;
    use mneme_testing::Chance;
    use std::collections::{BTreeMap, BTreeSet};

    /// A live chunk, for the reference implementation.
    struct Passage {
        ordinal: u32,
        record: Vec<u8>,
    }

    type Live = BTreeMap<u64, Passage>;

    /// Like `entities::record::Mention`, but without the surface form.
    struct NaiveMention {
        is_title: bool,
        first: u16,
        length: u8,
        marks: u8,
        hash: u64,
    }

    fn mentions(record: &[u8]) -> Vec<NaiveMention> {
        let mut found = Vec::new();
        let collect = |mention: Mention<'_>| {
            let Mention { hash, first, length, marks, .. } = mention;
            found.push(NaiveMention { is_title: marks & TITLE != 0, first, length, marks, hash });
        };
        RecordReader::default().each_mention(record, collect).expect("a record");
        found
    }

    /// Reference implementation: computes the graph directly from its definition. An entity is represented by its hash.
    struct Naive {
        passages: f64,
        df: BTreeMap<u64, usize>,
        titles: BTreeSet<u64>,
        active: BTreeSet<u64>,
        /// For each chunk key, a map from linked entity to (term frequency, whether the entity is the title).
        links: BTreeMap<u64, BTreeMap<u64, (u32, bool)>>,
    }

    impl Naive {
        fn new(live: &Live, set: &MemorySet) -> Naive {
            let admitted: BTreeMap<u64, Vec<_>> = live
                .iter()
                .filter(|(_, passage)| set.contains(passage.ordinal))
                .map(|(key, passage)| (*key, mentions(&passage.record)))
                .collect();
            let passages = admitted.len() as f64;
            let count = |test: &dyn Fn(&NaiveMention) -> bool| {
                let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
                for mentions in admitted.values() {
                    let entities: BTreeSet<u64> = mentions.iter().filter(|m| test(m)).map(|m| m.hash).collect();
                    entities.into_iter().for_each(|entity| *counts.entry(entity).or_default() += 1);
                }
                counts
            };
            let df = count(&|_| true);
            let titles: BTreeSet<u64> = count(&|m| m.is_title).into_keys().collect();
            let declared = count(&|m| m.marks & DECLARED != 0);
            let twice = declared.into_iter().filter(|(_, count)| *count >= 2).map(|(entity, _)| entity);
            let active: BTreeSet<u64> = titles.iter().copied().chain(twice).collect();
            let df_max = (0.005 * passages).clamp(10.0, 100.0) as usize;
            let mut links = BTreeMap::new();
            for (key, mentions) in &admitted {
                let mut links_of_chunk: BTreeMap<u64, (u32, bool)> = BTreeMap::new();
                let is_linked = |entity: &u64| df[entity] <= df_max;
                for entity in mentions.iter().filter(|m| m.is_title).map(|m| m.hash).collect::<BTreeSet<_>>() {
                    if is_linked(&entity) {
                        links_of_chunk.insert(entity, (1, true));
                    }
                }
                let mut at = 0;
                while at < 5_000 {
                    let here = mentions.iter().filter(|m| !m.is_title && m.first == at && active.contains(&m.hash));
                    let Some(longest) = here.max_by_key(|m| (m.length, m.marks & DATE)) else {
                        at += 1;
                        continue;
                    };
                    if is_linked(&longest.hash) {
                        links_of_chunk.entry(longest.hash).or_default().0 += 1;
                    }
                    at += u16::from(longest.length);
                }
                links.insert(*key, links_of_chunk);
            }
            Naive { passages, df, titles, active, links }
        }

        fn idf(&self, entity: u64) -> f64 {
            ((self.passages + 1.0) / (self.df[&entity] as f64 + 0.5)).ln()
        }

        /// Row of the matrix EP: the share of an entity's mass that each passage gets.
        fn passage_shares(&self, entity: u64) -> BTreeMap<u64, f64> {
            let weight =
                |(tf, is_title): &(u32, bool)| 1.0 + 0.5 * f64::from(*tf).ln() + if *is_title { 10.0 } else { 0.0 };
            let linked = self.links.iter().filter_map(|(key, links)| Some((*key, weight(links.get(&entity)?))));
            normalised(linked.collect())
        }

        /// Row of the matrix PE: the share of a passage's mass that each entity gets.
        fn entity_shares(&self, key: u64) -> BTreeMap<u64, f64> {
            let weight = |(tf, is_title): (u32, bool)| 1.0 + 0.5 * f64::from(tf).ln() + f64::from(u8::from(is_title));
            let links = self.links.get(&key).into_iter().flatten();
            normalised(links.map(|(entity, link)| (*entity, weight(*link) * self.idf(*entity))).collect())
        }

        /// Returns the masses of the query's entities, and the graph certainty.
        fn query_entities(&self, ngrams: &[QueryNgram], occurrences: usize, live: &Live) -> (BTreeMap<u64, f64>, f64) {
            let (mut weights, mut certainty, mut at) = (BTreeMap::new(), 0f64, 0);
            let last = ngrams.iter().map(|ngram| ngram.first).max().unwrap_or_default();
            while at <= last {
                let here = ngrams.iter().filter(|ngram| ngram.first == at && self.active.contains(&ngram.hash));
                // The longest n-gram wins. Of two n-grams of equal length the first wins: `query_ngrams` lists a date
                // before the plain n-gram of the same words.
                let Some(ngram) = here.min_by_key(|ngram| std::cmp::Reverse(ngram.length)) else {
                    at += 1;
                    continue;
                };
                at += ngram.length;
                let df = self.df[&ngram.hash];
                if df > (0.005 * self.passages).clamp(10.0, 100.0) as usize {
                    continue;
                }
                let is_capitalised = |m: &NaiveMention| m.hash == ngram.hash && m.marks & (PROPER_NOUN | TITLE) != 0;
                let admitted = self.links.keys().map(|key| mentions(&live[key].record));
                let capitalised = admitted.filter(|mentions| mentions.iter().any(is_capitalised)).count() as f64;
                let is_single = ngram.length == 1 && !ngram.surface.chars().any(is_caseless);
                let probability =
                    if is_single { ((capitalised + 1.0) / (occurrences.max(df) as f64 + 1.0)).min(1.0) } else { 1.0 };
                let is_title = self.titles.contains(&ngram.hash);
                let idf = self.idf(ngram.hash);
                certainty = certainty.max(if is_title { 1.0 } else { 0.2 } * (idf / 6.0).min(1.0) * probability);
                weights.insert(ngram.hash, idf * if is_title { 1.0 } else { 0.7 } * probability);
            }
            let mut weights = normalised(weights);
            weights.values_mut().for_each(|weight| *weight *= 0.8);
            (weights, certainty)
        }

        fn seed_masses(&self, seeds: &[Seed]) -> BTreeMap<u64, f64> {
            let known: BTreeMap<u64, f64> = seeds
                .iter()
                .filter(|seed| self.links.contains_key(&seed.chunk_key))
                .map(|seed| (seed.chunk_key, f64::from(seed.score)))
                .collect();
            let least = known.values().copied().fold(f64::INFINITY, f64::min);
            let most = known.values().copied().fold(f64::NEG_INFINITY, f64::max);
            let scaled = |score: f64| if most > least { (score - least) / (most - least) } else { 0.0 } + 0.05;
            let mut masses = normalised(known.iter().map(|(key, score)| (*key, scaled(*score))).collect());
            masses.values_mut().for_each(|mass| *mass *= 0.2);
            masses
        }
    }

    fn normalised(mut row: BTreeMap<u64, f64>) -> BTreeMap<u64, f64> {
        let sum: f64 = row.values().sum();
        row.values_mut().for_each(|weight| *weight /= sum);
        row
    }

    /// For each passage, the paths that lead to it, as (from, via, through) with 0 for none, and the mass on each path.
    type Paths = BTreeMap<u64, BTreeMap<(u64, u64, u64), f64>>;

    /// Returns all paths of the walk.
    fn naive_paths(naive: &Naive, query: &BTreeMap<u64, f64>, seeds: &BTreeMap<u64, f64>) -> Paths {
        let mut paths = Paths::new();
        let mut add = |to: u64, path, mass: f64| *paths.entry(to).or_default().entry(path).or_default() += mass;
        for (key, mass) in seeds {
            add(*key, (0, 0, 0), 0.1 * mass);
            for (entity, share) in naive.entity_shares(*key) {
                for (to, part) in naive.passage_shares(entity) {
                    add(to, (0, *key, entity), 0.1 * mass * share * part);
                }
            }
        }
        for (from, mass) in query {
            for (via, first) in naive.passage_shares(*from) {
                add(via, (*from, 0, 0), 0.16 * mass * first);
                for (entity, share) in naive.entity_shares(via) {
                    for (to, part) in naive.passage_shares(entity) {
                        add(to, (*from, via, entity), 0.6 * mass * first * share * part);
                    }
                }
            }
        }
        paths
    }

    const PIECES: &[&str] = &[
        "Ada Lovelace",
        "Ada",
        "Lovelace",
        "the Bank of England",
        "England",
        "Bank",
        "London",
        "in London",
        "and Paris",
        "Charles Babbage",
        "Babbage",
        "Babbage and Ada Lovelace",
        "8 May 2023",
        "2023-05-08",
        "\"Hey Jude\"",
        "Hey Jude",
        "ABC-123",
        "machine learning",
        "it rained",
        ".",
        ". The",
        ",",
        "北京大学在中国",
        "東京タワー",
        "Paris",
        "I",
    ];

    /// Returns a text of 1 to `pieces_max` random pieces.
    fn text(chance: &mut Chance, pieces_max: usize) -> String {
        let pieces: Vec<&str> = (0..1 + chance.below(pieces_max))
            .map(|_| PIECES[chance.below(PIECES.len()) * (1 + chance.below(PIECES.len())) / PIECES.len()])
            .collect();
        pieces.join(" ")
    }

    /// A graph that is changed at random, and the live chunks that it should contain.
    #[derive(Default)]
    struct History {
        extractor: MentionExtractor,
        graph: EntityGraph,
        live: Live,
        chunks_added: u64,
    }

    impl History {
        /// Replaces a random memory by 0 to 3 chunks.
        fn change(&mut self, chance: &mut Chance) {
            let ordinal = chance.below(90) as u32;
            self.graph.remove_memory(ordinal);
            self.live.retain(|_, passage| passage.ordinal != ordinal);
            for at in 0..chance.below(5).saturating_sub(1) {
                let phrases = if chance.below(3) == 0 { vec!["machine learning".to_owned()] } else { Vec::new() };
                let title = (at == 0 && chance.below(2) == 0).then(|| text(chance, 2));
                let phrases = self.extractor.phrases(&phrases);
                let record = self.extractor.record(&text(chance, 12), title.as_deref(), &phrases);
                self.chunks_added += 1;
                self.graph.add(self.chunks_added, ordinal, &record).expect("added");
                self.live.insert(self.chunks_added, Passage { ordinal, record });
            }
        }

        /// Returns up to 5 random seeds, some of which may be removed chunks.
        fn seeds(&self, chance: &mut Chance) -> Vec<Seed> {
            let count = chance.below(6);
            let keys: BTreeSet<u64> =
                (0..count).map(|_| 1 + chance.below(self.chunks_added as usize + 1) as u64).collect();
            keys.iter().map(|key| Seed { chunk_key: *key, score: chance.below(100) as f32 / 50.0 }).collect()
        }
    }

    /// Returns a random admissible set.
    fn admissible(chance: &mut Chance) -> MemorySet {
        let (divisor, is_sparse) = (1 + chance.below(4) as u32, chance.below(3) == 0);
        (0..90u32).filter(|ordinal| divisor == 1 || (ordinal % divisor == 0) == is_sparse).collect()
    }

    fn assert_links(graph: &EntityGraph, admissible: &mut AdmissibleGraph<'_>, naive: &Naive) {
        for (key, expected) in &naive.links {
            let links = admissible.links(graph.slot_of(*key).expect("live"));
            let links: BTreeMap<u64, (u32, bool)> =
                links.map(|at| admissible.link(at)).map(|l| (graph.hash(l.entity), (l.tf, l.is_title))).collect();
            assert_eq!(links, *expected, "links of {key}");
        }
    }

    fn assert_hits(graph: &EntityGraph, found: &[GraphHit], paths: &Paths, certainty: f64) {
        let masses: BTreeMap<u64, f64> = paths.iter().map(|(key, paths)| (*key, paths.values().sum())).collect();
        let greatest = masses.values().copied().fold(0.0, f64::max);
        let score = |key: &u64| certainty * (1.0 + (masses[key] / greatest).log10() / 2.5).clamp(0.0, 1.0);
        let hits: BTreeMap<u64, &GraphHit> = found.iter().map(|hit| (hit.chunk_key, hit)).collect();
        // Sources below a ten-thousandth of the greatest mass are not pushed, so scores may differ by a little.
        for key in masses.keys() {
            let given = hits.get(key).map_or(0.0, |hit| f64::from(hit.score));
            assert!((given - score(key)).abs() < 2e-3, "{key}: {given}, expected {}", score(key));
        }
        assert!(hits.keys().all(|key| masses.contains_key(key)));
        assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for (key, hit) in hits {
            let via = hit.via.map_or(0, |(key, _)| key);
            let hash = |id| if id == 0 { 0 } else { graph.hash(id) };
            let reported = paths[&key][&(hash(hit.from), via, hash(hit.through))];
            let via_others = paths[&key].iter().filter(|((_, via, _), _)| *via != key);
            let strongest = via_others.map(|(_, mass)| *mass).fold(0.0, f64::max);
            assert!(via != key && reported >= strongest * 0.999_99, "{key}: {reported}, strongest {strongest}");
        }
    }

    /// After random changes and in random admissible sets, links, scores, certainty and paths agree with the reference
    /// implementation.
    #[test]
    fn links_scores_and_paths_match_the_definition_after_random_changes() {
        let mut chance = Chance::new();
        let mut history = History::default();
        let mut hits_in_total = 0;
        for _ in 0..250 {
            history.change(&mut chance);
            let History { extractor, graph, live, .. } = &history;
            let set = admissible(&mut chance);
            let naive = Naive::new(live, &set);
            let mut admissible = AdmissibleGraph::new(graph, &set);
            assert_links(graph, &mut admissible, &naive);

            let ngrams = extractor.query_ngrams(&text(&mut chance, 4));
            let seeds = history.seeds(&mut chance);
            let occurrences = chance.below(20);
            let options = WalkOptions { seeds: &seeds, limit: 2_000, uses_single_names: false, certainty_min: 0.0 };
            let found =
                search_within(usize::MAX, &mut admissible, &ngrams, &options, |_, _| Ok(occurrences)).expect("hits");
            let (query, certainty) = naive.query_entities(&ngrams, occurrences, live);
            assert!((f64::from(found.certainty) - certainty).abs() < 1e-6, "{} {certainty}", found.certainty);
            if certainty == 0.0 {
                assert!(found.hits.is_empty());
                continue;
            }
            let paths = naive_paths(&naive, &query, &naive.seed_masses(&seeds));
            assert_hits(graph, &found.hits, &paths, certainty);
            let mut found_from = |certainty_min| {
                let options = WalkOptions { certainty_min, ..options };
                search_within(usize::MAX, &mut admissible, &ngrams, &options, |_, _| Ok(occurrences)).expect("hits")
            };
            assert_eq!(found_from(f64::from(found.certainty)), found);
            assert_eq!(found_from(f64::from(found.certainty.next_up())), GraphHits::default());
            hits_in_total += found.hits.len();
        }
        assert!(hits_in_total > 500, "enough hits for a meaningful test: {hits_in_total}");
    }

    #[test]
    fn hits_do_not_depend_on_the_order_of_publishing() {
        let (mut chance, mut corpus) = (Chance::new(), Chance::seeded(1));
        let extractor = MentionExtractor::default();
        let records: Vec<Vec<u8>> = (0..80)
            .map(|_| {
                let title = text(&mut corpus, 2);
                extractor.record(&text(&mut corpus, 3), Some(&title), &PhraseSet::default())
            })
            .collect();
        let mut set = MemorySet::default();
        (0..80).for_each(|ordinal| set.insert(ordinal));
        let answer = |order: &[usize]| {
            let mut graph = EntityGraph::default();
            order.iter().for_each(|at| graph.add(*at as u64 + 1, *at as u32, &records[*at]).expect("added"));
            let ngrams = extractor.query_ngrams("Ada Lovelace in London with Babbage on 8 May 2023");
            let seeds = [Seed { chunk_key: 3, score: 1.0 }, Seed { chunk_key: 9, score: 0.5 }];
            let options = WalkOptions { seeds: &seeds, limit: 50, uses_single_names: true, certainty_min: 0.0 };
            let found =
                search(&mut AdmissibleGraph::new(&graph, &set), &ngrams, &options, |_, _| Ok(0)).expect("walked");
            let hits = found.hits.iter().map(|hit| {
                let hash = |id| if id == 0 { 0 } else { graph.hash(id) };
                (hit.chunk_key, hit.score.to_bits(), hash(hit.from), hit.via, hash(hit.through))
            });
            hits.collect::<Vec<_>>()
        };
        let mut order: Vec<usize> = (0..80).collect();
        let expected = answer(&order);
        assert!(expected.len() > 5);
        for _ in 0..20 {
            (1..80).rev().for_each(|at| order.swap(at, chance.below(at + 1)));
            assert_eq!(answer(&order), expected);
        }
    }

    #[test]
    fn a_name_in_a_single_passage_leads_to_the_passages_beside_it_if_that_is_wanted() {
        let extractor = MentionExtractor::default();
        let texts = [
            "Zephyrine Okonkwo is the chief engineer at the Calder Vale Observatory.",
            "Spare mirrors of the Calder Vale Observatory rest under Brackwater Bridge.",
            "Tomas Lindqvist is the chief engineer at the Harrow Point Lighthouse.",
        ];
        let (mut graph, mut set) = (EntityGraph::default(), MemorySet::default());
        for (at, text) in texts.iter().enumerate() {
            let record = extractor.record(text, None, &PhraseSet::default());
            graph.add(at as u64 + 1, at as u32, &record).expect("added");
            set.insert(at as u32);
        }
        let found = |query: &str, uses_single_names: bool| {
            let options = WalkOptions { seeds: &[], limit: 10, uses_single_names, certainty_min: 0.0 };
            let ngrams = extractor.query_ngrams(query);
            search(&mut AdmissibleGraph::new(&graph, &set), &ngrams, &options, |_, _| Ok(1)).expect("walked")
        };
        assert_eq!(found("Zephyrine Okonkwo", false), GraphHits::default());
        for query in ["Zephyrine Okonkwo", "who is zephyrine okonkwo?"] {
            let found = found(query, true);
            assert!(found.certainty > 0.0);
            let reached: BTreeSet<u64> = found.hits.iter().map(|hit| hit.chunk_key).collect();
            assert_eq!(reached, BTreeSet::from([1, 2]));
            let mirrors = found.hits.iter().find(|hit| hit.chunk_key == 2).expect("reached");
            assert_eq!(mirrors.via, Some((1, 0)));
            assert_eq!(graph.surface(mirrors.from), Some("Zephyrine Okonkwo"));
            assert_eq!(graph.surface(mirrors.through), Some("Calder Vale Observatory"));
        }
        // a query that contains the words of a name, but not next to each other, does not name it
        assert_eq!(found("Okonkwo met Zephyrine", true), GraphHits::default());
    }

    #[test]
    fn too_many_seeds_and_scores_that_are_not_finite_are_refused() {
        let (graph, set) = (EntityGraph::default(), MemorySet::default());
        let refused = |seeds: &[Seed]| {
            let options = WalkOptions { seeds, limit: 10, uses_single_names: true, certainty_min: 0.0 };
            let error =
                search(&mut AdmissibleGraph::new(&graph, &set), &[], &options, |_, _| Ok(0)).expect_err("refused");
            assert_eq!(error.code(), "invalid");
        };
        refused(&[Seed { chunk_key: 1, score: 0.0 }; SEEDS_MAX + 1]);
        refused(&[Seed { chunk_key: 1, score: f32::NAN }]);
        refused(&[Seed { chunk_key: 1, score: f32::INFINITY }]);
    }
}
