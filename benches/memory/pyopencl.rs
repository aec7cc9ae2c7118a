//! PyOpenCL, which does the same transfers in a process of its own.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::Subject;
use crate::transfers::{Direction, Host};

const SCRIPT: &str = include_str!("pyopencl.py");

/// A Python that answers each line with one.
pub struct PyOpenCl {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl PyOpenCl {
    /// `None` where PyOpenCL is not installed, or does not see the device.
    pub fn start(subject: &Subject) -> Option<Self> {
        let python = env::var("CLMATRIX_BENCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut command = Command::new(&python);
        let number = subject.number.to_string();
        command.args(["-c", SCRIPT, &subject.platform_name, &number]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let version = command.spawn().ok().and_then(|mut child| {
            let (questions, answers) = (child.stdin.take()?, child.stdout.take()?);
            let mut pyopencl = Self { child, questions, answers: BufReader::new(answers) };
            Some((pyopencl.read()?, pyopencl))
        });
        match version {
            Some((version, pyopencl)) => {
                println!("PyOpenCL {version}");
                Some(pyopencl)
            }
            None => {
                println!("no PyOpenCL for this device in {python}: not compared with it");
                None
            }
        }
    }

    /// How long a transfer took.
    pub fn nanoseconds(&mut self, host: Host, direction: Direction, size: usize) -> f64 {
        writeln!(self.questions, "{host:?} {direction:?} {size}").expect("Python listens");
        let answer = self.read().expect("Python answers");
        answer.parse().expect("a number")
    }

    fn read(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim().to_owned())
    }
}

impl Drop for PyOpenCl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
