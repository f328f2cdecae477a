//! Graph search and the graph around a memory for JavaScript.

use napi::Env;
use napi::bindgen_prelude::{
    BigInt, BigUint64Array, BigUint64ArraySlice, Either, Float32Array, Float32ArraySlice, Null, PromiseRaw,
    Uint32Array, Uint32ArraySlice,
};
use napi_derive::napi;

use crate::bindings::admissible::NativeAdmissible;
use crate::bindings::conversions::{checked_key, or_null};
use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::{ToJs, run};
use crate::entities::neighbours;
use crate::entities::walk::{self, Seed, WalkOptions};
use crate::error::Error;

/// Hits of a graph search as parallel arrays, best first. Each hit has the strongest path to its chunk: query entity
/// (`from`) → another chunk (`via`) → an entity that links both chunks (`through`). If the path lacks one of these
/// parts, the part is 0.
#[napi(object)]
pub struct GraphHits {
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
    pub scores: Float32Array,
    /// Graph certainty in 0..1: how sure the graph is that the query names an entity, and that it is a rare one.
    pub certainty: f64,
    /// Entity ids, see `entityNames`.
    pub from: Uint32Array,
    /// Chunk keys.
    pub via: BigUint64Array,
    /// Entity ids, see `entityNames`.
    pub through: Uint32Array,
}

/// An entity that a memory mentions.
#[napi(object)]
pub struct MentionedEntity {
    /// Entity id for `entityNames`; 0 if the entity links no chunks.
    pub id: u32,
    /// Surface form of the entity.
    pub name: String,
    /// First letter of title, capitalised, quoted, identifier, date or key phrase.
    #[napi(ts_type = "\"t\" | \"c\" | \"q\" | \"i\" | \"d\" | \"k\"")]
    pub kind: String,
    /// Number of mentions in the memory.
    pub mentions: u32,
    /// Number of admissible memories that mention the entity, including this memory.
    pub memories: u32,
    /// Keys of the memory's chunks that mention the entity, ascending; at most 100.
    pub chunk_keys: BigUint64Array,
}

/// A memory that shares entities with another.
#[napi(object)]
pub struct Neighbour {
    pub memory_key: BigInt,
    /// Sum of the idf of the shared entities.
    pub weight: f64,
    /// Surface forms of the rarest shared entities, at most 8.
    pub entities: Vec<String>,
}

/// The graph around a memory. Entities and neighbours are sorted by weight, the greatest first.
#[napi(object)]
pub struct Neighbourhood {
    pub entities: Vec<MentionedEntity>,
    pub neighbours: Vec<Neighbour>,
}

/// Options of a graph search.
#[napi(object)]
pub struct GraphSearchOptions {
    /// Maximum number of hits, 1 to 2,000.
    pub limit: u32,
    /// Whether a name in the query that only one chunk contains counts as an entity of the query, too.
    pub uses_single_names: bool,
    /// Minimum certainty. Below it there is no search, and the result is that of a query without entities.
    pub certainty_min: f64,
}

#[napi]
impl NativeIndex {
    /// See `Project::search_graph`. `seedKeys` and `seedScores` are parallel; at most 10 seeds are allowed.
    #[napi(catch_unwind)]
    pub fn search_graph<'env>(
        &self,
        env: &'env Env,
        query: String,
        seed_keys: BigUint64ArraySlice<'_>,
        seed_scores: Float32ArraySlice<'_>,
        within: &NativeAdmissible,
        options: GraphSearchOptions,
    ) -> napi::Result<PromiseRaw<'env, GraphHits>> {
        let (seed_keys, seed_scores) = (seed_keys.to_vec(), seed_scores.to_vec());
        let within = within.share();
        self.read(env, move |project| {
            if seed_keys.len() != seed_scores.len() {
                return Err(Error::invalid("seeds and their scores differ in number"));
            }
            let seeds = seed_keys.into_iter().zip(seed_scores);
            let seeds: Vec<Seed> = seeds.map(|(chunk_key, score)| Seed { chunk_key, score }).collect();
            let GraphSearchOptions { limit, uses_single_names, certainty_min } = options;
            let options = WalkOptions { seeds: &seeds, limit: limit as usize, uses_single_names, certainty_min };
            let found = project.search_graph(&query, &within, &options)?;
            let memory_keys = project.memory_keys(found.hits.iter().map(|hit| hit.ordinal));
            Ok(GraphHitsWithMemories { found, memory_keys })
        })
    }

    /// Returns the names of entities by the ids of `searchGraph` and `neighbourhood`, in their first surface form;
    /// `null` for other ids. Ids are valid until the index is closed.
    #[napi(catch_unwind)]
    pub fn entity_names(&self, ids: Uint32ArraySlice<'_>) -> napi::Result<Vec<Either<String, Null>>> {
        let names = run(|| self.project()?.entity_names(&ids))?;
        Ok(names.into_iter().map(or_null).collect())
    }

    /// See `Project::neighbourhood`.
    #[napi(catch_unwind)]
    pub fn neighbourhood<'env>(
        &self,
        env: &'env Env,
        memory_key: BigInt,
        within: &NativeAdmissible,
        limit: u32,
    ) -> napi::Result<PromiseRaw<'env, Neighbourhood>> {
        let within = within.share();
        self.read(env, move |project| {
            let memory_key = checked_key(&memory_key, "memory key")?;
            let found = project.neighbourhood(memory_key, &within, limit as usize)?;
            let memory_keys = project.memory_keys(found.neighbours.iter().map(|neighbour| neighbour.ordinal));
            Ok(NeighbourhoodWithMemories { found, memory_keys })
        })
    }
}

/// Hits of a graph search, each with the key of its memory.
struct GraphHitsWithMemories {
    found: walk::GraphHits,
    memory_keys: Vec<u64>,
}

impl ToJs for GraphHitsWithMemories {
    type Js = GraphHits;
    fn to_js(self) -> GraphHits {
        let walk::GraphHits { hits, certainty } = self.found;
        GraphHits {
            chunk_keys: hits.iter().map(|hit| hit.chunk_key).collect::<Vec<_>>().into(),
            memory_keys: self.memory_keys.into(),
            scores: hits.iter().map(|hit| hit.score).collect::<Vec<_>>().into(),
            certainty: f64::from(certainty),
            from: hits.iter().map(|hit| hit.from).collect::<Vec<_>>().into(),
            via: hits.iter().map(|hit| hit.via.map_or(0, |(chunk_key, _)| chunk_key)).collect::<Vec<_>>().into(),
            through: hits.iter().map(|hit| hit.through).collect::<Vec<_>>().into(),
        }
    }
}

/// The graph around a memory, with the memory key of each neighbour.
struct NeighbourhoodWithMemories {
    found: neighbours::Neighbourhood,
    memory_keys: Vec<u64>,
}

impl ToJs for NeighbourhoodWithMemories {
    type Js = Neighbourhood;
    fn to_js(self) -> Neighbourhood {
        let neighbours::Neighbourhood { entities, neighbours } = self.found;
        let entities = entities.into_iter().map(|entity| MentionedEntity {
            id: entity.id,
            name: entity.name,
            kind: entity.kind.to_string(),
            mentions: entity.mentions,
            memories: entity.memories,
            chunk_keys: entity.chunk_keys.into(),
        });
        let neighbours = neighbours.into_iter().zip(self.memory_keys).map(|(neighbour, memory_key)| Neighbour {
            memory_key: BigInt::from(memory_key),
            weight: f64::from(neighbour.weight),
            entities: neighbour.entities,
        });
        Neighbourhood { entities: entities.collect(), neighbours: neighbours.collect() }
    }
}
