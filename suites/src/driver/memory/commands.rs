//! Commands on buffers of all kinds of memory, with host memory of all kinds.

use rstest::rstest;

use super::area::Area;
use super::operand::Operand;
use super::target::{Memory, Part, SIZE, Target};
use super::way::Way;
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::support::pattern::{bytes, word};

/// The first bytes of pattern 0.
pub static CONSTANT: [u8; SIZE] = {
    let (mut bytes, mut at) = ([0; SIZE], 0);
    while at < SIZE {
        bytes[at] = word((at / 4 % 19) as u32).to_le_bytes()[at % 4];
        at += 1;
    }
    bytes
};

/// Declares a test of one kind of memory: a case for each kind, which devices that lack it skip.
macro_rules! per_memory {
    (fn $name:ident($bench:ident, $memory:ident, $part:ident) $body:block) => {
        #[rstest::rstest]
        #[case::plain(Memory::Plain)]
        #[case::alloc_host_ptr(Memory::Alloc)]
        #[case::use_host_ptr(Memory::Use)]
        #[case::use_host_ptr_at_an_odd_address(Memory::UseOdd)]
        #[case::use_coarse_svm(Memory::UseCoarse)]
        #[case::use_fine_svm(Memory::UseFine)]
        #[case::copy_host_ptr(Memory::Copy)]
        #[case::copy_coarse_svm(Memory::CopySvm)]
        #[case::alloc_and_copy_host_ptr(Memory::AllocCopy)]
        #[case::read_only(Memory::ReadOnly)]
        #[case::write_only(Memory::WriteOnly)]
        #[case::host_read_only(Memory::HostReads)]
        #[case::host_write_only(Memory::HostWrites)]
        #[case::host_no_access(Memory::NoAccess)]
        #[clmatrix_harness::test]
        fn $name(
            $bench: Bench,
            #[case] $memory: Memory,
            #[values(Part::Whole, Part::Sub)] $part: Part,
        ) {
            $memory.requires(&$bench);
            $body
        }
    };
}

pub(crate) use per_memory;

/// Runs the commands with each kind of host memory that they may have, and reports the first one of each command
/// that leaves wrong bytes.
fn run(bench: &Bench, memory: Memory, part: Part, ways: &[Way], findings: &Findings) {
    let (target, peer) = (Target::new(bench, memory, part, SIZE), Target::plain(bench, SIZE));
    let mut stack = [0; SIZE];
    let mut hosts = vec![
        Area::host(bench, SIZE, 0),
        Area::host(bench, SIZE, 1),
        Area::of_caller(bench, "the stack", &mut stack),
        Area::constant(bench, &CONSTANT),
        Area::mapped(bench, SIZE),
    ];
    hosts.extend(bench.has_svm().then(|| Area::mapped_svm(bench, SIZE)));
    let mut cells = 0;
    for way in ways {
        let used = if way.has_host() { &hosts[..] } else { &hosts[..1] };
        for host in used.iter().filter(|host| way.allows(&target, host)) {
            cells += 1;
            if let Err(answer) = way.run(&target, &peer, host) {
                let ([call, section], name) = (way.call(), &target.name);
                let other =
                    if way.has_host() { format!(", and {}", host.name) } else { String::new() };
                let rule =
                    format_args!("its bytes change as the command says, and no others ({section})");
                findings.add(format_args!("{call} {name}{other}"), rule, answer);
                break;
            }
        }
    }
    println!("{cells} cells of {}", target.name);
}

per_memory! {
    fn commands_change_their_bytes_only(bench, memory, part) {
        run(&bench, memory, part, Way::LINES, &Findings::default());
    }
}

#[rstest]
#[case::read_only(Part::ReadOnlySub)]
#[case::write_only(Part::WriteOnlySub)]
#[case::no_access(Part::NoAccessSub)]
#[clmatrix_harness::test]
fn a_sub_buffer_may_have_narrower_flags(bench: Bench, #[case] part: Part) {
    let findings = Findings::default();
    for memory in [Memory::Plain, Memory::Alloc, Memory::Use, Memory::Copy] {
        run(&bench, memory, part, Way::LINES, &findings);
    }
}

#[rstest]
#[case::buffers(Part::Whole)]
#[case::sub_buffers(Part::Sub)]
#[clmatrix_harness::test]
fn copies_of_boxes_change_their_bytes_only(bench: Bench, #[case] part: Part) {
    let findings = Findings::default();
    for memory in Memory::ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        run(&bench, memory, part, Way::BOXES, &findings);
    }
}

#[rstest]
#[case::use_host_ptr(Memory::Use)]
#[case::use_host_ptr_at_an_odd_address(Memory::UseOdd)]
#[case::use_coarse_svm(Memory::UseCoarse)]
#[case::use_fine_svm(Memory::UseFine)]
#[case::copy_host_ptr(Memory::Copy)]
#[case::copy_coarse_svm(Memory::CopySvm)]
#[case::alloc_and_copy_host_ptr(Memory::AllocCopy)]
#[clmatrix_harness::test]
fn a_buffer_begins_with_the_host_memory(bench: Bench, #[case] memory: Memory) {
    memory.requires(&bench);
    let findings = Findings::default();
    for part in [Part::Whole, Part::Sub] {
        let target = Target::new(&bench, memory, part, SIZE);
        if let Err(answer) = target.compare(&bytes(0, target.size())) {
            let rule =
                "the buffer has the bytes of the host memory at the time of the call (5.2.1)";
            findings.add(format_args!("clCreateBuffer of {}", target.name), rule, answer);
        }
    }
}
