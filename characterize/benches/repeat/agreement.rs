//! The number of pairs of runs that agree.

use std::fmt::Write;

use clmatrix_characterize::measure::{Finding, Measured, NotMeasurable};

type Answer = Result<Finding, NotMeasurable>;

/// A line for each measurement, and one for all of them.
pub fn table(runs: &[Vec<Measured>]) -> String {
    let mut text =
        format!("{:<38} {:>7} {:>7} {:>6}  runs\n", "measurement", "agree", "neither", "s");
    let mut all = Pairs::default();
    for number in 0..runs[0].len() {
        let each: Vec<&Measured> = runs.iter().map(|run| &run[number]).collect();
        let answers: Vec<&Answer> = each.iter().map(|measured| &measured.answer).collect();
        let pairs = Pairs::of(&answers);
        all.add(pairs);
        let longest = each.iter().map(|measured| measured.took).max().unwrap_or_default();
        let found: Vec<_> = answers.iter().map(|answer| shown(answer)).collect();
        let seconds = longest.as_secs_f64();
        let line = pairs.line(&each[0].name);
        let _ = writeln!(text, "{line} {seconds:>6.1}  {}", found.join(" | "));
    }
    let _ = writeln!(text, "{}", all.line("all"));
    text
}

fn shown(answer: &Answer) -> String {
    answer.as_ref().map_or_else(|_| "-".to_owned(), Finding::to_string)
}

/// Pairs of runs.
#[derive(Clone, Copy, Default)]
struct Pairs {
    /// Within the spreads of both.
    agree: usize,
    /// One of them at least has found something.
    found: usize,
    /// Not measurable, both times: there is nothing that could agree.
    neither: usize,
}

impl Pairs {
    fn of(answers: &[&Answer]) -> Self {
        let mut pairs = Self::default();
        for (number, a) in answers.iter().enumerate() {
            for b in &answers[..number] {
                match (a, b) {
                    (Err(_), Err(_)) => pairs.neither += 1,
                    (Ok(a), Ok(b)) => {
                        pairs.found += 1;
                        pairs.agree += usize::from(a.agrees_with(b));
                    }
                    _ => pairs.found += 1,
                }
            }
        }
        pairs
    }

    fn add(&mut self, others: Self) {
        self.agree += others.agree;
        self.found += others.found;
        self.neither += others.neither;
    }

    fn line(self, name: &str) -> String {
        let neither = percent(self.neither, self.found + self.neither);
        format!("{name:<38} {:>7} {neither:>7}", percent(self.agree, self.found))
    }
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.0} %", 100.0 * part as f64 / whole as f64)
}
