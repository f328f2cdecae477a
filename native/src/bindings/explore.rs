//! The entities of a project for JavaScript: list, surroundings, paths.

use napi::Env;
use napi::bindgen_prelude::{BigInt, BigUint64Array, Either, Null, PromiseRaw};
use napi_derive::napi;

use crate::bindings::admissible::NativeAdmissible;
use crate::bindings::conversions::{checked_key, or_null};
use crate::bindings::index::NativeIndex;
use crate::bindings::tasks::ToJs;
use crate::entities::explore;
use crate::error::{Error, Result};

/// Merges and names that a person gave to entities. Entities are given by their hashes: `merged[i]` counts as
/// `into[i]`, which is not merged itself, and `named[i]` has the name `names[i]`.
#[napi(object)]
pub struct EntityCuration {
    pub merged: BigUint64Array,
    pub into: BigUint64Array,
    pub named: BigUint64Array,
    pub names: Vec<String>,
}

/// Which entities a list contains.
#[napi(object)]
pub struct EntityListOptions {
    /// Only entities whose name contains this text, which is in lower case.
    pub part: Option<String>,
    #[napi(ts_type = "\"t\" | \"c\" | \"q\" | \"i\" | \"d\" | \"k\"")]
    pub kind: Option<String>,
    /// `order` of the last entity of the previous page; absent for the first page.
    pub after: Option<BigInt>,
    /// Maximum number of entities, 1 to 2,000.
    pub limit: u32,
}

/// An entity of an admissible set.
#[napi(object)]
pub struct EntityNode {
    /// Hash of its words. It never changes.
    pub hash: BigInt,
    pub name: String,
    /// First letter of title, capitalised, quoted, identifier, date or key phrase.
    #[napi(ts_type = "\"t\" | \"c\" | \"q\" | \"i\" | \"d\" | \"k\"")]
    pub kind: String,
    /// Number of admissible memories that mention it.
    pub memories: u32,
    /// A chunk that mentions it.
    pub chunk_key: BigInt,
    /// Sort key in the list, ascending and below 2^63: the more memories, the smaller.
    pub order: BigInt,
}

/// An entity, its neighbours (the entities of the same passages), and the passages that mention it, the newest first.
#[napi(object)]
pub struct EntitySurroundings {
    pub entity: EntityNode,
    pub neighbours: Vec<EntityNode>,
    /// Weight of each neighbour in 0..1, the greatest first.
    pub weights: Vec<f64>,
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
}

/// A path between two entities. Passage `i` mentions both `entities[i]` and `entities[i + 1]`. `knowsFirst` and
/// `knowsLast` say whether the admissible set mentions the two ends.
#[napi(object)]
pub struct EntityPath {
    pub knows_first: bool,
    pub knows_last: bool,
    /// Empty if there is no path.
    pub entities: Vec<EntityNode>,
    pub chunk_keys: BigUint64Array,
    pub memory_keys: BigUint64Array,
}

#[napi]
impl NativeIndex {
    /// See `Project::entities`.
    #[napi(catch_unwind)]
    pub fn entities<'env>(
        &self,
        env: &'env Env,
        within: &NativeAdmissible,
        curation: EntityCuration,
        options: EntityListOptions,
    ) -> napi::Result<PromiseRaw<'env, Vec<EntityNode>>> {
        let within = within.share();
        self.read(env, move |project| {
            let query = explore::EntityQuery {
                part: options.part,
                kind: options.kind.and_then(|kind| kind.chars().next()),
                after: options.after.map(|after| checked_key(&after, "place in a list")).transpose()?,
                limit: options.limit as usize,
            };
            Ok(Nodes(project.entities(&within, &checked(curation)?, &query)?))
        })
    }

    /// See `Project::entity`.
    #[napi(catch_unwind)]
    pub fn entity<'env>(
        &self,
        env: &'env Env,
        hash: BigInt,
        within: &NativeAdmissible,
        curation: EntityCuration,
        limit: u32,
    ) -> napi::Result<PromiseRaw<'env, Either<EntitySurroundings, Null>>> {
        let within = within.share();
        self.read(env, move |project| {
            let hash = checked_key(&hash, "hash of an entity")?;
            let found = project.entity(hash, &within, &checked(curation)?, limit as usize)?;
            Ok(FoundEntity(found.map(|found| {
                let memory_keys = project.memory_keys(found.passages.iter().map(|(_, ordinal)| *ordinal));
                (found, memory_keys)
            })))
        })
    }

    /// See `Project::entity_path`.
    #[napi(catch_unwind)]
    pub fn entity_path<'env>(
        &self,
        env: &'env Env,
        from: BigInt,
        to: BigInt,
        within: &NativeAdmissible,
        curation: EntityCuration,
    ) -> napi::Result<PromiseRaw<'env, EntityPath>> {
        let within = within.share();
        self.read(env, move |project| {
            let (from, to) = (checked_key(&from, "hash of an entity")?, checked_key(&to, "hash of an entity")?);
            let found = project.entity_path(from, to, &within, &checked(curation)?)?;
            let memory_keys = project.memory_keys(found.links.iter().map(|(_, ordinal)| *ordinal));
            Ok(PathWithMemories { found, memory_keys })
        })
    }
}

fn checked(curation: EntityCuration) -> Result<explore::Curation> {
    let EntityCuration { merged, into, named, names } = curation;
    if merged.len() != into.len() || named.len() != names.len() {
        return Err(Error::invalid("the lists of a curation differ in length"));
    }
    Ok(explore::Curation {
        merged: merged.iter().copied().zip(into.iter().copied()).collect(),
        named: named.iter().copied().zip(names).collect(),
    })
}

fn node(node: explore::EntityNode) -> EntityNode {
    EntityNode {
        hash: BigInt::from(node.hash),
        name: node.name,
        kind: node.kind.to_string(),
        memories: node.memories,
        chunk_key: BigInt::from(node.chunk_key),
        order: BigInt::from(node.order),
    }
}

struct Nodes(Vec<explore::EntityNode>);

impl ToJs for Nodes {
    type Js = Vec<EntityNode>;
    fn to_js(self) -> Vec<EntityNode> {
        self.0.into_iter().map(node).collect()
    }
}

struct FoundEntity(Option<(explore::Surroundings, Vec<u64>)>);

impl ToJs for FoundEntity {
    type Js = Either<EntitySurroundings, Null>;
    fn to_js(self) -> Either<EntitySurroundings, Null> {
        or_null(self.0.map(|(found, memory_keys)| {
            let (neighbours, weights): (Vec<_>, Vec<_>) =
                found.neighbours.into_iter().map(|(neighbour, weight)| (node(neighbour), f64::from(weight))).unzip();
            EntitySurroundings {
                entity: node(found.entity),
                neighbours,
                weights,
                chunk_keys: found.passages.iter().map(|(chunk_key, _)| *chunk_key).collect::<Vec<_>>().into(),
                memory_keys: memory_keys.into(),
            }
        }))
    }
}

struct PathWithMemories {
    found: explore::EntityPath,
    memory_keys: Vec<u64>,
}

impl ToJs for PathWithMemories {
    type Js = EntityPath;
    fn to_js(self) -> EntityPath {
        let explore::EntityPath { known, entities, links } = self.found;
        EntityPath {
            knows_first: known.0,
            knows_last: known.1,
            entities: entities.into_iter().map(node).collect(),
            chunk_keys: links.iter().map(|(chunk_key, _)| *chunk_key).collect::<Vec<_>>().into(),
            memory_keys: self.memory_keys.into(),
        }
    }
}
