/* Faults of calls that wait. */

#include "layer.h"

enum { FLUSHED = -1 };

/* Apple's driver read before the earlier commands of the queue had ended, though the call was blocking.
   https://github.com/arrayfire/arrayfire/pull/1888 */
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset, size_t size, void *host, WAIT) {
    if (fault("blocking: read overtakes") && blocking) queue = beside(queue);
    return REAL(clEnqueueReadBuffer)(queue, buffer, blocking, offset, size, host, waits, list, event);
}

/* A blocking read of an image was not blocking on a tester's driver: the memory had the pixels only after clFinish.
   https://github.com/cogciprocate/ocl/pull/36 */
cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_uint blocking, const size_t *origin, const size_t *region,
                          size_t row, size_t slice, void *host, WAIT) {
    if (fault("blocking: read of an image")) blocking = 0;
    return REAL(clEnqueueReadImage)(queue, image, blocking, origin, region, row, slice, host, waits, list, event);
}

/* A blocking map of shared virtual memory did not wait in PoCL.
   https://github.com/pocl/pocl/commit/2105d7fd7e60 */
cl_int clEnqueueSVMMap(cl_command_queue queue, cl_uint blocking, cl_ulong flags, void *memory, size_t size, WAIT) {
    if (fault("blocking: map of SVM")) blocking = 0;
    return REAL(clEnqueueSVMMap)(queue, blocking, flags, memory, size, waits, list, event);
}

/* clvk's clFinish looked at the commands that were not submitted: just after clFlush there were none, and it returned.
   https://github.com/kpet/clvk/pull/288 (issue 241) */
cl_int clFlush(cl_command_queue queue) {
    cl_int code = REAL(clFlush)(queue);
    if (fault("blocking: clFinish after clFlush")) note(queue, FLUSHED, 1);
    return code;
}

cl_int clFinish(cl_command_queue queue) {
    if (fault("blocking: clFinish after clFlush") && recall(queue, FLUSHED)) return note(queue, FLUSHED, 0), CL_SUCCESS;
    return REAL(clFinish)(queue);
}

/* PoCL waited for the queues of the events; user events have none, and it did not wait for them.
   https://github.com/pocl/pocl/issues/201 */
cl_int clWaitForEvents(cl_uint number, const cl_event *events) {
    if (!fault("blocking: wait for a user event")) return REAL(clWaitForEvents)(number, events);
    for (cl_uint i = 0; i < number; i++) {
        cl_uint type = 0;
        clGetEventInfo(events[i], CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
        cl_int code = type == CL_COMMAND_USER ? CL_SUCCESS : REAL(clWaitForEvents)(1, events + i);
        if (code) return code;
    }
    return CL_SUCCESS;
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
    forget_queue(queue);
    return REAL(clReleaseCommandQueue)(queue);
}
