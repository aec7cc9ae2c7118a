//! Driver quirks after a failed command, selected by the platform's name.

/// The quirks of one driver after a failed command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// In an in-order queue, commands after a failed one do not wait for the commands before it: they
    /// start at once (PoCL 3.1, Oclgrind 21.10) or fail at once (NVIDIA 580).
    // quirk: POCL-1, OCLGRIND-1, NVIDIA-1
    pub are_overtaken: bool,
    /// A failure may crash a command that is enqueued while its queue becomes idle (PoCL 3.1).
    // quirk: POCL-2
    pub race_with_idle_queues: bool,
    /// The unmap of a failed map writes bytes to the memory that were never read from it (NVIDIA 580).
    // quirk: NVIDIA-2
    pub are_unmapped_with_harm: bool,
}

impl Failures {
    /// The quirks of the platform `platform`. A platform without a name gets all the workarounds that
    /// do no harm on other drivers.
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
        assert_eq!(of(""), (true, true, false), "an unknown platform");
    }
}
