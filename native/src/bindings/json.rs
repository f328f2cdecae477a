//! JSON bodies for JavaScript.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::Env;
use napi::bindgen_prelude::{Either, Null, PromiseRaw, Uint8ArraySlice};
use napi_derive::napi;

use crate::bindings::conversions::or_null;
use crate::bindings::tasks::{ToJs, run, run_in_background};
use crate::error::{Error, Result};
use crate::json::body::{ArrivingBody, SplitBody, path_json};
use crate::json::counter::{Counter, Exceeded, Limits};
use crate::json::split::{GroupedArray, Refusal, Step};

/// Limits of a JSON text.
#[napi(object)]
pub struct JsonLimits {
    /// Maximum nesting depth of objects and arrays.
    pub depth: u32,
    /// Maximum number of values, containers included.
    pub values: u32,
    /// Maximum number of values of a part.
    pub part_values: u32,
    /// Maximum number of members of all objects of a part.
    pub part_members: u32,
    /// If true, each item of an array in the outermost object is a part, such as each memory of a batch. If false, the
    /// whole text is the only part.
    pub are_items_parts: bool,
}

/// An array in the outermost object that is taken out in groups of items.
#[napi(object)]
pub struct JsonGroupedArray {
    /// Path of the array as a JSON array with one name.
    pub path: String,
    /// Number of groups.
    pub groups: u32,
}

/// The parts of a body; or why it is refused.
#[napi(object)]
pub struct JsonParts {
    /// The body without its long texts and grouped arrays. `"\u0000text N"` stands for long text `N` of `texts`,
    /// `"\u0000array N"` for array `N` of `arrays`. No other text contains NUL.
    pub skeleton: String,
    /// Paths of the long texts, each as a JSON array of names and positions.
    pub texts: Vec<String>,
    pub arrays: Vec<JsonGroupedArray>,
    /// null if the body is valid.
    #[napi(ts_type = "'syntax' | 'nul' | 'surrogate' | 'number' | 'longPart' | 'longName' | null")]
    pub refusal: Either<String, Null>,
    /// For the refusal `syntax`: what was expected, and at which byte. For any other: the path of the value, as a JSON
    /// array.
    pub detail: String,
}

/// A piece of a long text that was written to a buffer.
#[napi(object)]
pub struct JsonTextPiece {
    /// Number of bytes written; 0 at the end of the text.
    pub bytes: u32,
    /// Where the next piece starts.
    pub next: u32,
}

/// A JSON body that arrives in pieces. When it is complete, it is parsed on a thread of low priority.
#[napi]
pub struct NativeJsonBody {
    state: Arc<Mutex<State>>,
}

enum State {
    Arriving(ArrivingBody),
    /// The body is being parsed, or it was refused.
    Gone,
    Complete(Arc<SplitBody>),
}

#[napi]
impl NativeJsonBody {
    /// Creates an empty body.
    #[napi(constructor, catch_unwind)]
    pub fn new(limits: JsonLimits) -> NativeJsonBody {
        NativeJsonBody { state: Arc::new(Mutex::new(State::Arriving(ArrivingBody::new(limits.into())))) }
    }

    /// Adds the next bytes. Returns the limit that is exceeded; null if there is none.
    #[napi(catch_unwind, ts_return_type = "'depth' | 'values' | 'partValues' | 'partMembers' | null")]
    pub fn add(&self, bytes: Uint8ArraySlice<'_>) -> napi::Result<Either<String, Null>> {
        run(|| match &mut *locked(&self.state) {
            State::Arriving(body) => Ok(or_null(body.add(&bytes).err().map(exceeded_name))),
            State::Gone | State::Complete(_) => Err(Error::invalid("the body is complete")),
        })
    }

    /// Parses the complete body on a thread of low priority. Call it once.
    #[napi(catch_unwind, ts_return_type = "Promise<JsonParts>")]
    pub fn split<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, JsonParts>> {
        let state = Arc::clone(&self.state);
        run_in_background(env, move || {
            let State::Arriving(body) = std::mem::replace(&mut *locked(&state), State::Gone) else {
                return Err(Error::invalid("the body was parsed already"));
            };
            Ok(match body.complete() {
                Ok(body) => {
                    let body = Arc::new(body);
                    *locked(&state) = State::Complete(Arc::clone(&body));
                    Parsed { skeleton: body.skeleton(), body: Some(body), refusal: None }
                }
                Err((refusal, bytes)) => {
                    Parsed { skeleton: String::new(), body: None, refusal: Some(shown(refusal, &bytes)) }
                }
            })
        })
    }

    /// Returns the items of a group of a grouped array, as JSON text. Throws `invalid` if there is no such group.
    #[napi(catch_unwind)]
    pub fn group(&self, array: u32, group: u32) -> napi::Result<String> {
        run(|| self.complete()?.group(array as usize, group as usize))
    }

    /// Writes the piece of a long text that begins at `start` to `out`: as UTF-8; if `isJson`, as the bytes of the
    /// body, with escape sequences and without the quotes. `out` has more than 12 bytes, and nobody else uses it during
    /// the call.
    #[napi(catch_unwind)]
    pub fn text_piece(
        &self,
        text: u32,
        start: u32,
        is_json: bool,
        mut out: Uint8ArraySlice<'_>,
    ) -> napi::Result<JsonTextPiece> {
        run(|| {
            let body = self.complete()?;
            // SAFETY: JavaScript runs on this thread only, and the buffer belongs to the caller of this function.
            let out = unsafe { out.as_mut() };
            let (text, start) = (text as usize, start as usize);
            let piece = if is_json { body.raw_piece(text, start, out) } else { body.text_piece(text, start, out) }?;
            Ok(JsonTextPiece { bytes: piece.bytes as u32, next: piece.next as u32 })
        })
    }

    /// Frees the body. The garbage collector does not know how large it is.
    #[napi(catch_unwind)]
    pub fn release(&self) {
        *locked(&self.state) = State::Gone;
    }

    /// Returns a long text. It is decoded on a thread of low priority.
    #[napi(catch_unwind)]
    pub fn text<'env>(&self, env: &'env Env, text: u32) -> napi::Result<PromiseRaw<'env, String>> {
        let body = run(|| self.complete())?;
        run_in_background(env, move || Ok(Text(body.text(text as usize)?)))
    }
}

impl NativeJsonBody {
    fn complete(&self) -> Result<Arc<SplitBody>> {
        match &*locked(&self.state) {
            State::Complete(body) => Ok(Arc::clone(body)),
            State::Arriving(_) | State::Gone => Err(Error::invalid("the body was not parsed")),
        }
    }
}

/// Counts a JSON text. Returns the limit that is exceeded; null if there is none.
#[napi(catch_unwind, ts_return_type = "'depth' | 'values' | 'partValues' | 'partMembers' | null")]
pub fn exceeded_json_limit(bytes: Uint8ArraySlice<'_>, limits: JsonLimits) -> Either<String, Null> {
    or_null(Counter::new(limits.into()).add(&bytes).err().map(exceeded_name))
}

/// A body that was parsed, or the kind and the detail of its refusal.
struct Parsed {
    skeleton: String,
    body: Option<Arc<SplitBody>>,
    refusal: Option<(&'static str, String)>,
}

impl ToJs for Parsed {
    type Js = JsonParts;

    fn to_js(self) -> JsonParts {
        let (refusal, detail) = self.refusal.map_or((None, String::new()), |(kind, detail)| (Some(kind), detail));
        let mut parts = JsonParts {
            skeleton: self.skeleton,
            texts: Vec::new(),
            arrays: Vec::new(),
            refusal: or_null(refusal.map(str::to_owned)),
            detail,
        };
        if let Some(body) = self.body {
            parts.texts = body.parts().texts.iter().map(|text| path_json(body.bytes(), &text.path)).collect();
            let name = |range: &Range<usize>| path_json(body.bytes(), &[Step::Name(range.clone())]);
            let array =
                |array: &GroupedArray| JsonGroupedArray { path: name(&array.name), groups: array.groups.len() as u32 };
            parts.arrays = body.parts().arrays.iter().map(array).collect();
        }
        parts
    }
}

struct Text(String);

impl ToJs for Text {
    type Js = String;

    fn to_js(self) -> String {
        self.0
    }
}

/// The kind of a refusal, and its detail.
fn shown(refusal: Refusal, bytes: &[u8]) -> (&'static str, String) {
    let (kind, path) = match refusal {
        Refusal::Syntax(message) => return ("syntax", message),
        Refusal::Nul(path) => ("nul", path),
        Refusal::LoneSurrogate(path) => ("surrogate", path),
        Refusal::Number(path) => ("number", path),
        Refusal::LongPart(path) => ("longPart", path),
        Refusal::LongName(path) => ("longName", path),
    };
    (kind, path_json(bytes, &path))
}

fn exceeded_name(exceeded: Exceeded) -> String {
    let name = match exceeded {
        Exceeded::Depth => "depth",
        Exceeded::Values => "values",
        Exceeded::PartValues => "partValues",
        Exceeded::PartMembers => "partMembers",
    };
    name.to_owned()
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl From<JsonLimits> for Limits {
    fn from(limits: JsonLimits) -> Limits {
        let JsonLimits { depth, values, part_values, part_members, are_items_parts } = limits;
        Limits { depth, values, part_values, part_members, are_items_parts }
    }
}
