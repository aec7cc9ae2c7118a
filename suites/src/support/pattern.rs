//! Bytes that expose a command that moves too few bytes, too many, or the wrong ones.
//!
//! All bytes are those of words. The [`word`] of a number below 61 consists of four bytes that
//! differ from each other, none of them zero, and shares no byte with the word of another number.
//! [`bytes`] of different seeds are made of different numbers. They therefore have no byte in
//! common: a byte that a command has not written differs from the byte that belongs there, at any
//! pair of offsets.
//!
//! The bytes of a seed repeat after 76 of them. A copy that is shifted by a smaller distance, or by
//! any power of two, is wrong in every byte.

use std::fmt::Display;

/// How many numbers have words of their own.
const NUMBERS: u32 = 61;

/// How many patterns there are.
const SEEDS: usize = 3;

/// Numbers of bytes to move: one, odd, and one more than a page, 64 KiB, 1 MiB and 16 MiB.
pub const SIZES: [usize; 6] = [1, 77, 4097, (64 << 10) + 1, (1 << 20) + 1, (16 << 20) + 1];

/// How many words a pattern has before it repeats: an odd prime, so that no power of two is a
/// multiple of the period.
const PERIOD: usize = 19;

/// A number in four bytes; the numbers repeat after 61.
pub const fn word(number: u32) -> u32 {
    0x0403_0201 + number % NUMBERS * 0x0404_0404
}

/// The words of these numbers.
pub fn words<const N: usize>(numbers: [u32; N]) -> [u32; N] {
    numbers.map(word)
}

/// The words of 0, 1, 2, ...
pub fn counting(n: u32) -> Vec<u32> {
    (0..n).map(word).collect()
}

/// OpenCL C that inverts each word.
pub const INVERT: &str = "kernel void k(global uint *x) { x[get_global_id(0)] ^= 0xffffffffu; }";

/// The first `len` bytes of pattern `seed`, which is 0, 1 or 2.
pub fn bytes(seed: usize, len: usize) -> Vec<u8> {
    assert!(seed < SEEDS, "there are {SEEDS} patterns");
    let period: Vec<u8> =
        (0..PERIOD).flat_map(|n| word((PERIOD * seed + n) as u32).to_le_bytes()).collect();
    let mut bytes = period.repeat(len.div_ceil(period.len()));
    bytes.truncate(len);
    bytes
}

/// Bytes to be moved.
pub fn source(len: usize) -> Vec<u8> {
    bytes(0, len)
}

/// Bytes that a destination holds before it is written.
pub fn before(len: usize) -> Vec<u8> {
    bytes(1, len)
}

/// Compares all bytes of a destination: the bytes `moved` from byte `start` on, and around them the
/// bytes `before`.
pub fn check_moved(found: &[u8], before: &[u8], start: usize, moved: &[u8]) -> Result<(), String> {
    let end = start + moved.len();
    let mut expected = before.to_vec();
    expected[start..end].copy_from_slice(moved);
    same(found, &expected, format_args!("the destination of bytes {start}..{end}"))
}

/// Panics unless [`check_moved`] holds.
#[track_caller]
pub fn assert_moved(found: &[u8], before: &[u8], start: usize, moved: &[u8]) {
    if let Err(reason) = check_moved(found, before, start, moved) {
        panic!("{reason}");
    }
}

/// Panics unless all bytes are as expected.
#[track_caller]
pub fn assert_same(found: &[u8], expected: &[u8], what: impl Display) {
    if let Err(reason) = same(found, expected, what) {
        panic!("{reason}");
    }
}

/// Panics unless all elements are as expected; `rule` says why they are.
#[track_caller]
pub fn assert_elements(found: &[u32], expected: &[u32], rule: &str) {
    let count = expected.len();
    assert_eq!(found.len(), count, "{rule}: the number of elements");
    if let Some(at) = (0..count).find(|at| found[*at] != expected[*at]) {
        panic!("{rule}: element {at} of {count} is {}, not {}", found[at], expected[at]);
    }
}

/// Compares bytes. The error has the first one that differs, the number of those that do, and where they end.
pub fn same(found: &[u8], expected: &[u8], what: impl Display) -> Result<(), String> {
    // Much faster than the search below, which few tests need.
    if found == expected {
        return Ok(());
    }
    let len = expected.len().min(found.len());
    let mut differ = (0..len).filter(|at| found[*at] != expected[*at]);
    Err(match differ.next() {
        None => format!("{what} has {} bytes, not {}", found.len(), expected.len()),
        Some(first) => {
            let (count, last) = differ.fold((1, first), |(count, _), at| (count + 1, at));
            let (found, expected) = (found[first], expected[first]);
            format!(
                "{what}: byte {first} is {found:#04x}, not {expected:#04x}; {count} of {len} bytes \
                 differ, in {first}..={last}"
            )
        }
    })
}

/// Copies the rows of a rectangle between bytes of the host, each with the offset of the first row:
/// the model of what a command does. Pitches are those of rows and slices.
pub fn copy_rows(
    (dst, dst_start): (&mut [u8], usize),
    (src, src_start): (&[u8], usize),
    [row, rows, slices]: [usize; 3],
    [dst_pitches, src_pitches]: [[usize; 2]; 2],
) {
    for (z, y) in (0..slices).flat_map(|z| (0..rows).map(move |y| (z, y))) {
        let at = |[row_pitch, slice_pitch]: [usize; 2]| y * row_pitch + z * slice_pitch;
        let (to, from) = (dst_start + at(dst_pitches), src_start + at(src_pitches));
        dst[to..to + row].copy_from_slice(&src[from..from + row]);
    }
}

/// More bytes than one period of each pattern.
const SOME: usize = 1000;

#[clmatrix_harness::test(once)]
fn neighbouring_bytes_differ_and_none_is_zero() {
    for seed in 0..SEEDS {
        let bytes = bytes(seed, SOME);
        assert!(!bytes.contains(&0));
        assert!(bytes.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

#[clmatrix_harness::test(once)]
fn different_patterns_have_no_byte_in_common() {
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        let other = bytes(other, SOME);
        assert!(bytes(one, SOME).iter().all(|byte| !other.contains(byte)));
    }
}

#[clmatrix_harness::test(once)]
fn different_words_have_no_byte_in_common() {
    for one in 0..NUMBERS {
        for other in 0..NUMBERS {
            let other_bytes = word(other).to_le_bytes();
            let common = word(one).to_le_bytes().iter().any(|byte| other_bytes.contains(byte));
            assert_eq!(common, one == other, "{one} and {other}");
        }
    }
}

#[clmatrix_harness::test(once)]
fn a_shifted_copy_is_wrong_in_every_byte() {
    let shifts = (1..4 * PERIOD).chain((0..26).map(|power| 1 << power));
    for shift in shifts {
        // The bytes that a copy finds where the pattern is `shift` bytes further on.
        let shifted = &source(SOME + shift)[shift..];
        assert!(source(SOME).iter().zip(shifted).all(|(one, other)| one != other), "{shift}");
    }
}

#[clmatrix_harness::test(once)]
fn a_wrong_byte_is_named() {
    let (before, moved) = (before(20), source(8));
    let mut found = before.clone();
    found[5..13].copy_from_slice(&moved);
    assert_eq!(check_moved(&found, &before, 5, &moved), Ok(()));
    for wrong in [0, 4, 5, 12, 13, 19] {
        let mut found = found.clone();
        found[wrong] ^= 0x55;
        let reason = check_moved(&found, &before, 5, &moved).expect_err("a byte is wrong");
        let values =
            format!("byte {wrong} is {:#04x}, not {:#04x}", found[wrong], found[wrong] ^ 0x55);
        assert!(reason.contains("bytes 5..13") && reason.contains(&values), "{reason}");
    }
    let reason = check_moved(&found[..19], &before, 5, &moved).expect_err("a byte is missing");
    assert!(reason.contains("19 bytes, not 20"), "{reason}");
}
