/* Faults of arguments and of launches. */

#include "layer.h"

enum { LAUNCHED = -1, AT_ZERO = -2, NEWEST_SVM = -1000 };

/* A launch that is held back: see "arguments: set after the launch". */
static struct { cl_command_queue queue; cl_kernel kernel; cl_uint dimensions; size_t offset[3], global[3], local[3]; int has_offset, has_local; } late;

static void launch_now(void) {
    if (!late.kernel) return;
    cl_kernel kernel = late.kernel;
    late.kernel = NULL;
    REAL(clEnqueueNDRangeKernel)(late.queue, kernel, late.dimensions, late.has_offset ? late.offset : NULL, late.global,
                                 late.has_local ? late.local : NULL, 0, NULL, NULL);
    REAL(clReleaseKernel)(kernel);
}

/* OpenCLOn12 kept the values of arguments in the kernel until it recorded a launch, some time after clEnqueueNDRangeKernel:
   a launch used values that were set after it. Here, a launch without wait list and event reaches the driver with the next
   call of another function.
   https://github.com/microsoft/OpenCLOn12/issues/30 */
static void launch_later(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                         const size_t *global, const size_t *local) {
    late.queue = queue, late.kernel = kernel, late.dimensions = dimensions;
    late.has_offset = !!offset, late.has_local = !!local;
    if (offset) memcpy(late.offset, offset, dimensions * sizeof *offset);
    if (local) memcpy(late.local, local, dimensions * sizeof *local);
    memcpy(late.global, global, dimensions * sizeof *global);
    REAL(clRetainKernel)(kernel);
}

#define LAUNCHES_FIRST(name, parameters, arguments) \
    cl_int name parameters { return launch_now(), REAL(name) arguments; }

LAUNCHES_FIRST(clFlush, (cl_command_queue queue), (queue))
LAUNCHES_FIRST(clFinish, (cl_command_queue queue), (queue))
LAUNCHES_FIRST(clWaitForEvents, (cl_uint number, const cl_event *events), (number, events))
LAUNCHES_FIRST(clSetUserEventStatus, (cl_event event, cl_int status), (event, status))
LAUNCHES_FIRST(clReleaseMemObject, (cl_mem memory), (memory))
LAUNCHES_FIRST(clReleaseCommandQueue, (cl_command_queue queue), (queue))
LAUNCHES_FIRST(clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAIT), (queue, waits, list, event))
LAUNCHES_FIRST(clEnqueueReadBuffer, (cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset, size_t size, void *host, WAIT),
               (queue, buffer, blocking, offset, size, host, waits, list, event))
LAUNCHES_FIRST(clEnqueueWriteBuffer, (cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset, size_t size, const void *host, WAIT),
               (queue, buffer, blocking, offset, size, host, waits, list, event))
LAUNCHES_FIRST(clEnqueueCopyBuffer, (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, WAIT),
               (queue, from, to, from_offset, to_offset, size, waits, list, event))

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, cl_ulong flags, size_t offset, size_t size, WAIT, cl_int *code) {
    launch_now();
    return REAL(clEnqueueMapBuffer)(queue, buffer, blocking, flags, offset, size, waits, list, event, code);
}

cl_int clReleaseKernel(cl_kernel kernel) {
    launch_now();
    forget(kernel);
    return REAL(clReleaseKernel)(kernel);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    /* clvk lost the size of local memory when it was set again after a launch: the kernel ran with the earlier size.
       https://github.com/kpet/clvk/pull/336 */
    if (fault("arguments: local size set again") && !value && recall(kernel, LAUNCHED) && is_local(kernel, index))
        return CL_SUCCESS;
    /* clvk asked for three elements of a vector of three, which has the size of four.
       https://github.com/kpet/clvk/pull/360 */
    if (fault("arguments: vector of three")) {
        char type[64] = "";
        clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL);
        size_t length = strlen(type);
        if (length && type[length - 1] == '3') return CL_INVALID_ARG_SIZE;
    }
    /* PoCL 0.6 and 0.7 failed to set a buffer to null.
       https://github.com/pocl/pocl/blob/main/CHANGES (0.7 and 0.8, "Fixed passing NULL as a buffer argument") */
    if (fault("arguments: null buffer") && size == sizeof(cl_mem) && (!value || !*(const cl_mem *)value) && is_buffer(kernel, index))
        return CL_INVALID_MEM_OBJECT;
    cl_int code = REAL(clSetKernelArg)(kernel, index, size, value);
    if (fault("arguments: buffer of a cloned kernel") && !code && value && size == sizeof(cl_mem) && is_buffer(kernel, index))
        note(kernel, index, *(const intptr_t *)value);
    return code;
}

/* The clone of Intel's GPU driver had other buffers: it took the address of a buffer's memory for a buffer.
   https://github.com/intel/compute-runtime/commit/e3260de8caa9 */
cl_kernel clCloneKernel(cl_kernel kernel, cl_int *code) {
    cl_kernel clone = REAL(clCloneKernel)(kernel, code);
    if (fault("arguments: buffer of a cloned kernel") && clone)
        for (cl_uint i = 0; i < arguments_of(kernel); i++) {
            cl_mem buffer = (cl_mem)recall(kernel, i), other;
            cl_context context;
            if (!buffer || clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL)) continue;
            other = REAL(clCreateBuffer)(context, CL_MEM_READ_WRITE, size_of(buffer), NULL, NULL);
            REAL(clSetKernelArg)(clone, i, sizeof other, &other);
        }
    return clone;
}

/* Intel's GPU driver left out a pointer that was set before, and forgot that null was set in between.
   https://github.com/intel/compute-runtime/commit/d0a32b14371c */
cl_int clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value) {
    if (fault("arguments: SVM pointer set again") && value) {
        if (recall(kernel, NEWEST_SVM - index) == (intptr_t)value) return CL_SUCCESS;
        note(kernel, NEWEST_SVM - index, (intptr_t)value);
    }
    return REAL(clSetKernelArgSVMPointer)(kernel, index, value);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, WAIT) {
    size_t rounded[3];
    launch_now();
    if (fault("arguments: local size set again")) note(kernel, LAUNCHED, 1);
    /* PoCL's TCE driver used the program that it had made for a launch without offset for all later launches.
       https://github.com/pocl/pocl/issues/1135 */
    if (fault("arguments: offset of a later launch")) {
        int is_zero = 1;
        for (cl_uint i = 0; offset && i < dimensions; i++) is_zero &= !offset[i];
        if (is_zero) note(kernel, AT_ZERO, 1);
        if (recall(kernel, AT_ZERO)) offset = NULL;
    }
    /* OpenCLOn12 read its table of work-group sizes out of bounds where it had to choose one for three dimensions. Here, it
       chooses two in each, and leaves the rest out.
       https://github.com/microsoft/OpenCLOn12/commit/0b382e109355 */
    if (fault("arguments: three dimensions without local size") && dimensions == 3 && !local && global) {
        for (int i = 0; i < 3; i++) rounded[i] = global[i] > 1 ? global[i] & ~(size_t)1 : global[i];
        global = rounded;
    }
    if (fault("arguments: set after the launch") && !waits && !event && global)
        return launch_later(queue, kernel, dimensions, offset, global, local), CL_SUCCESS;
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, list, event);
}
