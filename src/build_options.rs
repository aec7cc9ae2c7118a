//! Options of builds: drivers crash on a word that is not an option.

use std::ffi::CString;
use std::mem;

use crate::driver::Driver;
use crate::error::{Error, Result};

/// The options whose value may be the next word (OpenCL 3.0 API, 5.8.6; `-x spir` of cl_khr_spir).
const WITH_VALUE: [&str; 3] = ["-D", "-I", "-x"];

/// Returns the options as a C string.
///
/// # Errors
/// `code` for a zero byte, and for a word that crashes the driver: one that is neither an option nor the value of one,
/// and an option whose value is missing.
// quirk: DRIVER-18
pub(crate) fn checked(
    call: &'static str,
    code: i32,
    options: &str,
    driver: Driver,
) -> Result<CString> {
    let refused = |reason| Err(Error::refused(call, code, reason));
    let Ok(text) = CString::new(options) else {
        return refused(format!("the options must not contain a zero byte: {options:?}"));
    };
    let mut wrong = None;
    if driver.contains(Driver::CRASHES_ON_OPTIONS) {
        wrong = wrong_word(&words(options));
        // PoCL does not handle quotes.
        let last = options.split(' ').rfind(|word| !word.is_empty());
        let last = last.filter(|last| WITH_VALUE.contains(last));
        wrong = wrong.or(last.map(|last| format!("{last:?} has no value")));
    }
    if driver.contains(Driver::SPLITS_OPTIONS_AT_QUOTES) {
        wrong = wrong.or_else(|| wrong_word(&parts(options)));
    }
    match wrong {
        Some(reason) => refused(format!("{reason} in the options {options:?}")),
        None => Ok(text),
    }
}

/// Returns the words between blanks, as Oclgrind splits them. A quote ends with the next one, and a backslash keeps a
/// blank.
fn words(options: &str) -> Vec<String> {
    let (mut is_quoted, mut before) = (false, ' ');
    let words = options.split(|character| {
        is_quoted ^= character == '"';
        let is_kept = mem::replace(&mut before, character) == '\\' && character == ' ';
        matches!(character, ' ' | '\t') && !is_quoted && !is_kept
    });
    let words = words.filter(|word| !word.is_empty());
    words.map(|word| word.replace("\\ ", " ").replace('"', "")).collect()
}

/// Returns the words as rusticl splits them: a quote ends one and begins the next, and nothing else is special.
fn parts(options: &str) -> Vec<String> {
    let mut is_quoted = false;
    let words = options.split(|character| {
        is_quoted ^= character == '"';
        character == '"' || character == ' ' && !is_quoted
    });
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns which word crashes a driver, and why.
fn wrong_word(words: &[String]) -> Option<String> {
    if let Some(word) = words.iter().find(|word| word.contains(['\n', '\r', '\x0b', '\x0c'])) {
        return Some(format!("{word:?} is not an option"));
    }
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = if WITH_VALUE.contains(&word.as_str()) {
            let Some(value) = words.next() else { return Some(format!("{word:?} has no value")) };
            value
        } else if word.starts_with('-') && word.len() > 1 {
            word.strip_prefix("-D").unwrap_or(word)
        } else {
            return Some(format!("{word:?} is not an option"));
        };
        let is_name = |first: char| first == '_' || first.is_alphabetic();
        if word.starts_with("-D") && !value.trim_start().starts_with(is_name) {
            return Some(format!("{value:?} is not the name of a macro"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: Driver = Driver::UNKNOWN;

    fn is_refused(options: &str, driver: Driver) -> bool {
        checked("clBuildProgram", -43, options, driver).is_err()
    }

    #[test]
    fn options_and_their_values_are_taken() {
        for options in [
            "",
            " ",
            "-w",
            "-D A",
            "-DA",
            "-D A=1 -D B(x)=x",
            "-I /tmp -I/tmp",
            "-I \"/my kernels\" -w",
            "-I\"/my kernels\"",
            "\"-I/my kernels\"",
            "-cl-std=CL3.0 -cl-kernel-arg-info",
            "-x spir -spir-std=1.2",
            "-D \"A=1 2\"",
            "-D\tA",
        ] {
            assert!(!is_refused(options, OTHER), "{options:?}");
        }
    }

    #[test]
    fn words_that_crash_drivers_are_refused() {
        for (options, word) in [
            ("-I /home/me/my kernels", "\"kernels\" is not an option"),
            ("kernel.cl", "\"kernel.cl\" is not an option"),
            ("-w @file", "\"@file\" is not an option"),
            ("-", "\"-\" is not an option"),
            ("-O 2", "\"2\" is not an option"),
            ("-D A\n-D B", "is not"),
            ("-I", "\"-I\" has no value"),
            ("-w -D ", "\"-D\" has no value"),
            ("-D -w", "\"-w\" is not the name of a macro"),
            ("-D=", "\"=\" is not the name of a macro"),
            ("-DA=\"x y\"", "\"x y\" is not an option"),
            ("-I /my\\ kernels", "\"kernels\" is not an option"),
            ("-w \"x", "\"x\" is not an option"),
            ("-D A\nB", "is not"),
            ("-DA=\\ -D", "\"-D\" has no value"),
            ("-DA=\"x -D", "\"-D\" has no value"),
            ("-DA=\\\"\" foo\"", "is not an option"),
            ("a\0", "zero byte"),
        ] {
            let error = checked("clBuildProgram", -43, options, OTHER).unwrap_err();
            assert!(error.to_string().contains(word), "{options:?}: {error}");
            assert_eq!(error.code_name(), "CL_INVALID_BUILD_OPTIONS");
        }
    }

    #[test]
    fn a_driver_that_takes_quotes_and_escapes_gets_them() {
        let of_shell = OTHER - Driver::SPLITS_OPTIONS_AT_QUOTES;
        for options in ["-DA=\"x y\"", "-DA=\\\"x\\\"", "-I /my\\ kernels", "-I \"/open"] {
            assert!(!is_refused(options, of_shell), "{options:?}");
        }
        let checks = of_shell - Driver::CRASHES_ON_OPTIONS;
        assert!(!is_refused("-s /a/kernel.cl", checks) && is_refused("\0", checks));
    }
}
