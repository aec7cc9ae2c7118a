//! A device that is lost while a blocking command uses host memory: `lost_device/layer.c` makes waits of PoCL fail.

use std::env;
use std::process::{Command, Output};

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, create_some_context};
use log::{LevelFilter, Log, Metadata, Record};

use super::wrong_driver::{has_pocl, in_front_of, real_loader, sources};

const IS_CHILD: &str = "CLMATRIX_TEST_LOSES_ITS_DEVICE";
const NAME: &str = "lost_device::the_wait_for_lent_memory_is_repeated_for_a_minute";

struct Logger;

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        eprintln!("logged {}", record.args());
    }

    fn flush(&self) {}
}

/// Reads a buffer.
fn read() -> clmatrix::Result<()> {
    log::set_logger(&Logger).expect("no other logger");
    log::set_max_level(LevelFilter::Error);
    let context = create_some_context()?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[7_u32; 4])?;
    let mut found = [0_u32; 4];
    buffer.read(&queue, &mut found)?;
    assert_eq!(found, [7; 4]);
    Ok(())
}

/// Reads a buffer in a process of its own whose first waits fail.
fn read_after(lost_waits: u32) -> (Output, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let layer = in_front_of(&real_loader(), &sources().join("lost_device/layer.c"), folder.path());
    let mut child = Command::new(env::current_exe().expect("the path of the tests"));
    child.args(["--exact", NAME, "--nocapture"]).env(IS_CHILD, "1");
    child.env("OPENCL_DYLIB_PATH", &layer).env("LD_PRELOAD", &layer);
    child.env("PYOPENCL_CTX", "Portable").env("LOST_WAITS", lost_waits.to_string());
    let output = child.output().expect("the tests start");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

/// The pauses in milliseconds.
fn pauses(text: &str) -> Vec<u32> {
    let pauses = text.lines().filter_map(|line| line.strip_prefix("pause ")?.strip_suffix(" ms"));
    pauses.map(|pause| pause.parse().expect("a number")).collect()
}

#[test]
fn the_wait_for_lent_memory_is_repeated_for_a_minute() {
    if env::var_os(IS_CHILD).is_some() {
        return read().expect("the buffer is read");
    }
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let logged = |text: &str| text.matches("logged ").count();
    let (output, text) = read_after(3);
    assert!(output.status.success(), "{text}");
    assert_eq!((pauses(&text), logged(&text)), (vec![1, 2, 4], 1), "{text}");

    let (output, text) = read_after(u32::MAX / 2);
    assert!(!output.status.success(), "{text}");
    let pauses = pauses(&text);
    assert!(pauses.is_sorted() && pauses[..3] == [1, 2, 4] && pauses.last() == Some(&1000));
    assert!((60_000..61_000).contains(&pauses.iter().sum::<u32>()), "{pauses:?}");
    assert_eq!(logged(&text), 1, "{text}");
    let line = text.lines().find(|line| line.contains("have failed for a minute"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("CL_OUT_OF_RESOURCES") && line.contains("on pthread"), "{line}");
}
