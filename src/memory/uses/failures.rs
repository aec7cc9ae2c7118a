//! What drivers do otherwise once a command has failed, by their platforms' names.

/// What follows from a failure with a driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// What comes after a command that failed does not wait for what came before it: in an in-order queue
    /// it begins at once (PoCL 3.1, Oclgrind 21.10), or fails at once (NVIDIA 580).
    pub are_overtaken: bool,
    /// A failure may crash what has just found its queue idle (PoCL 3.1).
    pub race_with_idle_queues: bool,
    /// The unmap of a map that failed writes to the memory what was never read from it (NVIDIA 580).
    pub are_unmapped_with_harm: bool,
}

impl Failures {
    /// Those of a platform; of one without a name, the worst that can be avoided.
    pub fn of(platform: &str) -> Self {
        let is_nvidia = platform.contains("NVIDIA CUDA");
        let is_other = platform.contains("Portable Computing Language")
            || platform.contains("Oclgrind")
            || platform.is_empty();
        Self {
            are_overtaken: is_nvidia || is_other,
            race_with_idle_queues: is_other,
            are_unmapped_with_harm: is_nvidia,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn drivers_differ() {
        let of = |platform| {
            let failures = Failures::of(platform);
            let Failures { are_overtaken, race_with_idle_queues, are_unmapped_with_harm } =
                failures;
            (are_overtaken, race_with_idle_queues, are_unmapped_with_harm)
        };
        assert_eq!(of("Portable Computing Language"), (true, true, false));
        assert_eq!(of("Oclgrind"), (true, true, false));
        assert_eq!(of("NVIDIA CUDA"), (true, false, true));
        assert_eq!(of("Intel(R) OpenCL"), (false, false, false));
        assert_eq!(of(""), (true, true, false), "nobody knows");
    }
}
