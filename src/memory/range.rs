//! Ranges of bytes, filled in and checked.

use std::ops::{Bound, Range, RangeBounds};

use cl3::error_codes::CL_INVALID_VALUE;

use crate::error::{Error, Result};

/// `range` of `size` bytes with its ends filled in; `None` where not all of it is there.
#[inline]
fn bytes_of(size: usize, range: &impl RangeBounds<usize>) -> Option<Range<usize>> {
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

/// `len` of `size` bytes from `offset` on; `None` where not all of them are there.
#[inline]
fn span_of(size: usize, offset: usize, len: usize) -> Option<Range<usize>> {
    let end = offset.checked_add(len)?;
    (end <= size).then_some(offset..end)
}

/// `range` with its ends filled in, of the `size` bytes of `what`.
#[inline]
pub(crate) fn checked_range(
    call: &'static str,
    what: &str,
    size: usize,
    range: impl RangeBounds<usize>,
) -> Result<Range<usize>> {
    match bytes_of(size, &range) {
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
    let why = format!("bytes {:?} exceed a {what} of {size} bytes", (start, end));
    Error::refused(call, CL_INVALID_VALUE, why)
}

/// The `len` bytes from `offset` on, of the `size` bytes of `what`.
#[inline]
pub(crate) fn checked_span(
    call: &'static str,
    what: &str,
    size: usize,
    offset: usize,
    len: usize,
) -> Result<Range<usize>> {
    match span_of(size, offset, len) {
        Some(range) => Ok(range),
        None => Err(no_such_span(call, what, size, offset, len)),
    }
}

#[cold]
fn no_such_span(call: &'static str, what: &str, size: usize, offset: usize, len: usize) -> Error {
    let why = format!("{len} bytes from byte {offset} on exceed a {what} of {size} bytes");
    Error::refused(call, CL_INVALID_VALUE, why)
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
            assert_eq!(bytes_of(8, &range), expected, "{range:?}");
        }
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
            assert_eq!(span_of(8, offset, len), expected, "{len} from {offset}");
        }
    }
}
