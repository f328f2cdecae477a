//! A filter over attributes: its conditions, and how they combine.
//! The language, its limits and its meaning are `src/domain/filter.ts`; this reads what that file checked, and agrees with
//! its `matchesFilter` on every memory. Where the values are found is `filters::attributes`' question.

use memchr::memmem::Finder;

use crate::error::{Error, Result};
use crate::filters::dictionary::{Content, compare, rank};
use crate::filters::json::{Json, Value};
use crate::filters::memory_set::MemorySet;

/// Nodes of a filter around one another: twice what the language's eight combinators come to, so that reading may recurse.
const DEPTH_MAX: usize = 64;

/// What a condition is about; names and paths in the encoding of `filters::json::Value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// `created_at`.
    CreatedAt,
    /// `updated_at`.
    UpdatedAt,
    /// An attribute of the memory itself.
    Attribute(Box<[u8]>),
    /// A dotted path into its metadata.
    Metadata(Box<[u8]>),
}

/// On which side of a bound a value has to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// A bound, and the side of it.
#[derive(Debug, Clone)]
pub struct Comparison {
    side: Side,
    bound: Content,
}

/// What has to hold for one of the values that a memory has at a field.
#[derive(Debug, Clone)]
pub enum Condition {
    /// A value or an item of it is one of these (sorted).
    Equals {
        /// In the order of `filters::dictionary::compare`.
        values: Vec<Content>,
        /// Whether it holds where there is no value, too.
        with_absent: bool,
    },
    /// A value or an item of it has the bound's kind and lies on its side.
    Compares(Comparison),
    /// There is a value.
    Exists,
    /// An item of an array is one of these (sorted), or a text holds this text.
    Contains {
        /// In the order of `filters::dictionary::compare`.
        values: Vec<Content>,
        /// Searches for the text.
        text: Option<Box<Finder<'static>>>,
    },
}

/// A condition on a field.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// What it is about.
    pub field: Field,
    /// What has to hold.
    pub condition: Condition,
}

/// A filter.
#[derive(Debug, Clone)]
pub enum Filter {
    /// All of these hold; the dearest stand last.
    And(Vec<Filter>),
    /// One of these holds.
    Or(Vec<Filter>),
    /// This does not hold.
    Not(Box<Filter>),
    /// This holds.
    Leaf(Box<Leaf>),
}

impl Comparison {
    /// The rank of the values that can be compared with the bound, see `filters::dictionary::rank`.
    pub fn kind(&self) -> u8 {
        rank(self.bound.value())
    }

    /// Where among the values in order those begin and end for which this holds: before (`false`) or behind (`true`) those
    /// that are equal to the bound; `None`: with the first, or the last, of the bound's kind.
    pub fn ends(&self) -> [Option<(Value<'_>, bool)>; 2] {
        let bound = self.bound.value();
        match self.side {
            Side::Above => [Some((bound, true)), None],
            Side::AtLeast => [Some((bound, false)), None],
            Side::Below => [None, Some((bound, false))],
            Side::AtMost => [None, Some((bound, true))],
        }
    }

    fn holds(&self, value: Value<'_>) -> bool {
        let ordering = compare(value, self.bound.value());
        rank(value) == self.kind()
            && match self.side {
                Side::Above => ordering.is_gt(),
                Side::AtLeast => ordering.is_ge(),
                Side::Below => ordering.is_lt(),
                Side::AtMost => ordering.is_le(),
            }
    }
}

impl Condition {
    /// Whether it holds for a value, or for an item of an array.
    pub fn holds(&self, value: Value<'_>, is_item: bool) -> bool {
        match self {
            Condition::Equals { values, .. } => is_among(value, values),
            Condition::Compares(comparison) => comparison.holds(value),
            Condition::Exists => true,
            Condition::Contains { values, .. } if is_item => is_among(value, values),
            Condition::Contains { .. } => self.is_in_text(value),
        }
    }

    /// Whether it holds for a memory without any value.
    pub fn holds_for_absent(&self) -> bool {
        matches!(self, Condition::Equals { with_absent: true, .. })
    }

    /// Whether a value is a text that holds the text of a `Contains`.
    pub fn is_in_text(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Condition::Contains { text: Some(finder), .. }, Value::Text(text)) => finder.find(text).is_some(),
            _ => false,
        }
    }
}

fn is_among(value: Value<'_>, values: &[Content]) -> bool {
    values.binary_search_by(|other| compare(other.value(), value)).is_ok()
}

impl Filter {
    /// Reads a filter as `src/adapters/native/filter-json.ts` writes it. `Invalid` for anything else.
    pub fn parse(text: &str) -> Result<Filter> {
        let json = Json::parse(text)?;
        Reader { json: &json }.filter(0, 0)
    }

    /// The memories of a set that lie within the filter. `select` says for which memories of a set a condition holds.
    pub fn confine(&self, within: &MemorySet, select: &mut impl FnMut(&Leaf, &MemorySet) -> MemorySet) -> MemorySet {
        match self {
            Filter::Leaf(leaf) => select(leaf, within),
            Filter::Not(inner) => within.difference(&inner.confine(within, select)),
            Filter::And(parts) => {
                let mut left = within.clone();
                for part in parts {
                    if left.is_empty() {
                        break;
                    }
                    left = part.confine(&left, select);
                }
                left
            }
            Filter::Or(parts) => {
                let (mut found, mut left) = (MemorySet::default(), within.clone());
                for part in parts {
                    if left.is_empty() {
                        break;
                    }
                    let more = part.confine(&left, select);
                    left = left.difference(&more);
                    found.add_all(&more);
                }
                found
            }
        }
    }

    /// Whether one memory lies within the filter. `holds` says whether a condition holds for it.
    pub fn matches(&self, holds: &mut impl FnMut(&Leaf) -> bool) -> bool {
        match self {
            Filter::Leaf(leaf) => holds(leaf),
            Filter::Not(inner) => !inner.matches(holds),
            Filter::And(parts) => parts.iter().all(|part| part.matches(holds)),
            Filter::Or(parts) => parts.iter().any(|part| part.matches(holds)),
        }
    }

    /// Whether every text of a path may have to be looked at.
    fn is_dear(&self) -> bool {
        match self {
            Filter::Leaf(leaf) => matches!(leaf.condition, Condition::Contains { text: Some(_), .. }),
            Filter::Not(inner) => inner.is_dear(),
            Filter::And(parts) | Filter::Or(parts) => parts.iter().any(Filter::is_dear),
        }
    }
}

struct Reader<'json> {
    json: &'json Json,
}

impl Reader<'_> {
    fn filter(&self, node: usize, depth: usize) -> Result<Filter> {
        if depth > DEPTH_MAX {
            return Err(Error::invalid("a filter that is nested too deeply"));
        }
        match self.text(self.at(node, "kind")?)? {
            b"and" => {
                let mut parts = self.filters(node, depth)?;
                parts.sort_by_key(Filter::is_dear);
                Ok(Filter::And(parts))
            }
            b"or" => Ok(Filter::Or(self.filters(node, depth)?)),
            b"not" => Ok(Filter::Not(Box::new(self.filter(self.at(node, "filter")?, depth + 1)?))),
            b"field" => {
                let field = self.field(self.at(node, "field")?)?;
                let condition = self.condition(self.at(node, "condition")?)?;
                Ok(Filter::Leaf(Box::new(Leaf { field, condition })))
            }
            _ => Err(unknown("filter")),
        }
    }

    fn filters(&self, node: usize, depth: usize) -> Result<Vec<Filter>> {
        self.json.children(self.at(node, "filters")?).map(|part| self.filter(part, depth + 1)).collect()
    }

    fn field(&self, node: usize) -> Result<Field> {
        if let Some(path) = self.json.find(node, "metadataPath") {
            return Ok(Field::Metadata(self.text(path)?.into()));
        }
        Ok(match self.text(self.at(node, "attribute")?)? {
            b"created_at" => Field::CreatedAt,
            b"updated_at" => Field::UpdatedAt,
            name => Field::Attribute(name.into()),
        })
    }

    fn condition(&self, node: usize) -> Result<Condition> {
        match self.text(self.at(node, "kind")?)? {
            b"equals" => {
                let values = self.values(node)?;
                let with_absent = is_among(Value::Null, &values);
                Ok(Condition::Equals { values, with_absent })
            }
            b"compares" => Ok(Condition::Compares(self.comparison(node)?)),
            b"exists" => Ok(Condition::Exists),
            b"contains" => {
                let text = match self.json.value(self.at(node, "text")?) {
                    Value::Text(text) => Some(Box::new(Finder::new(text).into_owned())),
                    _ => None,
                };
                Ok(Condition::Contains { values: self.values(node)?, text })
            }
            _ => Err(unknown("condition")),
        }
    }

    fn comparison(&self, node: usize) -> Result<Comparison> {
        let side = match self.text(self.at(node, "operator")?)? {
            b"$gt" => Side::Above,
            b"$gte" => Side::AtLeast,
            b"$lt" => Side::Below,
            b"$lte" => Side::AtMost,
            _ => return Err(unknown("comparison")),
        };
        if let Some(text) = self.json.find(node, "text") {
            return Ok(Comparison { side, bound: Content::Text(self.text(text)?.into()) });
        }
        // as a text: JSON has no infinity, and 1e400 is a bound like any other
        let written = std::str::from_utf8(self.text(self.at(node, "number")?)?).ok();
        let number = written.and_then(|text| text.parse::<f64>().ok()).filter(|number| !number.is_nan());
        Ok(Comparison { side, bound: Content::Number(number.ok_or_else(|| unknown("bound"))? + 0.0) })
    }

    fn values(&self, node: usize) -> Result<Vec<Content>> {
        let scalars = self.json.children(self.at(node, "scalars")?).map(|scalar| Ok(self.json.value(scalar).into()));
        let composites =
            self.json.children(self.at(node, "composites")?).map(|composite| match self.json.value(composite) {
                value @ Value::Composite(_) => Ok(value.into()),
                _ => Err(unknown("composite")),
            });
        let mut values = scalars.chain(composites).collect::<Result<Vec<Content>>>()?;
        values.sort_unstable_by(|left, right| compare(left.value(), right.value()));
        Ok(values)
    }

    fn at(&self, node: usize, key: &str) -> Result<usize> {
        self.json.find(node, key).ok_or_else(|| Error::invalid(format!("a filter without '{key}'")))
    }

    fn text(&self, node: usize) -> Result<&[u8]> {
        match self.json.value(node) {
            Value::Text(text) => Ok(text),
            _ => Err(Error::invalid("a filter with a value in place of a text")),
        }
    }
}

fn unknown(what: &str) -> Error {
    Error::invalid(format!("a filter with an unknown {what}"))
}
