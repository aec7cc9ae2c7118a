//! Legal commands that a driver does not survive, and that are therefore left out.

use super::*;

/// The faults of a driver that matter here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Driver {
    /// Commands of two threads at once end the process.
    // quirk: OCLGRIND-10
    pub one_thread: bool,
    /// A barrier does not order the commands of an out-of-order queue.
    // quirk: OCLGRIND-12
    pub ignores_barriers: bool,
    /// Threads that wait may wait for ever if an out-of-order queue has work.
    // quirk: INTEL-7
    pub waits_deadlock: bool,
    /// A flush does not return as long as a command of the queue waits for a user event.
    // quirk: OCLGRIND-2
    pub flush_blocks: bool,
    /// A kernel must not use a buffer of which other bytes are mapped.
    // quirk: OCLGRIND-11
    pub mistakes_maps: bool,
    /// The creation of an image for which there is no memory ends the process.
    // quirk: OCLGRIND-14
    pub throws_without_memory: bool,
    /// A call that blocks keeps other threads from its queue.
    // quirk: RUSTICL-5
    pub blocks_queues: bool,
    /// An unmap may be refused although the map has ended.
    // quirk: INTEL-6, NVIDIA-8
    pub refuses_unmaps: bool,
    /// A map has to run before it can be unmapped.
    // quirk: RUSTICL-3
    pub unmaps_ended_maps_only: bool,
    /// Two maps must not begin at the same byte.
    // quirk: POCL-13, INTEL-9
    pub finds_maps_by_address: bool,
    /// A fill needs memory that begins at a multiple of four bytes.
    // quirk: NVIDIA-13
    pub fills_aligned_memory_only: bool,
    /// A buffer is not destroyed while there are events of its commands.
    // quirk: DRIVER-19
    pub events_keep_buffers: bool,
}

impl Driver {
    pub fn for_platform(platform: Platform) -> Result<Self> {
        Ok(match platform.opencl3().name().map_err(unanswered)?.as_str() {
            "Oclgrind" => Self {
                one_thread: true,
                ignores_barriers: true,
                flush_blocks: true,
                mistakes_maps: true,
                throws_without_memory: true,
                ..Self::default()
            },
            "rusticl" => Self {
                blocks_queues: true,
                unmaps_ended_maps_only: true,
                events_keep_buffers: true,
                ..Self::default()
            },
            name if name.starts_with("Intel(R) OpenCL")
                || name.starts_with("Intel(R) FPGA Emul") =>
            {
                Self {
                    waits_deadlock: true,
                    refuses_unmaps: true,
                    finds_maps_by_address: true,
                    events_keep_buffers: true,
                    ..Self::default()
                }
            }
            "NVIDIA CUDA" => {
                Self { refuses_unmaps: true, fills_aligned_memory_only: true, ..Self::default() }
            }
            // PoCL, and all others, whose second map at one byte the library refuses.
            _ => Self { finds_maps_by_address: true, ..Self::default() },
        })
    }

    /// True if out-of-order queues can be used by several threads.
    pub fn has_out_of_order_queues(self) -> bool {
        !self.ignores_barriers && !self.waits_deadlock
    }
}
