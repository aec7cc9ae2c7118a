//! Errors in a configuration, with the file, the line, the column, the text of the line, and the
//! key that was probably meant.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::variable::VariableError;

/// A key that `clmatrix.toml` alone has.
const BUILTIN_EXPECTATIONS: &str = "builtin-expectations";

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file, or the folder of expectations, cannot be read, with the reason.
    #[error("{path}: cannot be read: {1}", path = .0.display())]
    Read(PathBuf, io::Error),
    /// CLMATRIX_PROFILE has a wrong value.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// A file contains a mistake, or no group or profile has this name. The place of a mistake has its line, and its
    /// column in characters, from 1.
    #[error("{0}")]
    Mistake(String),
}

impl ConfigError {
    /// Returns a mistake that the TOML reader found in `text`, the contents of `file`.
    pub(super) fn from_toml(file: &Path, text: &str, error: &toml::de::Error) -> Self {
        let message = in_words_of_toml(error.message());
        Self::mistake(file, text, error.span().unwrap_or_default(), message)
    }

    /// Returns a mistake in a part of `text`, the contents of `file`.
    pub(super) fn mistake(file: &Path, text: &str, span: Range<usize>, message: String) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let wrong = text.get(span).and_then(|wrong| wrong.lines().next()).unwrap_or_default();
        let source_line = text[line_start..].lines().next().unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        let margin = " ".repeat(line.to_string().len());
        // Tabs stay tabs, so that the marks are below the marked text.
        let indent: String =
            source_line.chars().take(column - 1).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let marks = "^".repeat(wrong.chars().count().max(1));
        Self::Mistake(format!(
            "{}:{line}:{column}: {message}\n{margin} |\n{line} | {source_line}\n{margin} | {indent}{marks}",
            file.display()
        ))
    }
}

/// Replaces Serde's words, such as field and variant, by those of TOML, such as key and value.
///
/// Serde gives the known names only inside its message, each between backticks after the wrong one.
fn in_words_of_toml(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let what = match message {
        m if m.starts_with("unknown field") => "key",
        m if m.starts_with("unknown variant") => "value",
        _ => {
            let words = [
                ("missing field", "missing key"),
                ("expected a map", "expected a table"),
                ("expected a sequence", "expected an array"),
                ("wanted string or table", "expected a string"),
                ("a nonzero usize", "a whole number of at least 1"),
            ];
            return words
                .iter()
                .fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
        }
    };
    let wrong = names.next().unwrap_or_default();
    let known: Vec<String> = names.collect();
    let is_of_clmatrix_toml = known.iter().any(|name| name == BUILTIN_EXPECTATIONS);
    let advice = match &*wrong {
        "expect" | "expects" | "expectation" | "expectations" if is_of_clmatrix_toml => {
            "expectations stand in expectations/NAME.toml beside this file, each as [[expect]] with `test`, `status` \
             and `reason`"
                .to_owned()
        }
        _ => hint(&wrong, &known),
    };
    format!("unknown {what} `{wrong}`; {advice}")
}

/// Returns the known name nearest to `wrong`, or all names if none is near.
pub(super) fn hint(wrong: &str, known: &[String]) -> String {
    let distance = |name: &String| strsim::damerau_levenshtein(wrong, name);
    // Up to a third of wrong letters is taken for a typo, more for another word.
    let nearest = known.iter().min_by_key(|name| distance(name));
    let nearest = nearest.filter(|name| distance(name) <= wrong.chars().count().max(3) / 3);
    let all = || Vec::from_iter(known.iter().map(|name| format!("`{name}`"))).join(", ");
    nearest.map_or_else(|| format!("known: {}", all()), |name| format!("did you mean `{name}`?"))
}
