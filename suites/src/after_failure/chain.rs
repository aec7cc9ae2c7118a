//! Failures of the events in a wait list.

use clmatrix::Result;
use clmatrix::memory::enqueue_fill_buffer;
use rstest::rstest;

use super::OLD;
use crate::buffer::{buffer_of, contents};
use crate::gate::{fail, gate};
use crate::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test]
fn two_events_of_a_wait_list_fail(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let gates = [gate(&on.context), gate(&on.context)];
    let fill = enqueue_fill_buffer(&on.queue, &buffer, &7_u32, .., [&gates[0], &gates[1]])?;
    gates.iter().for_each(fail);
    assert!(fill.wait().is_err());
    assert_eq!(contents(on, &buffer)?, [OLD; 4]);
    Ok(())
}
