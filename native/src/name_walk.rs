//! Which passages the names of a question lead to, over at most two of them: P, a personalised walk of two hops by local
//! push, and how sure the graph is of this question, κ. The recipe was measured on judged sets (ARCHITECTURE.md,
//! "Measured"); with e0 the question's names and p0 its best passages by other legs,
//! P = .1 p0 + .16 EP e0 + .1 EP PE p0 + .6 EP PE EP e0, where PE goes from passages to names, EP from names to passages.

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::name_graph::{NameGraph, NameId, Slot};
use crate::name_record::{PROPER, TITLE};
use crate::name_scope::{Scope, Standing};
use crate::name_words::is_caseless;
use crate::names::QueryRun;

/// Passages that a walk may begin at beside the names of the question.
pub const SEEDS_MAX: usize = 10;

/// Shares of the whole that e0 and p0 have.
const QUERY_SHARE: f64 = 0.8;
const SEED_SHARE: f64 = 0.2;
/// The parts of P: seeds, one hop from a name, from a seed, two hops from a name.
const SEED_PART: f64 = 0.1;
const NAME_PART: f64 = 0.16;
const SEED_HOP_PART: f64 = 0.1;
const NAME_HOP_PART: f64 = 0.6;
/// What a name counts in the question that is no title, and how sure it makes.
const UNTITLED_WEIGHT: f64 = 0.7;
const UNTITLED_CERTAINTY: f64 = 0.2;
/// The idf from which a name is as sure as it can be.
const CERTAIN_IDF: f64 = 6.0;
/// How much closer a passage is to the name that is its title: seen from the passage, and from the name.
const TITLE_BONUS_OF_NAME: f64 = 1.0;
const TITLE_BONUS_OF_PASSAGE: f64 = 10.0;
/// Decades of P below the best over which G falls to 0.
const DECADES: f64 = 2.5;
/// Edges that each of the three pushes may follow. The measured questions take some hundreds.
const EDGES_MAX: usize = 5_000;
/// What holds less than this share of the greatest mass is not pushed.
const MASS_SHARE_MIN: f64 = 1e-4;
/// A word's occurrences in running text are counted up to this many times its capitalised mentions: it is no name then.
const OCCURRENCES_FACTOR: usize = 50;

/// A passage that the walk may begin at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seed {
    pub chunk_key: u64,
    /// Comparable among the seeds only.
    pub score: f32,
}

/// What the walk found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Related {
    /// Best first.
    pub hits: Vec<RelatedHit>,
    /// κ, how sure the graph is of this question.
    pub certainty: f32,
}

/// A passage, and the strongest single way to it: from a name of the question, by way of another passage, through a name
/// that both have. Ways that lead through the passage itself are not told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelatedHit {
    pub chunk_key: u64,
    /// Its memory.
    pub ordinal: u32,
    /// G in 0..1, above 0.
    pub score: f32,
    /// The question's name, 0 for none.
    pub from: NameId,
    /// The passage between, as (chunk key, memory's ordinal).
    pub via: Option<(u64, u32)>,
    /// The name that leads on from there, 0 for none.
    pub through: NameId,
}

/// A name of the question.
struct Entity {
    name: NameId,
    weight: f64,
}

/// Mass at a passage, and the greatest part of it that came one way.
#[derive(Default, Clone, Copy)]
struct Arrived {
    mass: f64,
    best: f64,
    from: NameId,
}

/// Mass at a name, and the two strongest ways to it by way of different passages.
#[derive(Default, Clone, Copy)]
struct Passing {
    mass: f64,
    ways: [Way; 2],
}

#[derive(Default, Clone, Copy)]
struct Way {
    strength: f64,
    from: NameId,
    via: Slot,
}

/// Follows the names of a question. `occurrences` counts the passages of the scope that use a word in any writing, up to
/// a bound. `Invalid` for too many seeds, or scores that are no numbers.
pub(crate) fn related(
    scope: &mut Scope<'_>,
    runs: &[QueryRun],
    seeds: &[Seed],
    limit: usize,
    mut occurrences: impl FnMut(&str, usize) -> Result<usize>,
) -> Result<Related> {
    if seeds.len() > SEEDS_MAX || seeds.iter().any(|seed| !seed.score.is_finite()) {
        return Err(Error::invalid(format!("seeds are at most {SEEDS_MAX} passages with finite scores")));
    }
    let (entities, certainty) = entities(scope, runs, &mut occurrences)?;
    if certainty <= 0.0 {
        return Ok(Related::default());
    }
    let p0 = seed_masses(scope, seeds);
    let a = push_entities(scope, &entities);
    let names = push_passages(scope, &p0, &a);
    let mut reached: FxHashMap<Slot, (f64, RelatedHit)> = FxHashMap::default();
    push_names(scope, &names, &mut reached);
    let graph = scope.graph();
    for (slot, mass) in &p0 {
        arrive(&mut reached, graph, *slot, SEED_PART * mass, SEED_PART * mass, |_| ());
    }
    for (slot, arrived) in &a {
        let (mass, best) = (NAME_PART * arrived.mass, NAME_PART * arrived.best);
        arrive(&mut reached, graph, *slot, mass, best, |hit| hit.from = arrived.from);
    }
    Ok(Related { hits: scored(reached, certainty, limit), certainty: certainty as f32 })
}

/// The question's names with their weights, which sum to `QUERY_SHARE`, heaviest first; and κ.
fn entities(
    scope: &mut Scope<'_>,
    runs: &[QueryRun],
    occurrences: &mut impl FnMut(&str, usize) -> Result<usize>,
) -> Result<(Vec<Entity>, f64)> {
    let mut entities: Vec<Entity> = Vec::new();
    let (mut free_from, mut certainty) = (0, 0f64);
    for run in runs {
        let Some(name) = scope.graph().find(run.hash).filter(|_| run.first >= free_from) else { continue };
        let standing = scope.standing(name);
        if !standing.is_active {
            continue;
        }
        free_from = run.first + run.length;
        if !standing.is_linked || entities.iter().any(|entity| entity.name == name) {
            continue;
        }
        let proper = proper(scope, name, run, standing, occurrences)?;
        let idf = scope.idf(standing);
        let (of_kind, sure) = if standing.is_title { (1.0, 1.0) } else { (UNTITLED_WEIGHT, UNTITLED_CERTAINTY) };
        certainty = certainty.max(sure * (idf / CERTAIN_IDF).min(1.0) * proper);
        entities.push(Entity { name, weight: idf * of_kind * proper });
    }
    let sum: f64 = entities.iter().map(|entity| entity.weight).sum();
    entities.iter_mut().for_each(|entity| entity.weight *= QUERY_SHARE / sum);
    let graph = scope.graph();
    entities.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(graph.hash(a.name).cmp(&graph.hash(b.name))));
    Ok((entities, certainty))
}

/// How likely a single word is the name rather than the word: (capitalised mentions + 1)/(occurrences + 1).
fn proper(
    scope: &Scope<'_>,
    name: NameId,
    run: &QueryRun,
    standing: Standing,
    occurrences: &mut impl FnMut(&str, usize) -> Result<usize>,
) -> Result<f64> {
    if run.length > 1 || run.surface.chars().any(is_caseless) {
        return Ok(1.0);
    }
    let graph = scope.graph();
    let is_proper = |slot: Slot| {
        let mut candidates = graph.chunk(slot).candidates.iter();
        candidates.any(|candidate| candidate.name == name && candidate.marks & (PROPER | TITLE) != 0)
    };
    let admitted = graph.postings(name).map(|posting| posting.slot()).filter(|slot| scope.admits(*slot));
    let capitalised = admitted.filter(|slot| is_proper(*slot)).count();
    let occurrences = occurrences(&run.surface, (capitalised + 1) * OCCURRENCES_FACTOR)?.max(standing.df as usize);
    Ok(((capitalised as f64 + 1.0) / (occurrences as f64 + 1.0)).min(1.0))
}

/// p0: min-max of the seeds' scores and .05, which sum to `SEED_SHARE`. By chunk key.
fn seed_masses(scope: &Scope<'_>, seeds: &[Seed]) -> Vec<(Slot, f64)> {
    let graph = scope.graph();
    let found = seeds.iter().filter_map(|seed| Some((graph.slot_of(seed.chunk_key)?, f64::from(seed.score))));
    let mut found: Vec<(Slot, f64)> = found.filter(|(slot, _)| scope.admits(*slot)).collect();
    found.sort_by(|a, b| (graph.chunk(a.0).chunk_key, b.1).partial_cmp(&(graph.chunk(b.0).chunk_key, a.1)).expect("finite"));
    found.dedup_by_key(|(slot, _)| *slot);
    let least = found.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let span = found.iter().map(|(_, score)| score - least).fold(0.0, f64::max);
    found.iter_mut().for_each(|(_, score)| *score = if span > 0.0 { (*score - least) / span } else { 0.0 } + 0.05);
    let sum: f64 = found.iter().map(|(_, mass)| mass).sum();
    found.iter_mut().for_each(|(_, mass)| *mass *= SEED_SHARE / sum);
    found
}

/// EP e0.
fn push_entities(scope: &mut Scope<'_>, entities: &[Entity]) -> FxHashMap<Slot, Arrived> {
    let mut arrived: FxHashMap<Slot, Arrived> = FxHashMap::default();
    let mut edges = 0;
    for entity in entities {
        let row = scope.passages_of(entity.name, TITLE_BONUS_OF_PASSAGE);
        let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
        edges += row.len();
        for (slot, weight) in row {
            let mass = entity.weight * weight / sum;
            let at = arrived.entry(slot).or_default();
            at.mass += mass;
            if mass > at.best {
                (at.best, at.from) = (mass, entity.name);
            }
        }
        if edges >= EDGES_MAX {
            break;
        }
    }
    arrived
}

/// .1 PE p0 + .6 PE EP e0, heaviest first.
fn push_passages(
    scope: &mut Scope<'_>,
    p0: &[(Slot, f64)],
    a: &FxHashMap<Slot, Arrived>,
) -> Vec<(NameId, Passing)> {
    let mut sources: FxHashMap<Slot, Arrived> = FxHashMap::default();
    for (slot, arrived) in a {
        let Arrived { mass, best, from } = *arrived;
        sources.insert(*slot, Arrived { mass: NAME_HOP_PART * mass, best: NAME_HOP_PART * best, from });
    }
    for (slot, mass) in p0 {
        let source = sources.entry(*slot).or_default();
        source.mass += SEED_HOP_PART * mass;
        if SEED_HOP_PART * mass > source.best {
            (source.best, source.from) = (SEED_HOP_PART * mass, 0);
        }
    }
    let graph = scope.graph();
    let mut sources: Vec<(Slot, Arrived)> = sources.into_iter().collect();
    sources.sort_by(|(slot, arrived), (other_slot, other)| {
        other.mass.total_cmp(&arrived.mass).then_with(|| {
            graph.chunk(*slot).chunk_key.cmp(&graph.chunk(*other_slot).chunk_key)
        })
    });
    let least = sources.first().map_or(0.0, |(_, source)| source.mass * MASS_SHARE_MIN);
    let mut names: FxHashMap<NameId, Passing> = FxHashMap::default();
    let mut edges = 0;
    for (slot, source) in sources.iter().take_while(|(_, source)| source.mass >= least) {
        let links = scope.links(*slot);
        edges += links.len();
        let weighed = |scope: &mut Scope<'_>, number: usize| {
            let link = scope.link(number);
            let standing = scope.standing(link.name);
            (link.name, link.weight(TITLE_BONUS_OF_NAME) * scope.idf(standing))
        };
        let sum: f64 = links.clone().map(|number| weighed(scope, number).1).sum();
        for number in links {
            let (name, weight) = weighed(scope, number);
            let passing = names.entry(name).or_default();
            passing.mass += source.mass * weight / sum;
            passing.offer(Way { strength: source.best * weight / sum, from: source.from, via: *slot });
        }
        if edges >= EDGES_MAX {
            break;
        }
    }
    let mut names: Vec<(NameId, Passing)> = names.into_iter().collect();
    names.sort_by(|(name, passing), (other_name, other)| {
        other.mass.total_cmp(&passing.mass).then_with(|| graph.hash(*name).cmp(&graph.hash(*other_name)))
    });
    names
}

impl Passing {
    /// Each passage comes once, so that the two best ways lead over two passages.
    fn offer(&mut self, way: Way) {
        if way.strength > self.ways[0].strength {
            self.ways = [way, self.ways[0]];
        } else if way.strength > self.ways[1].strength {
            self.ways[1] = way;
        }
    }
}

/// EP of that.
fn push_names(scope: &mut Scope<'_>, names: &[(NameId, Passing)], reached: &mut FxHashMap<Slot, (f64, RelatedHit)>) {
    let least = names.first().map_or(0.0, |(_, passing)| passing.mass * MASS_SHARE_MIN);
    let graph = scope.graph();
    let mut edges = 0;
    for (name, passing) in names.iter().take_while(|(_, passing)| passing.mass >= least) {
        let row = scope.passages_of(*name, TITLE_BONUS_OF_PASSAGE);
        let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
        edges += row.len();
        for (slot, weight) in row {
            let share = weight / sum;
            let way = passing.ways.iter().find(|way| way.via != slot).copied().unwrap_or_default();
            arrive(reached, graph, slot, passing.mass * share, way.strength * share, |hit| {
                hit.from = way.from;
                hit.through = *name;
                let via = graph.chunk(way.via);
                hit.via = Some((via.chunk_key, via.ordinal));
            });
        }
        if edges >= EDGES_MAX {
            break;
        }
    }
}

/// Adds mass to a passage, and remembers the way if it is the strongest so far; `HIT.score` holds its strength meanwhile.
fn arrive(
    reached: &mut FxHashMap<Slot, (f64, RelatedHit)>,
    graph: &NameGraph,
    slot: Slot,
    mass: f64,
    strength: f64,
    tell: impl FnOnce(&mut RelatedHit),
) {
    let chunk = graph.chunk(slot);
    let (chunk_key, ordinal) = (chunk.chunk_key, chunk.ordinal);
    let untold = RelatedHit { chunk_key, ordinal, score: 0.0, from: 0, via: None, through: 0 };
    let (sum, hit) = reached.entry(slot).or_insert((0.0, untold));
    *sum += mass;
    if strength as f32 > hit.score {
        *hit = RelatedHit { score: strength as f32, ..untold };
        tell(hit);
    }
}

/// G = κ · clip(1 + log10(P / max P) / 2.5, 0, 1).
fn scored(reached: FxHashMap<Slot, (f64, RelatedHit)>, certainty: f64, limit: usize) -> Vec<RelatedHit> {
    let greatest = reached.values().map(|(mass, _)| *mass).fold(0.0, f64::max);
    let score = |mass: f64| certainty * (1.0 + (mass / greatest).log10() / DECADES).clamp(0.0, 1.0);
    let scored = reached.into_values().map(|(mass, hit)| (mass, RelatedHit { score: score(mass) as f32, ..hit }));
    let mut hits: Vec<(f64, RelatedHit)> = scored.filter(|(_, hit)| hit.score > 0.0).collect();
    hits.sort_unstable_by(|(mass, hit), (other_mass, other)| {
        other_mass.total_cmp(mass).then(hit.chunk_key.cmp(&other.chunk_key))
    });
    hits.truncate(limit);
    hits.into_iter().map(|(_, hit)| hit).collect()
}
