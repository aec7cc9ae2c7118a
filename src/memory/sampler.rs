//! Samplers, the rules by which kernels read images (OpenCL 3.0, 5.7; `pyopencl.Sampler`).

use std::sync::Arc;

use crate::context::Context;
use crate::create::create;
use crate::device::check_versions;
use cl3::error_codes::{CL_INVALID_OPERATION, CL_INVALID_VALUE};
use cl3::info_type::InfoType;
use cl3::sampler as cl;
use cl3::types::cl_sampler;

use super::image::limits::check_support;
use crate::error::{Error, Result, in_call};
use crate::handle::{SamplerRef, by_handle, retain_raw};
use crate::mem_context::MemContext;
use crate::select::Version;

/// The rules by which a kernel reads an image: the unit of coordinates, the pixels outside of the image, and the values
/// between pixels (`pyopencl.Sampler`).
///
/// Samplers are compared by the driver's handle. Clones share one reference of the driver's.
///
/// ```
/// use clmatrix::memory::{AddressingMode, FilterMode, Sampler};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let sampler = Sampler::new(&context, true, AddressingMode::Repeat, FilterMode::Linear)?;
/// assert!(sampler.normalized_coords()?);
/// assert_eq!(sampler.addressing_mode()?, AddressingMode::Repeat);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sampler {
    reference: Arc<SamplerRef>,
    /// Released after the sampler.
    context: Arc<MemContext>,
}

numbered! {
    /// The pixels that a kernel reads outside of an image (`cl_addressing_mode`; `pyopencl.addressing_mode`).
    AddressingMode;
    /// None: the kernel reads no pixel outside, whose value is undefined.
    None = 0x1130;
    /// The nearest pixel of the edge.
    ClampToEdge = 0x1131;
    /// The border colour: 0, with an alpha of 1 where the image has none.
    Clamp = 0x1132;
    /// The image again, side by side. Normalized coordinates only.
    Repeat = 0x1133;
    /// The image again, each one mirrored. Normalized coordinates only.
    MirroredRepeat = 0x1134;
}

numbered! {
    /// The value that a kernel reads between pixels (`cl_filter_mode`; `pyopencl.filter_mode`).
    FilterMode;
    /// The nearest pixel.
    Nearest = 0x1140;
    /// The mean of the nearest pixels, weighted by their distance.
    Linear = 0x1141;
}

/// A property of [`Sampler::with_properties`] (`cl_sampler_properties`;
/// `pyopencl.sampler_properties`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplerProperty {
    /// True if coordinates go from 0 to 1, rather than from 0 to the number of pixels; by default
    /// they do.
    NormalizedCoords(bool),
    /// By default [`AddressingMode::Clamp`].
    AddressingMode(AddressingMode),
    /// By default [`FilterMode::Nearest`].
    FilterMode(FilterMode),
    /// The value between mip levels (cl_khr_mipmap_image).
    MipFilterMode(FilterMode),
    /// The lowest level of detail (cl_khr_mipmap_image).
    LodMin(f32),
    /// The highest level of detail (cl_khr_mipmap_image).
    LodMax(f32),
}

impl Sampler {
    /// Creates a sampler of three settings (`clCreateSampler`).
    ///
    /// # Errors
    /// CL_INVALID_OPERATION, of class [`Unsupported`](crate::Class::Unsupported), where no device of
    /// the context has images; and the driver's errors.
    pub fn new(
        context: &Context,
        normalized_coords: bool,
        addressing_mode: AddressingMode,
        filter_mode: FilterMode,
    ) -> Result<Self> {
        const CALL: &str = "clCreateSampler";
        let context = with_images(CALL, context)?;
        let (addressing, filter) = (addressing_mode as u32, filter_mode as u32);
        let (raw, normalized) = (context.raw(), normalized_coords.into());
        // SAFETY: the context is alive.
        let reference =
            unsafe { create!(SamplerRef, clCreateSampler(raw, normalized, addressing, filter)) }?;
        Ok(Self { reference: Arc::new(reference), context })
    }

    /// Creates a sampler of properties, each of which may be left out (`clCreateSamplerWithProperties`,
    /// OpenCL 2.0).
    ///
    /// ```no_run
    /// # use clmatrix::memory::{FilterMode, Sampler, SamplerProperty};
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// let linear = [SamplerProperty::FilterMode(FilterMode::Linear)];
    /// let sampler = Sampler::with_properties(&context, &linear)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_VALUE for a property that is given twice; CL_INVALID_OPERATION, of class
    /// [`Unsupported`](crate::Class::Unsupported), where no device of the context has images, where
    /// one has not OpenCL 2.0, and for a property of mip levels where none has cl_khr_mipmap_image;
    /// and the driver's errors.
    pub fn with_properties(context: &Context, properties: &[SamplerProperty]) -> Result<Self> {
        const CALL: &str = "clCreateSamplerWithProperties";
        let context = with_images(CALL, context)?;
        check_versions(CALL, context.devices(), Version { major: 2, minor: 0 })?;
        check_properties(CALL, &context, properties)?;
        let raw = properties.iter().map(|property| property.raw());
        let list: Vec<u64> =
            raw.flat_map(|(name, value)| [name.into(), value]).chain([0]).collect();
        // SAFETY: the context is alive, and a 0 ends the list.
        let reference = unsafe {
            create!(SamplerRef, clCreateSamplerWithProperties(context.raw(), list.as_ptr()))
        }?;
        Ok(Self { reference: Arc::new(reference), context })
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails (`Sampler.from_int_ptr`).
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid sampler, and the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_sampler) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        let context = unsafe { MemContext::retain_answer(info(raw, cl::CL_SAMPLER_CONTEXT)?) }?;
        // SAFETY: the caller vouches for the handle and its reference.
        let reference = Arc::new(unsafe { SamplerRef::owned(raw) });
        Ok(Self { reference, context })
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    pub fn as_raw(&self) -> cl_sampler {
        self.reference.get()
    }

    /// Returns the context (CL_SAMPLER_CONTEXT).
    pub fn context(&self) -> Context {
        Context(Arc::clone(&self.context))
    }

    /// Returns CL_SAMPLER_REFERENCE_COUNT, for debugging: handles of this crate may share one reference.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn reference_count(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_SAMPLER_REFERENCE_COUNT)?.into())
    }

    /// Returns CL_SAMPLER_NORMALIZED_COORDS.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn normalized_coords(&self) -> Result<bool> {
        Ok(u32::from(info(self.as_raw(), cl::CL_SAMPLER_NORMALIZED_COORDS)?) != 0)
    }

    /// Returns CL_SAMPLER_ADDRESSING_MODE.
    ///
    /// # Errors
    /// The driver's errors, and CL_INVALID_VALUE for an answer that is not one of OpenCL's modes.
    pub fn addressing_mode(&self) -> Result<AddressingMode> {
        let raw = info(self.as_raw(), cl::CL_SAMPLER_ADDRESSING_MODE)?.into();
        AddressingMode::from_raw(raw).ok_or_else(|| unknown("addressing", raw))
    }

    /// Returns CL_SAMPLER_FILTER_MODE.
    ///
    /// # Errors
    /// The driver's errors, and CL_INVALID_VALUE for an answer that is not one of OpenCL's modes.
    pub fn filter_mode(&self) -> Result<FilterMode> {
        let raw = info(self.as_raw(), cl::CL_SAMPLER_FILTER_MODE)?.into();
        FilterMode::from_raw(raw).ok_or_else(|| unknown("filter", raw))
    }

    /// Returns CL_SAMPLER_MIP_FILTER_MODE (cl_khr_mipmap_image).
    ///
    /// # Errors
    /// The driver's errors; CL_INVALID_VALUE without the extension.
    pub fn mip_filter_mode(&self) -> Result<FilterMode> {
        let raw = u32::from_ne_bytes(self.four_bytes(cl::CL_SAMPLER_MIP_FILTER_MODE)?);
        FilterMode::from_raw(raw).ok_or_else(|| unknown("filter", raw))
    }

    /// Returns CL_SAMPLER_LOD_MIN (cl_khr_mipmap_image).
    ///
    /// # Errors
    /// The driver's errors; CL_INVALID_VALUE without the extension.
    pub fn lod_min(&self) -> Result<f32> {
        Ok(f32::from_ne_bytes(self.four_bytes(cl::CL_SAMPLER_LOD_MIN)?))
    }

    /// Returns CL_SAMPLER_LOD_MAX (cl_khr_mipmap_image).
    ///
    /// # Errors
    /// The driver's errors; CL_INVALID_VALUE without the extension.
    pub fn lod_max(&self) -> Result<f32> {
        Ok(f32::from_ne_bytes(self.four_bytes(cl::CL_SAMPLER_LOD_MAX)?))
    }

    /// Returns CL_SAMPLER_PROPERTIES (OpenCL 3.0): names and values as passed to
    /// [`with_properties`](Self::with_properties), with the 0 that ends them. Drivers differ in their answers about
    /// samplers of [`new`](Self::new).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn properties(&self) -> Result<Vec<u64>> {
        Ok(info(self.as_raw(), cl::CL_SAMPLER_PROPERTIES)?.into())
    }

    pub(crate) fn mem_context(&self) -> &Arc<MemContext> {
        &self.context
    }

    fn four_bytes(&self, name: u32) -> Result<[u8; 4]> {
        const CALL: &str = "clGetSamplerInfo";
        let bytes = cl::get_sampler_data(self.as_raw(), name).map_err(in_call(CALL))?;
        bytes.try_into().map_err(|bytes: Vec<u8>| {
            let reason = format!("the driver answers with {} bytes instead of 4", bytes.len());
            Error::refused(CALL, CL_INVALID_VALUE, reason)
        })
    }
}

by_handle!(Sampler);
retain_raw!(Sampler, cl_sampler, SamplerRef, "clRetainSampler");

impl SamplerProperty {
    /// Returns OpenCL's number for it, and its value.
    fn raw(self) -> (u32, u64) {
        match self {
            Self::NormalizedCoords(are) => (cl::CL_SAMPLER_NORMALIZED_COORDS, are.into()),
            Self::AddressingMode(mode) => (cl::CL_SAMPLER_ADDRESSING_MODE, mode as u64),
            Self::FilterMode(mode) => (cl::CL_SAMPLER_FILTER_MODE, mode as u64),
            Self::MipFilterMode(mode) => (cl::CL_SAMPLER_MIP_FILTER_MODE, mode as u64),
            Self::LodMin(lod) => (cl::CL_SAMPLER_LOD_MIN, lod.to_bits().into()),
            Self::LodMax(lod) => (cl::CL_SAMPLER_LOD_MAX, lod.to_bits().into()),
        }
    }

    fn is_of_mip_levels(self) -> bool {
        matches!(self, Self::MipFilterMode(_) | Self::LodMin(_) | Self::LodMax(_))
    }
}

/// `clGetSamplerInfo` of a sampler that is alive.
fn info(raw: cl_sampler, name: u32) -> Result<InfoType> {
    cl::get_sampler_info(raw, name).map_err(in_call("clGetSamplerInfo"))
}

fn unknown(what: &str, raw: u32) -> Error {
    let reason =
        format!("the driver answers with {raw:#x}, which is not one of OpenCL's {what} modes");
    Error::refused("clGetSamplerInfo", CL_INVALID_VALUE, reason)
}

/// Returns the context, if a device of it has images.
fn with_images(call: &'static str, context: &Context) -> Result<Arc<MemContext>> {
    let context = context.retained()?;
    check_support(call, &context)?;
    Ok(context)
}

fn check_properties(
    call: &'static str,
    context: &MemContext,
    properties: &[SamplerProperty],
) -> Result<()> {
    let has_mip_levels =
        || context.devices().iter().any(|device| device.has_extension("cl_khr_mipmap_image"));
    for (position, property) in properties.iter().enumerate() {
        let is_again =
            properties[..position].iter().any(|before| before.raw().0 == property.raw().0);
        Error::refuse_if(is_again, call, CL_INVALID_VALUE, || {
            format!("{property:?} is given twice")
        })?;
        if property.is_of_mip_levels() && !has_mip_levels() {
            let reason =
                format!("no device of the context has cl_khr_mipmap_image for {property:?}");
            return Err(Error::unsupported(call, CL_INVALID_OPERATION, reason));
        }
    }
    Ok(())
}
