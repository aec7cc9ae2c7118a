//! Ranges of bytes and of elements, filled in and checked.

use std::ops::{Bound, Range, RangeBounds};

use cl3::error_codes::CL_INVALID_VALUE;

use crate::error::{Error, Result};

/// Returns `range` of `size` units with its ends filled in; `None` where it exceeds them.
#[inline]
fn filled_in(size: usize, range: &impl RangeBounds<usize>) -> Option<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1)?,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => size,
    };
    (start <= end && end <= size).then_some(start..end)
}

/// Returns `range` with its ends filled in, of the `size` bytes of `what`.
#[inline]
pub(crate) fn checked_range(
    call: &'static str,
    what: &str,
    size: usize,
    range: impl RangeBounds<usize>,
) -> Result<Range<usize>> {
    match filled_in(size, &range) {
        Some(range) => Ok(range),
        None => Err(no_such_range(call, what, size, range.start_bound(), range.end_bound())),
    }
}

#[cold]
fn no_such_range(
    call: &'static str,
    what: &str,
    size: usize,
    start: Bound<&usize>,
    end: Bound<&usize>,
) -> Error {
    let reason = format!("bytes {} exceed a {what} of {size} bytes", shown(start, end));
    Error::refused(call, CL_INVALID_VALUE, reason)
}

/// Returns the range in Rust's notation.
fn shown(start: Bound<&usize>, end: Bound<&usize>) -> String {
    let start = match start {
        Bound::Included(start) => start.to_string(),
        Bound::Excluded(before) => format!("(after {before})"),
        Bound::Unbounded => String::new(),
    };
    match end {
        Bound::Included(last) => format!("{start}..={last}"),
        Bound::Excluded(end) => format!("{start}..{end}"),
        Bound::Unbounded => format!("{start}.."),
    }
}

/// Returns the bytes of the elements `range`, of the `size` bytes of `what`. Element `i` begins at byte
/// `i * size_of::<T>()`.
///
/// # Errors
/// CL_INVALID_VALUE for an empty range, for elements that exceed the bytes, for elements of 0 bytes, and,
/// where the range has no end, for bytes that are not a whole number of elements.
#[inline]
pub(crate) fn checked_elements<T>(
    call: &'static str,
    what: &str,
    size: usize,
    range: impl RangeBounds<usize>,
) -> Result<Range<usize>> {
    let item = size_of::<T>();
    let has_end = range.end_bound() != Bound::Unbounded;
    if item > 0
        && (has_end || size.is_multiple_of(item))
        && let Some(elements) = filled_in(size / item, &range)
    {
        // Neither product overflows: both are at most `size`.
        let bytes = elements.start * item..elements.end * item;
        return check_not_empty(call, &bytes).map(|()| bytes);
    }
    Err(no_such_elements(call, what, size, item, range.start_bound(), range.end_bound()))
}

#[cold]
fn no_such_elements(
    call: &'static str,
    what: &str,
    size: usize,
    item: usize,
    start: Bound<&usize>,
    end: Bound<&usize>,
) -> Error {
    let reason = match size.checked_rem(item) {
        None => "elements of 0 bytes have no addresses of their own".to_owned(),
        Some(rest) if rest > 0 && end == Bound::Unbounded => format!(
            "a {what} of {size} bytes is not a whole number of elements of {item} bytes; give the \
             range an end"
        ),
        Some(_) => format!(
            "elements {} exceed a {what} of {} elements of {item} bytes",
            shown(start, end),
            size / item
        ),
    };
    Error::refused(call, CL_INVALID_VALUE, reason)
}

/// Returns the `len` bytes from `offset` on, of the `size` bytes of `what`.
#[inline]
pub(crate) fn checked_span(
    call: &'static str,
    what: &str,
    size: usize,
    offset: usize,
    len: usize,
) -> Result<Range<usize>> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(offset..end),
        _ => Err(no_such_span(call, what, size, offset, len)),
    }
}

#[cold]
fn no_such_span(call: &'static str, what: &str, size: usize, offset: usize, len: usize) -> Error {
    let reason = format!("{len} bytes from byte {offset} on exceed a {what} of {size} bytes");
    Error::refused(call, CL_INVALID_VALUE, reason)
}

/// Refuses an empty range. Drivers disagree on commands on 0 bytes.
// quirk: DRIVER-2
#[inline]
pub(crate) fn check_not_empty(call: &'static str, range: &Range<usize>) -> Result<()> {
    if range.is_empty() { Err(no_bytes(call)) } else { Ok(()) }
}

#[cold]
fn no_bytes(call: &'static str) -> Error {
    Error::refused(call, CL_INVALID_VALUE, "the command has 0 bytes")
}

/// Returns whether two ranges have a byte in common.
#[inline]
pub(crate) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_filled_in_and_checked() {
        use Bound::{Excluded, Included, Unbounded};
        for (range, expected) in [
            ((Unbounded, Unbounded), Some(0..8)),
            ((Included(2), Unbounded), Some(2..8)),
            ((Unbounded, Excluded(8)), Some(0..8)),
            ((Unbounded, Excluded(9)), None),
            ((Unbounded, Included(7)), Some(0..8)),
            ((Unbounded, Included(8)), None),
            ((Included(3), Included(3)), Some(3..4)),
            ((Excluded(3), Excluded(5)), Some(4..5)),
            ((Excluded(7), Unbounded), Some(8..8)),
            ((Excluded(8), Unbounded), None),
            ((Included(8), Unbounded), Some(8..8)),
            ((Included(9), Unbounded), None),
            ((Included(5), Excluded(5)), Some(5..5)),
            ((Included(5), Excluded(4)), None),
            ((Unbounded, Included(usize::MAX)), None),
            ((Excluded(usize::MAX), Unbounded), None),
        ] {
            assert_eq!(filled_in(8, &range), expected, "{range:?}");
        }
    }

    #[test]
    fn elements_are_counted_from_the_first_byte() {
        use Bound::{Excluded, Included, Unbounded};
        let bytes = |size, range| checked_elements::<u32>("call", "buffer", size, range).ok();
        for (size, range, expected) in [
            (16, (Unbounded, Unbounded), Some(0..16)),
            (16, (Included(1), Unbounded), Some(4..16)),
            (16, (Included(1), Excluded(3)), Some(4..12)),
            (16, (Included(1), Included(3)), Some(4..16)),
            (16, (Excluded(1), Unbounded), Some(8..16)),
            (16, (Included(1), Excluded(5)), None),
            (16, (Included(1), Included(4)), None),
            (16, (Included(4), Unbounded), None),
            (16, (Included(5), Unbounded), None),
            (16, (Included(2), Excluded(2)), None),
            (18, (Unbounded, Unbounded), None),
            (18, (Included(1), Unbounded), None),
            (18, (Unbounded, Excluded(4)), Some(0..16)),
            (18, (Included(3), Included(3)), Some(12..16)),
            (18, (Unbounded, Excluded(5)), None),
            (3, (Unbounded, Unbounded), None),
            (3, (Unbounded, Excluded(1)), None),
            (0, (Unbounded, Unbounded), None),
            (16, (Included(usize::MAX / 4 + 1), Unbounded), None),
            (16, (Unbounded, Excluded(usize::MAX / 4 + 2)), None),
            (16, (Unbounded, Included(usize::MAX)), None),
            (usize::MAX, (Unbounded, Excluded(1)), Some(0..4)),
        ] {
            assert_eq!(bytes(size, range), expected, "{range:?} of {size} bytes");
        }
        assert!(checked_elements::<[u32; 0]>("call", "buffer", 16, ..).is_err());
    }

    #[test]
    fn refused_elements_are_counted_in_elements() {
        let reason = |size, range| match checked_elements::<u32>("call", "buffer", size, range) {
            Ok(bytes) => panic!("{bytes:?}"),
            Err(error) => error.detail().to_owned(),
        };
        assert_eq!(
            reason(16, (Bound::Included(2), Bound::Excluded(5))),
            "elements 2..5 exceed a buffer of 4 elements of 4 bytes"
        );
        assert_eq!(
            reason(18, (Bound::Unbounded, Bound::Unbounded)),
            "a buffer of 18 bytes is not a whole number of elements of 4 bytes; give the range an end"
        );
    }

    #[test]
    fn spans_are_checked() {
        for (offset, len, expected) in [
            (0, 8, Some(0..8)),
            (0, 9, None),
            (7, 1, Some(7..8)),
            (7, 2, None),
            (8, 0, Some(8..8)),
            (8, 1, None),
            (9, 0, None),
            (1, usize::MAX, None),
            (usize::MAX, 1, None),
        ] {
            let span = checked_span("call", "buffer", 8, offset, len).ok();
            assert_eq!(span, expected, "{len} from {offset}");
        }
    }
}
