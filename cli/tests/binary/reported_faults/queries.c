/* Faults of answers to queries. */

#include "layer.h"

enum { ASKED = -1 };

cl_int clGetMemObjectInfo(cl_mem memory, QUERY) {
    cl_int code = REAL(clGetMemObjectInfo)(memory, name, size, value, needed);
    /* Oclgrind answered CL_MEM_ASSOCIATED_MEMOBJECT for buffers only; of an image that uses a buffer, it was null.
       https://github.com/jrprice/Oclgrind/commit/a1f4e72a14ac */
    if (fault("queries: buffer of an image") && name == CL_MEM_ASSOCIATED_MEMOBJECT && !code && value) {
        cl_uint type = 0;
        REAL(clGetMemObjectInfo)(memory, CL_MEM_TYPE, sizeof type, &type, NULL);
        if (type != CL_MEM_OBJECT_BUFFER) *(cl_mem *)value = NULL;
    }
    /* Intel's GPU driver changed the offset of a sub-buffer with each query of it: it subtracted where the parent begins in
       a larger allocation, here 64 bytes. The first answer was right.
       https://github.com/intel/compute-runtime/commit/7a09c51f3de8 */
    if (fault("queries: offset asked again") && name == CL_MEM_OFFSET && !code) {
        intptr_t asked = recall(memory, ASKED);
        cl_mem parent = NULL;
        REAL(clGetMemObjectInfo)(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
        note(memory, ASKED, asked + 1);
        if (value && parent) *(size_t *)value -= 64 * asked;
    }
    return code;
}

cl_int clReleaseMemObject(cl_mem memory) {
    forget(memory);
    return REAL(clReleaseMemObject)(memory);
}

/* clvk used the nearest pixel on devices without a linear filter, and then told the application so: it lost the filter
   mode that the sampler was created with.
   https://github.com/kpet/clvk/pull/665 */
cl_int clGetSamplerInfo(cl_sampler sampler, QUERY) {
    cl_int code = REAL(clGetSamplerInfo)(sampler, name, size, value, needed);
    if (fault("queries: filter of a sampler") && name == CL_SAMPLER_FILTER_MODE && !code && value)
        *(cl_uint *)value = CL_FILTER_NEAREST;
    return code;
}

/* Intel's CPU driver wrote the size that it had copied, not the size of the answer: 0 where it was asked without space.
   https://github.com/KhronosGroup/OpenCL-CLHPP/issues/23 and https://github.com/CNugteren/CLTune/issues/43 */
static cl_int needs_no_space(cl_kernel kernel, cl_device_id device, QUERY) {
    cl_int code = REAL(clGetKernelWorkGroupInfo)(kernel, device, name, size, value, needed);
    if (needed && !value) *needed = 0;
    return code;
}

/* Intel's drivers and others counted the variables in local memory, not the arguments.
   https://github.com/KhronosGroup/OpenCL-Docs/issues/612 */
static cl_int without_arguments(cl_kernel kernel, cl_device_id device, QUERY) {
    cl_int code = REAL(clGetKernelWorkGroupInfo)(kernel, device, name, size, value, needed);
    if (name == CL_KERNEL_LOCAL_MEM_SIZE && !code && value)
        for (cl_uint i = 0; i < arguments_of(kernel); i++) *(cl_ulong *)value -= recall(kernel, i);
    return code;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    cl_int code = REAL(clSetKernelArg)(kernel, index, size, value);
    if (fault("queries: local memory of arguments") && !code && !value && is_local(kernel, index)) note(kernel, index, size);
    return code;
}

cl_int clReleaseKernel(cl_kernel kernel) {
    forget(kernel);
    return REAL(clReleaseKernel)(kernel);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, QUERY) {
    if (fault("queries: size of a work-group query")) return needs_no_space(kernel, device, name, size, value, needed);
    if (fault("queries: local memory of arguments")) return without_arguments(kernel, device, name, size, value, needed);
    return REAL(clGetKernelWorkGroupInfo)(kernel, device, name, size, value, needed);
}

/* clvk copied the attributes of a kernel from a string that it had destroyed. The size was right.
   https://github.com/kpet/clvk/pull/567 */
cl_int clGetKernelInfo(cl_kernel kernel, QUERY) {
    size_t length = 0;
    cl_int code = REAL(clGetKernelInfo)(kernel, name, size, value, &length);
    if (needed) *needed = length;
    if (fault("queries: attributes of a kernel") && name == CL_KERNEL_ATTRIBUTES && !code && value) memset(value, 0, length);
    return code;
}

/* PoCL left out the last kernel's name where the space was exactly as large as the names.
   https://github.com/pocl/pocl/commit/b862397ead8b */
cl_int clGetProgramInfo(cl_program program, QUERY) {
    size_t length = 0;
    cl_int code = REAL(clGetProgramInfo)(program, name, size, value, &length);
    if (needed) *needed = length;
    if (fault("queries: last kernel's name") && name == CL_PROGRAM_KERNEL_NAMES && !code && value && size == length) {
        char *last = strrchr(value, ';');
        *(last ? last : (char *)value) = 0;
    }
    return code;
}

/* Intel's GPU driver on OS X had a parent for a device that is no part of another, here the device itself.
   https://github.com/boostorg/compute/issues/333 */
cl_int clGetDeviceInfo(cl_device_id device, QUERY) {
    cl_int code = REAL(clGetDeviceInfo)(device, name, size, value, needed);
    if (fault("queries: parent of a root device") && name == CL_DEVICE_PARENT_DEVICE && !code && value && !*(cl_device_id *)value)
        *(cl_device_id *)value = device;
    return code;
}

/* Apple's driver refused options with two blanks in a row.
   https://github.com/opencv/opencv/issues/10710 */
cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options, void *notify, void *data) {
    if (fault("queries: two blanks in options") && options && strstr(options, "  ")) return CL_INVALID_VALUE;
    return REAL(clBuildProgram)(program, n, devices, options, notify, data);
}
