//! Parses filters and evaluates how their conditions combine; `filters::attributes` finds the memories that satisfy one
//! condition. `src/domain/filter.ts` defines the filter language, its limits and its meaning, and validates every
//! filter first. For every memory, the result is the same as that of `matchesFilter` in `src/domain/filter.ts`.

use memchr::memmem::Finder;

use crate::error::{Error, Result};
use crate::filters::dictionary::{StoredValue, compare, kind_rank};
use crate::filters::json::{Json, Number, Value};
use crate::filters::memory_set::MemorySet;

/// Maximum nesting depth of a parsed filter. This limit makes recursive parsing safe. It is twice the depth to which
/// eight nested combinators, the limit of the filter language, expand.
const DEPTH_MAX: usize = 64;

/// The field of a condition. Names and paths use the encoding of `filters::json::Value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// `created_at`.
    CreatedAt,
    /// `updated_at`.
    UpdatedAt,
    /// Attribute of the memory itself, by name.
    Attribute(Box<[u8]>),
    /// Path into the memory's metadata: keys joined by dots.
    Metadata(Box<[u8]>),
}

/// Operator of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// Comparison of a value with a bound.
#[derive(Debug, Clone)]
pub struct Comparison {
    operator: Operator,
    bound: StoredValue,
}

/// One end of a range of sorted values.
#[derive(Debug, Clone, Copy)]
pub struct RangeEnd<'bound> {
    /// The value at which the range begins or ends.
    pub value: Value<'bound>,
    /// Whether this end of the range lies after the values equal to `value`; otherwise it lies before them.
    pub is_after_equal: bool,
}

/// Requirement for the values that a memory has at a field. At least one value must satisfy it.
#[derive(Debug, Clone)]
pub enum Condition {
    /// The value, or an item of an array, is one of `values`.
    Equals {
        /// Sorted by `filters::dictionary::compare`.
        values: Vec<StoredValue>,
        /// Whether a memory without a value at the field matches, too.
        matches_absent: bool,
    },
    /// The value, or an item of an array, has the same kind as the bound and satisfies the comparison.
    Compares(Comparison),
    /// The field has a value.
    Exists,
    /// An item of an array is one of `values`, or a text contains the substring.
    Contains {
        /// Sorted by `filters::dictionary::compare`.
        values: Vec<StoredValue>,
        /// Searcher for the substring, if the operand is a text.
        substring: Option<Box<Finder<'static>>>,
    },
}

/// A condition on a field. It is a leaf of the filter's tree.
#[derive(Debug, Clone)]
pub struct FieldCondition {
    /// The field whose values are tested.
    pub field: Field,
    /// The requirement for these values.
    pub condition: Condition,
}

/// A filter.
#[derive(Debug, Clone)]
pub enum Filter {
    /// All of these filters match. The most expensive ones come last.
    And(Vec<Filter>),
    /// At least one of these filters matches.
    Or(Vec<Filter>),
    /// The inner filter does not match.
    Not(Box<Filter>),
    /// The condition is satisfied.
    Field(Box<FieldCondition>),
}

impl Comparison {
    /// Kind of the bound, as numbered by `filters::dictionary::kind_rank`. Only values of this kind can match.
    pub fn kind(&self) -> u8 {
        kind_rank(self.bound.value())
    }

    /// Returns start and end of the range of matching values among all sorted values. `None` as the start is the first
    /// value of the bound's kind; `None` as the end is the last one.
    pub fn range_ends(&self) -> [Option<RangeEnd<'_>>; 2] {
        let end = |is_after_equal| Some(RangeEnd { value: self.bound.value(), is_after_equal });
        match self.operator {
            Operator::Greater => [end(true), None],
            Operator::GreaterOrEqual => [end(false), None],
            Operator::Less => [None, end(false)],
            Operator::LessOrEqual => [None, end(true)],
        }
    }

    fn matches(&self, value: Value<'_>) -> bool {
        let ordering = compare(value, self.bound.value());
        kind_rank(value) == self.kind()
            && match self.operator {
                Operator::Greater => ordering.is_gt(),
                Operator::GreaterOrEqual => ordering.is_ge(),
                Operator::Less => ordering.is_lt(),
                Operator::LessOrEqual => ordering.is_le(),
            }
    }
}

impl Condition {
    /// Whether a value satisfies the condition. `is_item` says that the value is an item of an array.
    pub fn matches(&self, value: Value<'_>, is_item: bool) -> bool {
        match self {
            Condition::Equals { values, .. } => is_one_of(value, values),
            Condition::Compares(comparison) => comparison.matches(value),
            Condition::Exists => true,
            Condition::Contains { values, .. } if is_item => is_one_of(value, values),
            Condition::Contains { .. } => self.is_substring_of(value),
        }
    }

    /// Whether a memory without any value satisfies the condition.
    pub fn matches_absent(&self) -> bool {
        matches!(self, Condition::Equals { matches_absent: true, .. })
    }

    /// Whether the condition is a `Contains` with a substring, and the value is a text that contains this substring.
    pub fn is_substring_of(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Condition::Contains { substring: Some(finder), .. }, Value::Text(text)) => finder.find(text).is_some(),
            _ => false,
        }
    }
}

fn is_one_of(value: Value<'_>, sorted: &[StoredValue]) -> bool {
    sorted.binary_search_by(|other| compare(other.value(), value)).is_ok()
}

impl Filter {
    /// Parses the JSON that `src/adapters/native/filter-json.ts` writes. Fails with `Invalid` for any other text.
    pub fn parse(text: &str) -> Result<Filter> {
        let json = Json::parse(text)?;
        FilterParser { json: &json }.filter(0, 0)
    }

    /// Returns the memories of `within` that match the filter. The callback `select` returns the memories of a set that
    /// satisfy one condition.
    pub fn select(
        &self,
        within: &MemorySet,
        select: &mut impl FnMut(&FieldCondition, &MemorySet) -> MemorySet,
    ) -> MemorySet {
        match self {
            Filter::Field(condition) => select(condition, within),
            Filter::Not(inner) => within.difference(&inner.select(within, select)),
            Filter::And(operands) => {
                let mut remaining = within.clone();
                for operand in operands {
                    if remaining.is_empty() {
                        break;
                    }
                    remaining = operand.select(&remaining, select);
                }
                remaining
            }
            Filter::Or(operands) => {
                let (mut found, mut remaining) = (MemorySet::default(), within.clone());
                for operand in operands {
                    if remaining.is_empty() {
                        break;
                    }
                    let matching = operand.select(&remaining, select);
                    remaining = remaining.difference(&matching);
                    found.add_all(&matching);
                }
                found
            }
        }
    }

    /// Whether one memory matches the filter. The callback `satisfies` says whether this memory satisfies one
    /// condition.
    pub fn matches(&self, satisfies: &mut impl FnMut(&FieldCondition) -> bool) -> bool {
        match self {
            Filter::Field(condition) => satisfies(condition),
            Filter::Not(inner) => !inner.matches(satisfies),
            Filter::And(operands) => operands.iter().all(|operand| operand.matches(satisfies)),
            Filter::Or(operands) => operands.iter().any(|operand| operand.matches(satisfies)),
        }
    }

    /// Whether evaluation may have to search every text at a path for a substring.
    fn is_expensive(&self) -> bool {
        match self {
            Filter::Field(field) => matches!(field.condition, Condition::Contains { substring: Some(_), .. }),
            Filter::Not(inner) => inner.is_expensive(),
            Filter::And(operands) | Filter::Or(operands) => operands.iter().any(Filter::is_expensive),
        }
    }
}

struct FilterParser<'json> {
    json: &'json Json,
}

impl FilterParser<'_> {
    fn filter(&self, node: usize, depth: usize) -> Result<Filter> {
        if depth > DEPTH_MAX {
            return Err(Error::invalid(format!("the filter is nested more than {DEPTH_MAX} levels deep")));
        }
        match self.text(self.required(node, "kind")?)? {
            b"and" => {
                let mut operands = self.operands(node, depth)?;
                operands.sort_by_key(Filter::is_expensive);
                Ok(Filter::And(operands))
            }
            b"or" => Ok(Filter::Or(self.operands(node, depth)?)),
            b"not" => Ok(Filter::Not(Box::new(self.filter(self.required(node, "filter")?, depth + 1)?))),
            b"field" => {
                let field = self.field(self.required(node, "field")?)?;
                let condition = self.condition(self.required(node, "condition")?)?;
                Ok(Filter::Field(Box::new(FieldCondition { field, condition })))
            }
            _ => Err(unknown("kind")),
        }
    }

    fn operands(&self, node: usize, depth: usize) -> Result<Vec<Filter>> {
        let operands = self.json.children(self.required(node, "filters")?);
        operands.map(|operand| self.filter(operand, depth + 1)).collect()
    }

    fn field(&self, node: usize) -> Result<Field> {
        if let Some(path) = self.json.find(node, "metadataPath") {
            return Ok(Field::Metadata(self.text(path)?.into()));
        }
        Ok(match self.text(self.required(node, "attribute")?)? {
            b"created_at" => Field::CreatedAt,
            b"updated_at" => Field::UpdatedAt,
            name => Field::Attribute(name.into()),
        })
    }

    fn condition(&self, node: usize) -> Result<Condition> {
        match self.text(self.required(node, "kind")?)? {
            b"equals" => {
                let values = self.values(node)?;
                let matches_absent = is_one_of(Value::Null, &values);
                Ok(Condition::Equals { values, matches_absent })
            }
            b"compares" => Ok(Condition::Compares(self.comparison(node)?)),
            b"exists" => Ok(Condition::Exists),
            b"contains" => {
                let substring = match self.json.value(self.required(node, "text")?) {
                    Value::Text(text) => Some(Box::new(Finder::new(text).into_owned())),
                    _ => None,
                };
                Ok(Condition::Contains { values: self.values(node)?, substring })
            }
            _ => Err(unknown("condition")),
        }
    }

    fn comparison(&self, node: usize) -> Result<Comparison> {
        let operator = match self.text(self.required(node, "operator")?)? {
            b"$gt" => Operator::Greater,
            b"$gte" => Operator::GreaterOrEqual,
            b"$lt" => Operator::Less,
            b"$lte" => Operator::LessOrEqual,
            _ => return Err(unknown("comparison operator")),
        };
        if let Some(text) = self.json.find(node, "text") {
            return Ok(Comparison { operator, bound: StoredValue::Text(self.text(text)?.into()) });
        }
        // A number is passed as a string, because JSON cannot represent infinity, and the bound 1e400 is infinite.
        let written = std::str::from_utf8(self.text(self.required(node, "number")?)?).ok();
        let bound = match written.and_then(Number::parse).ok_or_else(|| unknown("bound"))? {
            Number::Double(number) => StoredValue::Number(number),
            Number::Integer(digits) => StoredValue::Integer(digits.as_bytes().into()),
        };
        Ok(Comparison { operator, bound })
    }

    fn values(&self, node: usize) -> Result<Vec<StoredValue>> {
        let scalars =
            self.json.children(self.required(node, "scalars")?).map(|scalar| Ok(self.json.value(scalar).into()));
        let composites =
            self.json.children(self.required(node, "composites")?).map(|composite| match self.json.value(composite) {
                value @ Value::Composite(_) => Ok(value.into()),
                _ => Err(unknown("composite value")),
            });
        let mut values = scalars.chain(composites).collect::<Result<Vec<StoredValue>>>()?;
        values.sort_unstable_by(|left, right| compare(left.value(), right.value()));
        Ok(values)
    }

    fn required(&self, node: usize, key: &str) -> Result<usize> {
        self.json.find(node, key).ok_or_else(|| Error::invalid(format!("the filter lacks '{key}'")))
    }

    fn text(&self, node: usize) -> Result<&[u8]> {
        match self.json.value(node) {
            Value::Text(text) => Ok(text),
            _ => Err(Error::invalid("the filter has another value where a text belongs")),
        }
    }
}

fn unknown(what: &str) -> Error {
    Error::invalid(format!("the filter has an unknown {what}"))
}
