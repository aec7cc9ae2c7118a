//! How often two runs agree.

use std::fmt::Write;

use clmatrix::characterize::measure::{Finding, Measured, NotMeasurable, Value};

type Answer = Result<Finding, NotMeasurable>;

/// A line for each measurement, and one for all of them.
pub fn table(runs: &[Vec<Measured>]) -> String {
    let mut text = format!("{:<38} {:>7} {:>6}  runs\n", "measurement", "agree", "s");
    let (mut agreeing, mut all) = (0, 0);
    for number in 0..runs[0].len() {
        let each: Vec<&Measured> = runs.iter().map(|run| &run[number]).collect();
        let answers: Vec<&Answer> = each.iter().map(|measured| &measured.answer).collect();
        let (agree, pairs) = pairs(&answers);
        agreeing += agree;
        all += pairs;
        let longest = each.iter().map(|measured| measured.took).max().unwrap_or_default();
        let name = &each[0].name;
        let found: Vec<_> = answers.iter().map(|answer| shown(answer)).collect();
        let share = percent(agree, pairs);
        let seconds = longest.as_secs_f64();
        let _ = writeln!(text, "{name:<38} {share:>7} {seconds:>6.1}  {}", found.join(" | "));
    }
    let _ = writeln!(text, "{:<38} {:>7}", "all", percent(agreeing, all));
    text
}

fn shown(answer: &Answer) -> String {
    answer.as_ref().map_or_else(|_| "-".to_owned(), Finding::to_string)
}

/// How many pairs of runs agree, and how many there are.
fn pairs(answers: &[&Answer]) -> (usize, usize) {
    let pairs = answers
        .iter()
        .enumerate()
        .flat_map(|(number, a)| answers[..number].iter().map(move |b| agree(a, b)));
    pairs.fold((0, 0), |(agreeing, all), agree| (agreeing + usize::from(agree), all + 1))
}

/// Numbers agree within their spreads; nothing but another reason agrees with not measurable.
fn agree(a: &Answer, b: &Answer) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => match (&a.value, &b.value) {
            (Value::Number(x), Value::Number(y)) => (x - y).abs() <= a.spread + b.spread,
            (x, y) => x == y,
        },
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole as f64)
}
