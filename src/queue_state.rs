//! The driver's queue behind the handles and events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use cl3::command_queue as cl;
use cl3::types::{cl_command_queue, cl_context, cl_device_id};
use parking_lot::Mutex;

use crate::context::Context;
use crate::device::Device;
use crate::driver::Driver;
use crate::error::{Result, in_call};
use crate::handle::QueueRef;
use crate::mem_context::MemContext;
use crate::memory::track::AccessTracker;

bitflags::bitflags! {
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

/// The driver's queue, which lives as long as its last handle or event.
#[derive(Debug)]
pub(crate) struct QueueState {
    /// The first field: the context and the device must outlive the queue.
    raw: QueueRef,
    pub context: Arc<MemContext>,
    pub device: Device,
    pub properties: QueueProperties,
    pub driver: Driver,
    /// True if a command has been enqueued since the last flush.
    is_unflushed: AtomicBool,
    /// The number of `Handle`s.
    pub handles: AtomicUsize,
    /// The trackers of memory of pools that commands of this queue have used, by address. Some are gone.
    pub used: Mutex<HashMap<usize, Weak<AccessTracker>>>,
}

impl QueueState {
    /// # Safety
    /// `raw` is a valid queue, and the caller owns a reference to it, which is taken over unless this fails.
    pub unsafe fn from_raw(raw: cl_command_queue) -> Result<Self> {
        let info =
            |name| cl::get_command_queue_info(raw, name).map_err(in_call("clGetCommandQueueInfo"));
        let device = isize::from(info(cl::CL_QUEUE_DEVICE)?) as cl_device_id;
        let properties = QueueProperties::from_bits_retain(info(cl::CL_QUEUE_PROPERTIES)?.into());
        // SAFETY: the caller vouches for the handle.
        let context = unsafe { MemContext::retain_answer(info(cl::CL_QUEUE_CONTEXT)?) }?;
        // SAFETY: the driver says that it is the device of a valid queue.
        let device = unsafe { Device::retain_raw(device) }?;
        let driver = Driver::for_device(device.as_raw());
        // SAFETY: the caller vouches for the handle and its reference. Nothing fails from here on.
        let raw = unsafe { QueueRef::owned(raw) };
        let (is_unflushed, handles) = (AtomicBool::new(true), AtomicUsize::new(0));
        let used = Mutex::default();
        Ok(Self { raw, context, device, properties, driver, is_unflushed, handles, used })
    }

    #[inline]
    pub fn raw(&self) -> cl_command_queue {
        self.raw.get()
    }

    #[inline]
    pub fn context_raw(&self) -> cl_context {
        self.context.raw()
    }

    pub fn context(&self) -> Context {
        Context(Arc::clone(&self.context))
    }

    #[inline]
    pub fn is_in_order(&self) -> bool {
        !self.properties.contains(QueueProperties::OUT_OF_ORDER)
    }

    /// Records that a command has been enqueued.
    #[inline]
    pub fn add_command(&self) {
        self.is_unflushed.store(true, Ordering::Release);
    }

    /// Records that the next call of the driver flushes the queue, before that call: it flushes the commands that have
    /// been enqueued by then.
    #[inline]
    pub fn is_about_to_be_flushed(&self) {
        self.is_unflushed.store(false, Ordering::Release);
    }

    /// Records that a command uses memory of a pool.
    #[cold]
    pub fn add_used(&self, tracker: Weak<AccessTracker>) {
        let mut used = self.used.lock();
        if used.len() == used.capacity() {
            used.retain(|_, tracker| tracker.strong_count() > 0);
            let len = used.len();
            used.reserve(len + 1);
        }
        used.insert(tracker.as_ptr().addr(), tracker);
    }

    pub fn flush(&self) -> Result<()> {
        self.is_about_to_be_flushed();
        cl::flush(self.raw()).map_err(in_call("clFlush"))
    }

    /// Flushes the queue if it has commands to flush and a flush does not block.
    // quirk: OCLGRIND-2
    #[inline]
    pub fn flush_unflushed(&self) -> Result<()> {
        if self.is_unflushed.load(Ordering::Acquire) && !self.driver.contains(Driver::FLUSH_BLOCKS)
        {
            return self.flush();
        }
        Ok(())
    }
}
