//! Reads what callgrind writes (valgrind's manual, "Callgrind Format Specification").

use std::collections::BTreeMap;

/// What was counted.
#[derive(Debug, Default)]
pub struct Count {
    /// Instructions of a program and of what it calls, apart from the driver's functions.
    pub own: u64,
    /// The driver's functions that the program called.
    pub driver: BTreeMap<String, DriverCalls>,
}

#[derive(Debug, Default)]
pub struct DriverCalls {
    pub number: u64,
    /// Of all of them, with all that they call.
    pub instructions: u64,
}

/// Reads a file that is not abbreviated, and has one line for all of a function's own instructions.
/// `program` is the path of the executable.
pub fn parse(text: &str, program: &str) -> Count {
    let mut count = Count::default();
    let (mut object, mut function) = ("", "");
    let (mut called_object, mut called) = (None, "");
    let mut times: Option<u64> = None;
    for line in text.lines() {
        if let Some((key, value)) = line.split_once('=') {
            match key {
                "ob" => object = value,
                "fn" => function = value,
                "cob" => called_object = Some(value),
                "cfn" => called = value,
                "calls" => times = value.split(' ').next().and_then(|times| times.parse().ok()),
                _ => {}
            }
            continue;
        }
        let Some(instructions) = cost(line) else { continue };
        let called_object = called_object.take();
        let times = times.take();
        // The C library calls `main`.
        if object != program || function == "(below main)" {
            continue;
        }
        match times {
            None => count.own += instructions,
            Some(times) if called_object.is_some_and(|object| object != program) => {
                if is_of_opencl(called) {
                    let calls = count.driver.entry(called.to_owned()).or_default();
                    calls.number += times;
                    calls.instructions += instructions;
                } else {
                    count.own += instructions;
                }
            }
            _ => {}
        }
    }
    count
}

/// The number of instructions, of a line that begins with a position.
fn cost(line: &str) -> Option<u64> {
    if !line.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    line.split(' ').nth(1)?.parse().ok()
}

/// `clEnqueueFillBuffer`
fn is_of_opencl(function: &str) -> bool {
    function.strip_prefix("cl").is_some_and(|rest| rest.starts_with(char::is_uppercase))
}
