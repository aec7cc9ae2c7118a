//! Time, and the part of it that may be spent.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A clock. Measurements use no other clock, so a test can drive it.
///
/// ```
/// use std::cell::Cell;
/// use std::time::Duration;
///
/// use clmatrix_characterize::measure::Clock;
///
/// /// Each look at it takes a second.
/// struct Slow(Cell<Duration>);
///
/// impl Clock for Slow {
///     fn now(&self) -> Duration {
///         self.0.replace(self.0.get() + Duration::from_secs(1))
///     }
/// }
/// assert!(Slow(Cell::default()).now() < Slow(Cell::new(Duration::from_secs(5))).now());
/// ```
pub trait Clock {
    /// Returns the time since a fixed moment. Never decreases.
    fn now(&self) -> Duration;
}

/// The system's clock ([`Instant`]), since its first use by this process.
///
/// ```
/// use clmatrix_characterize::measure::{Clock, SystemClock};
///
/// let begin = SystemClock.now();
/// assert!(SystemClock.now() >= begin);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        static BEGIN: OnceLock<Instant> = OnceLock::new();
        BEGIN.get_or_init(Instant::now).elapsed()
    }
}

/// Time that may be spent.
pub(super) struct Budget<'a> {
    clock: &'a dyn Clock,
    begin: Duration,
    end: Duration,
    /// The part that has been handed out.
    shared: Cell<f64>,
}

impl<'a> Budget<'a> {
    /// Creates a budget that begins now.
    pub fn new(clock: &'a dyn Clock, time: Duration) -> Self {
        /// A time that no caller waits for.
        const FOREVER: Duration = Duration::from_secs(1 << 32);
        let begin = clock.now();
        Self { clock, begin, end: begin + time.min(FOREVER), shared: Cell::new(0.0) }
    }

    pub fn clock(&self) -> &'a dyn Clock {
        self.clock
    }

    pub fn whole(&self) -> Duration {
        self.end - self.begin
    }

    pub fn spent(&self) -> Duration {
        self.clock.now().saturating_sub(self.begin)
    }

    pub fn left(&self) -> Duration {
        self.end.saturating_sub(self.clock.now())
    }

    pub fn is_spent(&self) -> bool {
        self.left().is_zero()
    }

    /// Hands out a share of the whole, which begins now and never ends after the whole. The rest of earlier
    /// shares is spread over later ones.
    pub fn share(&self, share: f64) -> Self {
        let rest = (1.0 - self.shared.get()).max(share);
        self.shared.set(self.shared.get() + share);
        Self::new(self.clock, self.left().mul_f64((share / rest).clamp(0.0, 1.0)))
    }
}

/// Returns the nanoseconds that `f` took by the clock, with its result.
pub(super) fn nanoseconds<T>(clock: &dyn Clock, f: impl FnOnce() -> T) -> (f64, T) {
    let begin = clock.now();
    let result = f();
    ((clock.now() - begin).as_secs_f64() * 1e9, result)
}
