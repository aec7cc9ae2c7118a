//! An answer of the table that can be read back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Answer, Characterized, Row};

/// An answer of [`table`](crate::table) that can be read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TableAnswer {
    /// The answer, with its warnings.
    Known(Characterized<Answer>),
    /// The function has no answer.
    Failed {
        /// The reason.
        error: String,
    },
}

/// Leaves the function's name out of the error, which is shown beside it.
impl From<Row> for TableAnswer {
    fn from(row: Row) -> Self {
        match row.answer {
            Ok(answer) => Self::Known(answer),
            Err(error) => {
                let error = error.to_string();
                let reason =
                    error.strip_prefix(row.function).and_then(|rest| rest.strip_prefix(": "));
                Self::Failed { error: reason.unwrap_or(&error).to_owned() }
            }
        }
    }
}

impl TableAnswer {
    /// Returns the answer, if there is one.
    pub fn value(&self) -> Option<&Answer> {
        match self {
            Self::Known(answer) => Some(&answer.value),
            Self::Failed { .. } => None,
        }
    }
}

/// Shows the answer with its warnings, or `none: ` and the reason.
impl fmt::Display for TableAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(answer) => {
                f.write_str(&answer.value.to_string())?;
                answer.warnings.iter().try_for_each(|warning| write!(f, " ({warning})"))
            }
            Self::Failed { error } => write!(f, "none: {error}"),
        }
    }
}
