//! Options and items that the attribute refuses.

#[clmatrix_harness::test(timout = "3s")] //~ unknown option; there are `requires(...)`, `timeout = "30s"`
fn has_an_unknown_option() {}

#[clmatrix_harness::test(timeout = 30)] //~ expected a duration such as "30s"
fn has_a_number_of_seconds() {}

#[clmatrix_harness::test(timeout = "1s", timeout = "2s")] //~ `timeout` is given twice
fn has_two_limits() {}

#[clmatrix_harness::test(requires(fp32))] //~ unknown requirement; there are fp64
fn requires_an_unknown_property() {}

#[clmatrix_harness::test(requires(opencl = 1.2))] //~ expected an OpenCL version such as "1.2"
fn requires_a_number_as_version() {}

#[clmatrix_harness::test(once, requires(fp64))]
fn requires_a_device_without_one() {} //~ `once` runs without a device

#[clmatrix_harness::test]
fn is_generic<T>() {} //~ cannot have generic parameters

#[clmatrix_harness::test]
struct Test; //~ expected `fn`
