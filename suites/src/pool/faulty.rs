//! An allocator that does as it is told: fails, gives too little, panics, or has no more than so many
//! bytes.

use std::ffi::c_void;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::{OnceLock, Weak};

use clmatrix::cl3::memory::set_mem_object_destructor_callback;
use clmatrix::cl3::types::cl_mem;

use super::*;

/// The answer to a call.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The answer of the wrapped allocator.
    Inner,
    /// An error of this code.
    Code(i32),
    /// Nothing at all.
    Nothing,
    /// A byte less than it was asked for.
    Less,
    /// A byte more.
    More,
    /// It panics.
    Panic,
}

/// Told of each call's number, from 0 on, and of its size.
type Answers = Box<dyn Fn(usize, usize) -> Answer + Send + Sync>;

/// An allocator that does as it is told, and remembers which sizes it was asked for.
pub struct Faulty<A> {
    inner: A,
    answers: Answers,
    calls: Mutex<Vec<usize>>,
    /// The queue for which it says that it allocates, if it is set.
    pub queue: OnceLock<CommandQueue>,
    /// Its largest size, unless that of the devices is smaller.
    pub most: AtomicUsize,
}

impl<A> Faulty<A> {
    pub fn new(
        inner: A,
        answers: impl Fn(usize, usize) -> Answer + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (answers, most) = (Box::new(answers), AtomicUsize::new(usize::MAX));
        Arc::new(Self { inner, answers, calls: Mutex::default(), queue: OnceLock::new(), most })
    }

    /// The sizes that it was asked for up to now.
    pub fn calls(&self) -> Vec<usize> {
        self.calls.lock().unwrap().clone()
    }
}

/// Buffers, with such answers.
pub fn buffers(
    on_device: &OnDevice,
    answers: impl Fn(usize, usize) -> Answer + Send + Sync + 'static,
) -> Result<Arc<Faulty<DeferredAllocator>>> {
    let inner = DeferredAllocator::new(&on_device.context, MemFlags::READ_WRITE)?;
    Ok(Faulty::new(inner, answers))
}

/// Buffers, but for the calls of these numbers.
pub fn buffers_but(
    on_device: &OnDevice,
    calls: impl RangeBounds<usize> + Send + Sync + 'static,
    answer: Answer,
) -> Result<Arc<Faulty<DeferredAllocator>>> {
    buffers(on_device, move |nth, _| if calls.contains(&nth) { answer } else { Answer::Inner })
}

impl<A: Allocator<Memory: Memory>> Allocator for Faulty<A> {
    type Memory = A::Memory;

    fn allocate(&self, size: usize) -> Result<Option<A::Memory>> {
        let mut calls = self.calls.lock().unwrap();
        let nth = calls.len();
        calls.push(size);
        drop(calls);
        match (self.answers)(nth, size) {
            Answer::Inner => self.inner.allocate(size),
            Answer::Code(code) => Err(error(code)),
            Answer::Nothing => Ok(None),
            Answer::Less => self.inner.allocate(size - 1),
            Answer::More => self.inner.allocate(size + 1),
            Answer::Panic => panic!("the allocator panics at call {nth}"),
        }
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.queue.get().or_else(|| self.inner.queue())
    }

    fn max_size(&self) -> Option<usize> {
        let most = self.most.load(Ordering::SeqCst);
        self.inner.max_size().map(|of_devices| of_devices.min(most))
    }

    fn context(&self) -> Context {
        self.inner.context()
    }
}

impl<A> fmt::Debug for Faulty<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("calls", &self.calls).finish_non_exhaustive()
    }
}

/// An error of this code.
pub fn error(code: i32) -> Error {
    Error::from_call("clCreateBuffer", code)
}

/// A pool that can be reached from its own allocator and hook, as long as the test has this.
pub type Inside = Arc<OnceLock<MemoryPool>>;

/// Returns the pool from within its allocator or hook, which must not keep it.
pub fn reached(within: &Weak<OnceLock<MemoryPool>>) -> Option<MemoryPool> {
    within.upgrade()?.get().cloned()
}

/// An allocator of buffers that never has more than `most` bytes alive, as the driver sees it.
#[derive(Debug)]
pub struct Capped {
    inner: DeferredAllocator,
    most: usize,
    alive: Arc<AtomicUsize>,
    pool: Weak<OnceLock<MemoryPool>>,
}

impl Capped {
    /// Returns an allocator for the pool `pool`.
    pub fn new(on_device: &OnDevice, most: usize, pool: &Inside) -> Result<Arc<Self>> {
        let inner = DeferredAllocator::new(&on_device.context, MemFlags::READ_WRITE)?;
        Ok(Arc::new(Self { inner, most, alive: Arc::default(), pool: Arc::downgrade(pool) }))
    }

    /// Returns the bytes of its buffers that the driver has not destroyed, once they are `expected`, or after 5 s: a
    /// driver may destroy a buffer after clReleaseMemObject.
    pub fn alive(&self, expected: usize) -> usize {
        let settled = soon(|| Ok(self.alive.load(Ordering::SeqCst) == expected));
        assert!(settled.is_ok());
        self.alive.load(Ordering::SeqCst)
    }

    /// Reserves bytes, if there are as many. Waits for buffers that the pool has released, up to 5 s.
    fn reserve(&self, size: usize) -> Result<()> {
        let add = |alive: usize| Some(alive + size).filter(|sum| *sum <= self.most);
        let is_pending =
            |alive: usize| reached(&self.pool).is_some_and(|pool| alive > pool.managed_bytes());
        for _ in 0..50_000 {
            match self.alive.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add) {
                Ok(_) => return Ok(()),
                Err(alive) if is_pending(alive) => thread::sleep(Duration::from_micros(100)),
                Err(_) => break,
            }
        }
        Err(error(-4))
    }
}

impl Allocator for Capped {
    type Memory = Buffer;

    fn allocate(&self, size: usize) -> Result<Option<Buffer>> {
        self.reserve(size)?;
        let bytes = Bytes { alive: Arc::clone(&self.alive), size };
        let buffer = self.inner.allocate(size)?;
        if let Some(buffer) = &buffer {
            count_until_destroyed(buffer, bytes);
        }
        Ok(buffer)
    }

    fn max_size(&self) -> Option<usize> {
        self.inner.max_size()
    }

    fn context(&self) -> Context {
        self.inner.context()
    }
}

/// Bytes that are alive until this is dropped.
struct Bytes {
    alive: Arc<AtomicUsize>,
    size: usize,
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.size, Ordering::SeqCst);
    }
}

fn count_until_destroyed(buffer: &Buffer, bytes: Bytes) {
    extern "C" fn destroyed(_: cl_mem, bytes: *mut c_void) {
        // SAFETY: it comes from below, and the driver calls back once.
        drop(unsafe { Box::from_raw(bytes.cast::<Bytes>()) });
    }
    let bytes = Box::into_raw(Box::new(bytes)).cast();
    // SAFETY: the buffer is alive, and the function takes what it is given.
    unsafe { set_mem_object_destructor_callback(buffer.as_raw(), destroyed, bytes) }
        .expect("a destructor callback");
}
