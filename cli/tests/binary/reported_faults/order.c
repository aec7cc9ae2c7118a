/* Faults of the order of commands. */

#include "layer.h"

enum { MOST = 256 };

/* The events of a wait list that are those of no other queue. Codeplay's driver waited only for these at a marker and at a
   barrier, as if all events were of the queue itself.
   https://github.com/uxlfoundation/oneapi-construction-kit/pull/427 */
static cl_uint of_no_other_queue(cl_command_queue queue, cl_uint waits, const cl_event *list, cl_event *kept) {
    cl_uint number = 0;
    for (cl_uint i = 0; i < waits && i < MOST; i++) {
        cl_command_queue other = NULL;
        clGetEventInfo(list[i], CL_EVENT_COMMAND_QUEUE, sizeof other, &other, NULL);
        if (!other || other == queue) kept[number++] = list[i];
    }
    return number;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, WAIT) {
    cl_event kept[MOST];
    if (fault("order: marker after another queue")) waits = of_no_other_queue(queue, waits, list, kept), list = waits ? kept : NULL;
    return REAL(clEnqueueMarkerWithWaitList)(queue, waits, list, event);
}

/* A barrier in an out-of-order queue of the driver below SYCL held back only those later commands that the first of its
   lists got. Here, it holds back none, as a marker.
   https://github.com/intel/llvm/pull/21251 */
cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, WAIT) {
    cl_ulong properties = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (fault("order: barrier") && properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return REAL(clEnqueueMarkerWithWaitList)(queue, waits, list, event);
    return REAL(clEnqueueBarrierWithWaitList)(queue, waits, list, event);
}

/* A write that does not block was not ordered with other commands of an in-order queue of Intel's driver.
   https://github.com/m4rs-mt/ILGPU/issues/258 */
cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset, size_t size, const void *host, WAIT) {
    if (fault("order: write") && !blocking) queue = beside(queue);
    return REAL(clEnqueueWriteBuffer)(queue, buffer, blocking, offset, size, host, waits, list, event);
}

cl_int clFinish(cl_command_queue queue) {
    if (fault("order: write")) REAL(clFinish)(beside(queue));
    return REAL(clFinish)(queue);
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
    forget_queue(queue);
    return REAL(clReleaseCommandQueue)(queue);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, WAIT) {
    /* Launches of PoCL's CUDA driver did not regard their wait lists.
       https://github.com/pocl/pocl/issues/478 */
    if (fault("order: wait list of a launch")) waits = 0, list = NULL;
    /* VC4CL could not take a long wait list of a launch. It crashed; here, the launch waits for the first four.
       https://github.com/doe300/VC4CL/issues/55 */
    if (fault("order: long wait list") && waits > 4) waits = 4;
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, list, event);
}

/* PoCL looked for the device of a queue among those of the context, where a sub-device was not found. It stopped the
   program; here, the command is refused.
   https://github.com/pocl/pocl/commit/ecc327fee97b */
cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, WAIT) {
    cl_device_id parent = NULL;
    if (fault("order: queue of a sub-device") && !clGetDeviceInfo(device_of(queue), CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) && parent)
        return CL_INVALID_COMMAND_QUEUE;
    return REAL(clEnqueueCopyBuffer)(queue, from, to, from_offset, to_offset, size, waits, list, event);
}
