//! The answers about one device, in the form for JSON.

use clmatrix::cl3::error_codes::CL_COMPILER_NOT_AVAILABLE;
use clmatrix::{Device, Error, Result};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{Facts, FactsOnly, Row, TableAnswer, table};

/// The driver's information about a device, and PyOpenCL's answers that follow from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Characterization {
    /// The driver's information.
    pub facts: Facts,
    /// PyOpenCL's answers, by the names of its functions and in the order of its documentation.
    pub table: IndexMap<String, TableAnswer>,
}

impl Characterization {
    /// Queries the driver, in this process. `with_builds` builds the kernels that some answers need;
    /// without it, the table lacks these answers.
    ///
    /// # Errors
    ///
    /// The driver's error for a query that every device must answer.
    pub fn query(device: &Device, with_builds: bool) -> Result<Self> {
        let facts = Facts::query(device)?;
        let rows = match with_builds {
            true => table(&facts, device),
            false => table(&facts, FactsOnly),
        };
        let needs_build = |error: &Error| error.code() == CL_COMPILER_NOT_AVAILABLE;
        let is_asked = |row: &Row| with_builds || !row.answer.as_ref().is_err_and(needs_build);
        let named = |row: Row| (row.function.to_owned(), TableAnswer::from(row));
        Ok(Self { facts, table: rows.into_iter().filter(is_asked).map(named).collect() })
    }

    /// Returns the answers of the table as text, by their names.
    pub fn properties(&self) -> IndexMap<String, String> {
        self.table.iter().map(|(name, answer)| (name.clone(), answer.to_string())).collect()
    }
}
