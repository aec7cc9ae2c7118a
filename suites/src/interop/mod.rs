//! Programs that use this library and another one, on the same objects.

mod opencl3;
mod raw;

/// Doubles each element.
const SOURCE: &str = "kernel void twice(global float *values) { values[get_global_id(0)] *= 2; }";

/// The elements before and after.
const VALUES: ([f32; 4], [f32; 4]) = ([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]);
