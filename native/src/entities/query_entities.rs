//! The entities that a query names: finds them among its n-grams, and computes their masses and the graph certainty.
//! `walk` begins at them. The constants were measured on judged question sets (`docs/measurements.md`, "Walk").

use crate::entities::admissible_graph::{AdmissibleGraph, EntityStats};
use crate::entities::graph::{EntityId, Slot};
use crate::entities::mentions::QueryNgram;
use crate::entities::record::{CAPITALISED, PROPER_NOUN, TITLE};
use crate::entities::words::is_caseless;
use crate::error::Result;

/// Total mass of the query's entities.
const QUERY_MASS: f64 = 0.8;
/// Weight of a query entity that is not a title. The weight of a title is 1.
const UNTITLED_WEIGHT: f64 = 0.7;
/// Factor of the graph certainty for a query entity that is not a title. The factor for a title is 1.
const UNTITLED_CERTAINTY: f64 = 0.2;
/// Inverse document frequency above which the graph certainty no longer grows.
const FULL_CERTAINTY_IDF: f64 = 6.0;
/// Counting a word's occurrences stops at (capitalised mentions + 1) times this factor. By then, the probability that
/// the word is used as a name is about 1/50 or less, and the exact value does not matter.
const OCCURRENCES_FACTOR: usize = 50;

/// An entity of the query with its mass.
pub(super) struct QueryEntity {
    pub(super) entity: EntityId,
    pub(super) mass: f64,
}

/// An entity that a query names.
pub(super) struct NamedEntity<'query> {
    entity: EntityId,
    ngram: &'query QueryNgram,
    stats: EntityStats,
    idf: f64,
    /// Whether it counts like a title because only one passage contains the name: no other passage can be meant.
    is_single_name: bool,
}

impl NamedEntity<'_> {
    fn counts_like_title(&self) -> bool {
        self.is_single_name || self.stats.is_title
    }

    /// Graph certainty if the name is certainly used as a name. It costs no look-ups, unlike the name probability.
    pub(super) fn certainty_bound(&self) -> f64 {
        let sure = if self.counts_like_title() { 1.0 } else { UNTITLED_CERTAINTY };
        sure * (self.idf / FULL_CERTAINTY_IDF).min(1.0)
    }
}

/// Finds the entities among a query's n-grams: those that are links (`EntityStats::is_linked`), then, if the caller
/// wants them, names that only one passage contains.
pub(super) fn find_query_entities<'query>(
    admissible: &mut AdmissibleGraph<'_>,
    ngrams: &'query [QueryNgram],
    uses_single_names: bool,
) -> Vec<NamedEntity<'query>> {
    let mut found: Vec<NamedEntity<'query>> = Vec::new();
    // Index of the first word after the last active entity found, because entities may not overlap.
    let mut free_from = 0;
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for ngram in ngrams {
        let Some(entity) = admissible.graph().find(ngram.hash).filter(|_| ngram.first >= free_from) else { continue };
        let stats = admissible.stats(entity);
        if !stats.is_active {
            continue;
        }
        free_from = ngram.first + ngram.length;
        taken.push((ngram.first, free_from));
        if !stats.is_linked || found.iter().any(|known| known.entity == entity) {
            continue;
        }
        found.push(NamedEntity { entity, ngram, stats, idf: admissible.idf(stats), is_single_name: false });
    }
    for ngram in ngrams.iter().filter(|_| uses_single_names) {
        let end = ngram.first + ngram.length;
        let Some(entity) = admissible.graph().find(ngram.hash) else { continue };
        if taken.iter().any(|(first, last)| ngram.first < *last && *first < end)
            || !is_single_name(admissible, entity, ngram)
        {
            continue;
        }
        taken.push((ngram.first, end));
        let stats = admissible.count(entity);
        found.push(NamedEntity { entity, ngram, stats, idf: admissible.idf(stats), is_single_name: true });
    }
    found
}

/// Returns the query's entities with their masses, heaviest first, and the graph certainty. The masses sum to
/// `QUERY_MASS`.
///
/// ```text
/// mass      ∝ idf × (1 for a title, else 0.7) × name probability
/// certainty = greatest of (1 for a title, else 0.2) × min(1, idf / 6) × name probability
/// ```
///
/// A name that a single passage contains counts like a title.
pub(super) fn query_entities(
    admissible: &AdmissibleGraph<'_>,
    found: Vec<NamedEntity<'_>>,
    occurrences: &mut impl FnMut(&str, usize) -> Result<usize>,
) -> Result<(Vec<QueryEntity>, f64)> {
    let mut entities: Vec<QueryEntity> = Vec::with_capacity(found.len());
    let mut certainty = 0f64;
    for named in found {
        let NamedEntity { entity, ngram, stats, idf, is_single_name } = named;
        let probability =
            if is_single_name { 1.0 } else { name_probability(admissible, entity, ngram, stats, occurrences)? };
        let weight = if named.counts_like_title() { 1.0 } else { UNTITLED_WEIGHT };
        certainty = certainty.max(named.certainty_bound() * probability);
        entities.push(QueryEntity { entity, mass: idf * weight * probability });
    }
    let sum: f64 = entities.iter().map(|entity| entity.mass).sum();
    entities.iter_mut().for_each(|entity| entity.mass *= QUERY_MASS / sum);
    let graph = admissible.graph();
    entities.sort_by(|a, b| b.mass.total_cmp(&a.mass).then(graph.hash(a.entity).cmp(&graph.hash(b.entity))));
    Ok((entities, certainty))
}

/// Whether exactly one admissible passage contains an entity, as a name of several capitalised words. A single word
/// may be capitalised only because it begins a sentence.
fn is_single_name(admissible: &AdmissibleGraph<'_>, entity: EntityId, ngram: &QueryNgram) -> bool {
    if ngram.length < 2 {
        return false;
    }
    let graph = admissible.graph();
    let mut slots = graph.postings(entity).map(|posting| posting.slot()).filter(|slot| admissible.admits(*slot));
    let (Some(slot), None) = (slots.next(), slots.next()) else { return false };
    let mut candidates = graph.chunk(slot).candidates.iter();
    candidates.any(|candidate| candidate.entity == entity && candidate.marks & CAPITALISED != 0)
}

/// Probability that a single word is used as a name: (capitalised mentions + 1) / (occurrences + 1). It is 1 for an
/// entity of several words and for scripts without case.
fn name_probability(
    admissible: &AdmissibleGraph<'_>,
    entity: EntityId,
    ngram: &QueryNgram,
    stats: EntityStats,
    occurrences: &mut impl FnMut(&str, usize) -> Result<usize>,
) -> Result<f64> {
    if ngram.length > 1 || ngram.surface.chars().any(is_caseless) {
        return Ok(1.0);
    }
    let graph = admissible.graph();
    let is_capitalised = |slot: Slot| {
        let mut candidates = graph.chunk(slot).candidates.iter();
        candidates.any(|candidate| candidate.entity == entity && candidate.marks & (PROPER_NOUN | TITLE) != 0)
    };
    let slots = graph.postings(entity).map(|posting| posting.slot()).filter(|slot| admissible.admits(*slot));
    let capitalised = slots.filter(|slot| is_capitalised(*slot)).count();
    let occurrences = occurrences(&ngram.surface, (capitalised + 1) * OCCURRENCES_FACTOR)?.max(stats.df as usize);
    Ok(((capitalised as f64 + 1.0) / (occurrences as f64 + 1.0)).min(1.0))
}
