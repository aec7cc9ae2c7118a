//! Curves that no device has taken, with a known answer.

use fastrand::Rng;

use crate::measure::series::Point;

/// Disturbances of samples. Shares are of the true time.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    pub seed: u64,
    pub rounds: usize,
    /// The largest distance of a sample from the true time.
    pub width: f64,
    /// The slowdown of the last round against the first.
    pub drift: f64,
    /// The share of samples that take up to four times longer.
    pub outliers: f64,
}

impl Noise {
    pub fn clean(seed: u64) -> Self {
        Self { seed, rounds: 15, width: 0.005, drift: 0.0, outliers: 0.0 }
    }

    pub fn drifting(seed: u64) -> Self {
        Self { drift: 0.1, ..Self::clean(seed) }
    }

    /// Returns any noise, from none to hopeless.
    pub fn any(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed ^ 0x5eed);
        let mut share = |most: f64| most * random.f64() * f64::from(u8::from(random.bool()));
        Self {
            seed,
            width: share(0.6),
            drift: share(1.0),
            outliers: share(0.3),
            rounds: 5 + seed as usize % 27,
        }
    }
}

/// Returns samples of `time` at each x, with `noise`.
pub fn curve(xs: &[u32], time: impl Fn(u32) -> f64, noise: Noise) -> Vec<Point> {
    let mut random = Rng::with_seed(noise.seed);
    let mut sample = |x: u32, round: usize| {
        let drift = 1.0 + noise.drift * round as f64 / noise.rounds as f64;
        let near = 1.0 + noise.width * (2.0 * random.f64() - 1.0);
        let late = if random.f64() < noise.outliers { 1.0 + 3.0 * random.f64() } else { 1.0 };
        time(x) * drift * near * late
    };
    let samples = |x: u32| (0..noise.rounds).map(|round| sample(x, round)).collect();
    let mut samples = samples;
    xs.iter().map(|x| Point { x: (*x).into(), samples: samples(*x) }).collect()
}
