//! What only the build of a kernel can tell.

use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::kernel::Kernel;
use opencl3::program::Program;

use crate::error::{Error, Result};

/// What only the build of a kernel can tell. Each call builds one.
///
/// A [`Device`] builds in a context of its own, a pair of a context and a device in that context.
///
/// ```
/// use clmatrix::Device;
/// use clmatrix::characterize::{Facts, TrialBuild};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device = Device::new(context.default_device());
/// let facts = Facts::of(&device)?;
/// let multiple = facts.reasonable_work_group_size_multiple((&context, &device))?;
/// assert!(multiple >= 1);
/// assert_eq!(facts.reasonable_work_group_size_multiple(device)?, multiple);
/// # Ok(())
/// # }
/// ```
pub trait TrialBuild {
    /// CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE of a small kernel.
    ///
    /// # Errors
    /// What the driver answers.
    fn preferred_work_group_size_multiple(&self) -> Result<usize>;

    /// CL_KERNEL_NUM_ARGS of a kernel with one argument, a structure of two members.
    ///
    /// # Errors
    /// What the driver answers.
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

impl TrialBuild for Device {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        (&Context::from_device(self)?, self).preferred_work_group_size_multiple()
    }

    fn struct_arg_count(&self) -> Result<u32> {
        (&Context::from_device(self)?, self).struct_arg_count()
    }
}

impl TrialBuild for (&Context, &Device) {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        const SOURCE: &str = "kernel void k(global float *a) { a[get_global_id(0)] = 0; }";
        let device = self.1.id();
        with_kernel(self, SOURCE, |kernel| Ok(kernel.get_work_group_size_multiple(device)?))
    }

    fn struct_arg_count(&self) -> Result<u32> {
        const SOURCE: &str = "struct pair { long first, second; };
                              kernel void k(struct pair pair) {}";
        with_kernel(self, SOURCE, |kernel| Ok(kernel.num_args()?))
    }
}

/// Asks the kernel `k` of `source` while its program is alive.
fn with_kernel<T>(
    &(context, device): &(&Context, &Device),
    source: &str,
    ask: impl FnOnce(&Kernel) -> Result<T>,
) -> Result<T> {
    let mut program = Program::create_from_source(context, source)?;
    let built = program.build(&[device.id()], "");
    built.map_err(|error| Error::from_call("clBuildProgram", error.0))?;
    ask(&Kernel::create(&program, "k")?)
}
