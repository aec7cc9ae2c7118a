use bitflags::bitflags;
use cl3::command_queue as cl;

bitflags! {
    /// Properties of a queue (`cl_command_queue_properties`; `pyopencl.command_queue_properties`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct QueueProperties: u64 {
        /// Commands may run in any order (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE).
        const OUT_OF_ORDER = cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        /// Events have times (CL_QUEUE_PROFILING_ENABLE).
        const PROFILING = cl::CL_QUEUE_PROFILING_ENABLE;
        const _ = !0;
    }
}
