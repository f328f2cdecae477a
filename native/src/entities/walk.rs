//! Which passages the names of a question lead to, over at most two of them: P, a personalised walk of two hops by
//! local push, and how sure the graph is of this question, κ. The recipe was measured on judged sets (ARCHITECTURE.md,
//! "Measured"); with e0 the question's names and p0 its best passages by other legs, P = .1 p0 + .16 EP e0 + .1 EP PE
//! p0 + .6 EP PE EP e0, where PE goes from passages to names, EP from names to passages.

use rustc_hash::FxHashMap;

use crate::entities::graph::{NameGraph, NameId, Slot};
use crate::entities::mentions::QueryRun;
use crate::entities::record::{PROPER, TITLE};
use crate::entities::scope::{Scope, Standing};
use crate::entities::words::is_caseless;
use crate::error::{Error, Result};

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
/// Edges that each of the three pushes may follow, the heaviest first. On 2WikiMultihop among 132,000 other passages
/// 500, 1,000, 2,000 and 5,000 found the same (R@5 .968), and a question took 1.3, 2.7, 4.6 and 6.8 ms on a busy
/// machine.
const EDGES_MAX: usize = 500;
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

/// A passage, and the strongest single way to it: from a name of the question, by way of another passage, through a
/// name that both have. Ways that lead through the passage itself are not told.
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

/// Follows the names of a question. `occurrences` counts the passages of the scope that use a word in any writing, up
/// to a bound. `Invalid` for too many seeds, or scores that are no numbers.
pub(crate) fn related(
    scope: &mut Scope<'_>,
    runs: &[QueryRun],
    seeds: &[Seed],
    limit: usize,
    occurrences: impl FnMut(&str, usize) -> Result<usize>,
) -> Result<Related> {
    related_within(EDGES_MAX, scope, runs, seeds, limit, occurrences)
}

fn related_within(
    edges_max: usize,
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
    let a = push_entities(scope, &entities, edges_max);
    let names = push_passages(scope, &p0, &a, edges_max);
    let mut reached: FxHashMap<Slot, (f64, RelatedHit)> = FxHashMap::default();
    push_names(scope, &names, edges_max, &mut reached);
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
    found.sort_by(|a, b| {
        (graph.chunk(a.0).chunk_key, b.1).partial_cmp(&(graph.chunk(b.0).chunk_key, a.1)).expect("finite")
    });
    found.dedup_by_key(|(slot, _)| *slot);
    let least = found.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let span = found.iter().map(|(_, score)| score - least).fold(0.0, f64::max);
    found.iter_mut().for_each(|(_, score)| *score = if span > 0.0 { (*score - least) / span } else { 0.0 } + 0.05);
    let sum: f64 = found.iter().map(|(_, mass)| mass).sum();
    found.iter_mut().for_each(|(_, mass)| *mass *= SEED_SHARE / sum);
    found
}

/// EP e0.
fn push_entities(scope: &mut Scope<'_>, entities: &[Entity], edges_max: usize) -> FxHashMap<Slot, Arrived> {
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
        if edges >= edges_max {
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
    edges_max: usize,
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
        other
            .mass
            .total_cmp(&arrived.mass)
            .then_with(|| graph.chunk(*slot).chunk_key.cmp(&graph.chunk(*other_slot).chunk_key))
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
        if edges >= edges_max {
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
fn push_names(
    scope: &mut Scope<'_>,
    names: &[(NameId, Passing)],
    edges_max: usize,
    reached: &mut FxHashMap<Slot, (f64, RelatedHit)>,
) {
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
        if edges >= edges_max {
            break;
        }
    }
}

/// Adds mass to a passage, and remembers the way if it is the strongest so far; `HIT.score` holds its strength
/// meanwhile.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::mentions::{NameFinder, Phrases};
    use crate::entities::record::{DECLARED, RecordReader};
    use crate::filters::memory_set::MemorySet;
    use mneme_testing::Chance;
    use std::collections::{BTreeMap, BTreeSet};

    /// A live chunk as the definition sees it.
    struct Passage {
        ordinal: u32,
        record: Vec<u8>,
    }

    type Live = BTreeMap<u64, Passage>;

    type Mentioned = (bool, u16, u8, u8, u64);

    /// (is title, first word, length, marks, hash) of each mention.
    fn mentions(record: &[u8]) -> Vec<Mentioned> {
        let mut found = Vec::new();
        let each = |m: crate::entities::record::Mention<'_>| {
            found.push((m.marks & TITLE != 0, m.first, m.length, m.marks, m.hash));
        };
        RecordReader::default().each_mention(record, each).expect("a record");
        found
    }

    /// The graph straight from its definition, by hashes.
    struct Naive {
        n: f64,
        df: BTreeMap<u64, usize>,
        titles: BTreeSet<u64>,
        active: BTreeSet<u64>,
        /// Per chunk key: name → (tf, is title).
        links: BTreeMap<u64, BTreeMap<u64, (u32, bool)>>,
    }

    impl Naive {
        fn new(live: &Live, set: &MemorySet) -> Naive {
            let admitted: BTreeMap<u64, Vec<_>> = live
                .iter()
                .filter(|(_, passage)| set.contains(passage.ordinal))
                .map(|(key, passage)| (*key, mentions(&passage.record)))
                .collect();
            let n = admitted.len() as f64;
            let count = |test: &dyn Fn(&Mentioned) -> bool| {
                let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
                for mentions in admitted.values() {
                    let names: BTreeSet<u64> = mentions.iter().filter(|m| test(m)).map(|m| m.4).collect();
                    names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
                }
                counts
            };
            let df = count(&|_| true);
            let titles: BTreeSet<u64> = count(&|m| m.0).into_keys().collect();
            let declared = count(&|m| m.3 & DECLARED != 0);
            let twice = declared.into_iter().filter(|(_, count)| *count >= 2).map(|(name, _)| name);
            let active: BTreeSet<u64> = titles.iter().copied().chain(twice).collect();
            let df_max = (0.005 * n).clamp(10.0, 100.0) as usize;
            let mut links = BTreeMap::new();
            for (key, mentions) in &admitted {
                let mut of_chunk: BTreeMap<u64, (u32, bool)> = BTreeMap::new();
                let is_linked = |name: &u64| df[name] <= df_max;
                for name in mentions.iter().filter(|m| m.0).map(|m| m.4).collect::<BTreeSet<_>>() {
                    if is_linked(&name) {
                        of_chunk.insert(name, (1, true));
                    }
                }
                let mut at = 0;
                while at < 5_000 {
                    let here = mentions.iter().filter(|m| !m.0 && m.1 == at && active.contains(&m.4));
                    let Some(longest) = here.max_by_key(|m| (m.2, m.3 & crate::entities::record::DATE)) else {
                        at += 1;
                        continue;
                    };
                    if is_linked(&longest.4) {
                        of_chunk.entry(longest.4).or_default().0 += 1;
                    }
                    at += u16::from(longest.2);
                }
                links.insert(*key, of_chunk);
            }
            Naive { n, df, titles, active, links }
        }

        fn idf(&self, name: u64) -> f64 {
            ((self.n + 1.0) / (self.df[&name] as f64 + 0.5)).ln()
        }

        /// Row of EP: passage → share.
        fn passages(&self, name: u64) -> BTreeMap<u64, f64> {
            let weight =
                |(tf, is_title): &(u32, bool)| 1.0 + 0.5 * f64::from(*tf).ln() + if *is_title { 10.0 } else { 0.0 };
            let linked = self.links.iter().filter_map(|(key, links)| Some((*key, weight(links.get(&name)?))));
            normalised(linked.collect())
        }

        /// Row of PE: name → share.
        fn names(&self, key: u64) -> BTreeMap<u64, f64> {
            let weight = |(tf, is_title): (u32, bool)| 1.0 + 0.5 * f64::from(tf).ln() + f64::from(u8::from(is_title));
            let links = self.links.get(&key).into_iter().flatten();
            normalised(links.map(|(name, link)| (*name, weight(*link) * self.idf(*name))).collect())
        }

        fn entities(&self, runs: &[QueryRun], occurrences: usize, live: &Live) -> (BTreeMap<u64, f64>, f64) {
            let (mut weights, mut certainty, mut at) = (BTreeMap::new(), 0f64, 0);
            let last = runs.iter().map(|run| run.first).max().unwrap_or_default();
            while at <= last {
                let here = runs.iter().filter(|run| run.first == at && self.active.contains(&run.hash));
                // Of equal length the first: a date comes before its words.
                let Some(run) = here.min_by_key(|run| std::cmp::Reverse(run.length)) else {
                    at += 1;
                    continue;
                };
                at += run.length;
                let df = self.df[&run.hash];
                if df > (0.005 * self.n).clamp(10.0, 100.0) as usize {
                    continue;
                }
                let is_proper = |m: &Mentioned| m.4 == run.hash && m.3 & (PROPER | TITLE) != 0;
                let of_scope = self.links.keys().map(|key| mentions(&live[key].record));
                let capitalised = of_scope.filter(|mentions| mentions.iter().any(is_proper)).count() as f64;
                let is_single = run.length == 1 && !run.surface.chars().any(is_caseless);
                let proper =
                    if is_single { ((capitalised + 1.0) / (occurrences.max(df) as f64 + 1.0)).min(1.0) } else { 1.0 };
                let is_title = self.titles.contains(&run.hash);
                let idf = self.idf(run.hash);
                certainty = certainty.max(if is_title { 1.0 } else { 0.2 } * (idf / 6.0).min(1.0) * proper);
                weights.insert(run.hash, idf * if is_title { 1.0 } else { 0.7 } * proper);
            }
            let mut weights = normalised(weights);
            weights.values_mut().for_each(|weight| *weight *= 0.8);
            (weights, certainty)
        }

        fn seeds(&self, seeds: &[Seed]) -> BTreeMap<u64, f64> {
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

    /// A way as (from, via, through), 0 for none, and what comes that way.
    type Ways = BTreeMap<u64, BTreeMap<(u64, u64, u64), f64>>;

    /// P as the sum over all ways.
    fn naive_ways(naive: &Naive, e0: &BTreeMap<u64, f64>, p0: &BTreeMap<u64, f64>) -> Ways {
        let mut ways = Ways::new();
        let mut add = |to: u64, way, mass: f64| *ways.entry(to).or_default().entry(way).or_default() += mass;
        for (key, mass) in p0 {
            add(*key, (0, 0, 0), 0.1 * mass);
            for (name, share) in naive.names(*key) {
                for (to, part) in naive.passages(name) {
                    add(to, (0, *key, name), 0.1 * mass * share * part);
                }
            }
        }
        for (from, mass) in e0 {
            for (via, first) in naive.passages(*from) {
                add(via, (*from, 0, 0), 0.16 * mass * first);
                for (name, share) in naive.names(via) {
                    for (to, part) in naive.passages(name) {
                        add(to, (*from, via, name), 0.6 * mass * first * share * part);
                    }
                }
            }
        }
        ways
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

    fn text(chance: &mut Chance, most: usize) -> String {
        let pieces: Vec<&str> = (0..1 + chance.below(most))
            .map(|_| PIECES[chance.below(PIECES.len()) * (1 + chance.below(PIECES.len())) / PIECES.len()])
            .collect();
        pieces.join(" ")
    }

    /// Through random changes and scopes: links, G, κ and the ways are those of the definition, whatever came before.
    #[test]
    fn links_and_scores_are_those_of_the_definition_through_any_history() {
        let mut chance = Chance::new();
        let finder = NameFinder::default();
        let (mut graph, mut live, mut next_key) = (NameGraph::default(), Live::new(), 1u64);
        let mut found = 0;
        for _ in 0..250 {
            let ordinal = chance.below(90) as u32;
            graph.remove_memory(ordinal);
            live.retain(|_, passage| passage.ordinal != ordinal);
            for at in 0..chance.below(5).saturating_sub(1) {
                let phrases = if chance.below(3) == 0 { vec!["machine learning".to_owned()] } else { Vec::new() };
                let title = (at == 0 && chance.below(2) == 0).then(|| text(&mut chance, 2));
                let record = finder.record(&text(&mut chance, 12), title.as_deref(), &finder.phrases(&phrases));
                graph.add(next_key, ordinal, &record).expect("added");
                live.insert(next_key, Passage { ordinal, record });
                next_key += 1;
            }
            let mut set = MemorySet::with_room_for(90);
            let of = 1 + chance.below(4);
            (0..90).filter(|ordinal| of == 1 || ordinal % of != 0).for_each(|ordinal| set.insert(ordinal as u32));

            let naive = Naive::new(&live, &set);
            let mut scope = Scope::new(&graph, &set);
            for (key, expected) in &naive.links {
                let links = scope.links(graph.slot_of(*key).expect("live"));
                let links: BTreeMap<u64, (u32, bool)> =
                    links.map(|at| scope.link(at)).map(|l| (graph.hash(l.name), (l.tf, l.is_title))).collect();
                assert_eq!(links, *expected, "links of {key}");
            }

            let runs = finder.query_runs(&text(&mut chance, 4));
            let keys: BTreeSet<u64> =
                (0..chance.below(6)).map(|_| 1 + chance.below(next_key as usize) as u64).collect();
            let seeds: Vec<Seed> =
                keys.iter().map(|key| Seed { chunk_key: *key, score: chance.below(100) as f32 / 50.0 }).collect();
            let occurrences = chance.below(20);
            let related =
                related_within(usize::MAX, &mut scope, &runs, &seeds, 2_000, |_, _| Ok(occurrences)).expect("walked");
            let (e0, certainty) = naive.entities(&runs, occurrences, &live);
            assert!((f64::from(related.certainty) - certainty).abs() < 1e-6, "{} {certainty}", related.certainty);
            if certainty == 0.0 {
                assert!(related.hits.is_empty());
                continue;
            }
            let ways = naive_ways(&naive, &e0, &naive.seeds(&seeds));
            let masses: BTreeMap<u64, f64> = ways.iter().map(|(key, ways)| (*key, ways.values().sum())).collect();
            let greatest = masses.values().copied().fold(0.0, f64::max);
            let score = |key: &u64| certainty * (1.0 + (masses[key] / greatest).log10() / 2.5).clamp(0.0, 1.0);
            let hits: BTreeMap<u64, &RelatedHit> = related.hits.iter().map(|hit| (hit.chunk_key, hit)).collect();
            // What lies below a ten-thousandth is not pushed, so that scores differ by less than that makes of them.
            for key in masses.keys() {
                let given = hits.get(key).map_or(0.0, |hit| f64::from(hit.score));
                assert!((given - score(key)).abs() < 2e-3, "{key}: {given}, expected {}", score(key));
            }
            assert!(hits.keys().all(|key| masses.contains_key(key)));
            assert!(related.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
            found += hits.len();
            for (key, hit) in hits {
                let via = hit.via.map_or(0, |(key, _)| key);
                let name = |id| if id == 0 { 0 } else { graph.hash(id) };
                let told = ways[&key][&(name(hit.from), via, name(hit.through))];
                let elsewhere = ways[&key].iter().filter(|((_, via, _), _)| *via != key);
                let strongest = elsewhere.map(|(_, mass)| *mass).fold(0.0, f64::max);
                assert!(via != key && told >= strongest * 0.999_99, "{key}: {told}, strongest {strongest}");
            }
        }
        assert!(found > 500, "the histories lead somewhere: {found}");
    }

    #[test]
    fn the_order_of_publishing_changes_nothing() {
        let (mut chance, mut corpus) = (Chance::new(), Chance::seeded(1));
        let finder = NameFinder::default();
        let records: Vec<Vec<u8>> = (0..80)
            .map(|_| {
                let title = text(&mut corpus, 2);
                finder.record(&text(&mut corpus, 3), Some(&title), &Phrases::default())
            })
            .collect();
        let mut set = MemorySet::default();
        (0..80).for_each(|ordinal| set.insert(ordinal));
        let answer = |order: &[usize]| {
            let mut graph = NameGraph::default();
            order.iter().for_each(|at| graph.add(*at as u64 + 1, *at as u32, &records[*at]).expect("added"));
            let runs = finder.query_runs("Ada Lovelace in London with Babbage on 8 May 2023");
            let seeds = [Seed { chunk_key: 3, score: 1.0 }, Seed { chunk_key: 9, score: 0.5 }];
            let related = related(&mut Scope::new(&graph, &set), &runs, &seeds, 50, |_, _| Ok(0)).expect("walked");
            let told = related.hits.iter().map(|hit| {
                let name = |id| if id == 0 { 0 } else { graph.hash(id) };
                (hit.chunk_key, hit.score.to_bits(), name(hit.from), hit.via, name(hit.through))
            });
            told.collect::<Vec<_>>()
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
    fn too_many_seeds_and_scores_that_are_none_are_refused() {
        let (graph, set) = (NameGraph::default(), MemorySet::default());
        let refused = |seeds: &[Seed]| {
            let error = related(&mut Scope::new(&graph, &set), &[], seeds, 10, |_, _| Ok(0)).expect_err("refused");
            assert_eq!(error.code(), "invalid");
        };
        refused(&[Seed { chunk_key: 1, score: 0.0 }; SEEDS_MAX + 1]);
        refused(&[Seed { chunk_key: 1, score: f32::NAN }]);
        refused(&[Seed { chunk_key: 1, score: f32::INFINITY }]);
    }
}
