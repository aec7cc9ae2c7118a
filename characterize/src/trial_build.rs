//! Facts that only the build of a kernel shows.

use cl3::error_codes::{CL_COMPILER_NOT_AVAILABLE, CL_INVALID_DEVICE};

use clmatrix::{Context, Device, Error, Kernel, Program, Result};

/// Facts that only the build of a kernel shows. Each call builds a kernel.
///
/// A [`Device`] builds in a context of its own; so does a pair of a device and a context of several. A pair of a
/// device and its context builds in that context.
///
/// ```
/// use clmatrix::Device;
/// use clmatrix_characterize::{Facts, TrialBuild};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device = context.default_device().clone();
/// let facts = Facts::query(&device)?;
/// let multiple = facts.reasonable_work_group_size_multiple((&context, &device))?;
/// assert!(multiple >= 1);
/// assert_eq!(facts.reasonable_work_group_size_multiple(device)?, multiple);
/// # Ok(())
/// # }
/// ```
pub trait TrialBuild {
    /// Returns CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE of a small kernel.
    ///
    /// # Errors
    /// CL_INVALID_DEVICE for a context without the device, and the driver's errors.
    fn preferred_work_group_size_multiple(&self) -> Result<usize>;

    /// Returns CL_KERNEL_NUM_ARGS of a kernel with one argument, a structure of two members.
    ///
    /// # Errors
    /// The errors of [`preferred_work_group_size_multiple`](Self::preferred_work_group_size_multiple).
    fn struct_arg_count(&self) -> Result<u32>;
}

impl<B: TrialBuild + ?Sized> TrialBuild for &B {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        (**self).preferred_work_group_size_multiple()
    }

    fn struct_arg_count(&self) -> Result<u32> {
        (**self).struct_arg_count()
    }
}

/// A trial build that builds nothing: answers that need a build are errors.
///
/// ```
/// use clmatrix::Class;
/// use clmatrix_characterize::{Facts, FactsOnly};
///
/// let nvidia = Facts { nv_warp_size: Some(32), ..Facts::default() };
/// assert_eq!(nvidia.reasonable_work_group_size_multiple(FactsOnly).unwrap(), 32);
/// let error = Facts::default().reasonable_work_group_size_multiple(FactsOnly).unwrap_err();
/// assert_eq!(error.class(), Class::Unsupported);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FactsOnly;

impl TrialBuild for FactsOnly {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        Err(not_built())
    }

    fn struct_arg_count(&self) -> Result<u32> {
        Err(not_built())
    }
}

fn not_built() -> Error {
    let reason = "this answer needs a kernel build, which the caller excluded";
    Error::unsupported("clBuildProgram", CL_COMPILER_NOT_AVAILABLE, reason)
}

impl TrialBuild for Device {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        (&context_of(self)?, self).preferred_work_group_size_multiple()
    }

    fn struct_arg_count(&self) -> Result<u32> {
        (&context_of(self)?, self).struct_arg_count()
    }
}

impl TrialBuild for (&Context, &Device) {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        const SOURCE: &str = "kernel void k(global float *a) { a[get_global_id(0)] = 0; }";
        with_kernel(self, SOURCE, |kernel| Ok(kernel.work_group_info(self.1)?.preferred_multiple))
    }

    fn struct_arg_count(&self) -> Result<u32> {
        const SOURCE: &str = "struct pair { long first, second; };
                              kernel void k(struct pair pair) {}";
        with_kernel(self, SOURCE, |kernel| Ok(kernel.num_args() as u32))
    }
}

fn context_of(device: &Device) -> Result<Context> {
    Context::new([device])
}

/// Queries the kernel `k` of `source` while its program is alive.
fn with_kernel<T>(
    &(context, device): &(&Context, &Device),
    source: &str,
    ask: impl FnOnce(&Kernel) -> Result<T>,
) -> Result<T> {
    if !context.devices().contains(device) {
        let reason = "the context does not contain the device; pass a context that does";
        return Err(Error::from_call("clBuildProgram", CL_INVALID_DEVICE).with_detail(reason));
    }
    // Builds only for this device: a program of this library is built for all devices of its context.
    let own = (context.devices().len() > 1).then(|| context_of(device)).transpose()?;
    let program = Program::build(own.as_ref().unwrap_or(context), source)?;
    ask(&program.kernel("k")?)
}
