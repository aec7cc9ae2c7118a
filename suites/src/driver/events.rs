//! Events of commands (5.11, 5.14).

use clmatrix::cl3::event::CL_EVENT_COMMAND_TYPE;

use super::api::named;
use super::bench::{Bench, bench};
use super::command::{Call, per_kind};
use super::findings::Findings;
use super::query::Subject;

per_kind! {
    fn an_event_has_the_type_of_its_command(bench, kind) {
        let findings = Findings::default();
        let mut operands = bench.operands(&[kind]);
        kind.prepare(&mut operands, bench.queue);
        let event = kind.enqueue(&mut operands, Call::on(bench.queue));
        let named = kind.command_type();
        let found: u32 = Subject::Event(event.raw()).value(named!(CL_EVENT_COMMAND_TYPE));
        findings.check(
            found == named.value,
            format_args!("clGetEventInfo(CL_EVENT_COMMAND_TYPE) after {}", kind.function()),
            format_args!("the type is {} (5.11)", named.name),
            format_args!("{found:#x}"),
        );
        kind.finish(&mut operands, bench.queue);
    }
}
