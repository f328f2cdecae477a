//! Checks and conversions of single values that come from JavaScript.

use napi::bindgen_prelude::{BigInt, Either, Null};

use crate::error::{Error, Result};

/// The latest time that a JavaScript `Date` can hold, in ms since 1970.
const DATE_MS_MAX: f64 = 8.64e15;

/// Reads a key that JavaScript passes as a `bigint`. `what` is the name of the key in the error.
pub(super) fn checked_key(key: &BigInt, what: &str) -> Result<u64> {
    match key.get_u64() {
        (false, key, true) => Ok(key),
        _ => Err(Error::invalid(format!("a {what} outside of 64 bits"))),
    }
}

/// Reads a user key. `None` means the whole project.
pub(super) fn checked_user(user_key: Option<BigInt>) -> Result<Option<u64>> {
    user_key.map(|key| checked_key(&key, "user key")).transpose()
}

/// Reads a time in ms since 1970, and rounds it up.
pub(super) fn checked_ms(ms: f64) -> Result<u64> {
    if (0.0..=DATE_MS_MAX).contains(&ms) {
        return Ok(ms.ceil() as u64);
    }
    Err(Error::invalid(format!("{ms} is not a time in ms since 1970")))
}

/// Converts `string | null` to an option.
pub(super) fn optional_text(text: &Either<String, Null>) -> Option<&str> {
    match text {
        Either::A(text) => Some(text),
        Either::B(Null) => None,
    }
}

/// Converts an option to `T | null`.
pub(super) fn or_null<Value>(value: Option<Value>) -> Either<Value, Null> {
    value.map_or(Either::B(Null), Either::A)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_of_a_date_are_refused() {
        assert_eq!(checked_ms(0.0), Ok(0));
        assert_eq!(checked_ms(DATE_MS_MAX), Ok(8_640_000_000_000_000));
        for bad in [-1.0, f64::NAN, f64::INFINITY, DATE_MS_MAX * 1.1] {
            assert!(checked_ms(bad).is_err(), "{bad}");
        }
    }
}
