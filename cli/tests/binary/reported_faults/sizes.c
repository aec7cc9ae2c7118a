/* Faults of sizes, offsets and numbers. */

#include "layer.h"

/* PoCL counted the offset of a fill in steps of eight bytes, where the pattern has more.
   https://github.com/pocl/pocl/commit/1a0582d10157 */
cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size, WAIT) {
    if (fault("sizes: offset of a large pattern") && pattern_size > 8) offset = offset / pattern_size * 8 / pattern_size * pattern_size;
    return REAL(clEnqueueFillBuffer)(queue, buffer, pattern, pattern_size, offset, size, waits, list, event);
}

/* Intel's GPU driver copied with a kernel for four bytes at a time where the pitch of the destination was none of their
   multiples, as it regarded the source only.
   https://github.com/intel/compute-runtime/commit/48dc0a823d4b */
cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination, const size_t *from, const size_t *to, const size_t *region,
                               size_t from_row, size_t from_slice, size_t to_row, size_t to_slice, WAIT) {
    if (fault("sizes: odd pitch of a destination") && region[2] == 1 && to_row % 4) {
        size_t rounded = to_row / 4 * 4;
        to_row = rounded < region[0] ? region[0] : rounded, to_slice = 0;
    }
    return REAL(clEnqueueCopyBufferRect)(queue, source, destination, from, to, region, from_row, from_slice, to_row, to_slice, waits, list, event);
}

/* Xilinx's driver used a pitch of 0 as it was: all rows were read to the same place.
   https://github.com/Xilinx/XRT/pull/1541 */
static cl_int rows_at_one_place(cl_command_queue queue, cl_mem buffer, cl_uint blocking, RECTANGLES, void *host, WAIT) {
    size_t one[3] = {region[0], 1, 1}, last = region[1] * region[2] - 1;
    row = row ? row : region[0], slice = slice ? slice : region[1] * row;
    for (size_t i = 0; i <= last; i++) {
        size_t at[3] = {to[0], to[1] + i % region[1], to[2] + i / region[1]};
        cl_int code = REAL(clEnqueueReadBufferRect)(queue, buffer, i == last && blocking, at, from, one, row, slice, host_row, host_slice, host,
                                                    waits, list, i == last ? event : NULL);
        if (code) return code;
    }
    return CL_SUCCESS;
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_uint blocking, RECTANGLES, void *host, WAIT) {
    if (fault("sizes: pitch of 0") && !host_row && !host_slice)
        return rows_at_one_place(queue, buffer, blocking, to, from, region, row, slice, host_row, host_slice, host, waits, list, event);
    return REAL(clEnqueueReadBufferRect)(queue, buffer, blocking, to, from, region, row, slice, host_row, host_slice, host, waits, list, event);
}

static unsigned launches;

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset, size_t size, void *host, WAIT) {
    /* Intel's GPU driver wrote beyond the end of host memory at an odd address. Here, it writes whole words.
       https://github.com/opencv/opencv/issues/25798 */
    if (fault("sizes: beyond the end") && size % 4) memset((char *)host + size, 0, 4 - size % 4);
    if (blocking) launches = 0;
    return REAL(clEnqueueReadBuffer)(queue, buffer, blocking, offset, size, host, waits, list, event);
}

cl_int clFinish(cl_command_queue queue) {
    launches = 0;
    return REAL(clFinish)(queue);
}

cl_int clWaitForEvents(cl_uint number, const cl_event *events) {
    launches = 0;
    return REAL(clWaitForEvents)(number, events);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    cl_int code = REAL(clSetKernelArg)(kernel, index, size, value);
    if (fault("sizes: last bytes of a kernel") && !code && value && size == sizeof(cl_mem) && is_buffer(kernel, index))
        note(kernel, index, *(const intptr_t *)value);
    return code;
}

cl_int clReleaseKernel(cl_kernel kernel) {
    forget(kernel);
    return REAL(clReleaseKernel)(kernel);
}

/* Kernels on OpenCLOn12 could not use the last bytes of a buffer whose size is no multiple of four. Here, the bytes are
   what they were after the launch; the order of an in-order queue is used.
   https://github.com/microsoft/OpenCLOn12/commit/2178db73e19f */
static cl_int without_last_bytes(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, WAIT) {
    enum { MOST = 16 };
    cl_mem scratch = REAL(clCreateBuffer)(context_of(queue), CL_MEM_READ_WRITE, 4 * MOST, NULL, NULL), buffers[MOST] = {0};
    cl_uint number = arguments_of(kernel) < MOST ? arguments_of(kernel) : MOST;
    for (cl_uint i = 0; i < number; i++) {
        buffers[i] = (cl_mem)recall(kernel, i);
        size_t size = buffers[i] ? size_of(buffers[i]) : 0;
        if (size % 4) REAL(clEnqueueCopyBuffer)(queue, buffers[i], scratch, size / 4 * 4, 4 * i, size % 4, waits, list, NULL);
    }
    cl_int code = REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, list, event);
    for (cl_uint i = 0; i < number; i++) {
        size_t size = buffers[i] ? size_of(buffers[i]) : 0;
        if (size % 4) REAL(clEnqueueCopyBuffer)(queue, scratch, buffers[i], 4 * i, size / 4 * 4, size % 4, 0, NULL, NULL);
    }
    REAL(clReleaseMemObject)(scratch);
    return code;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, WAIT) {
    /* clvk has a limited number of launches of a kernel that have not ended, which it lowered to 2048. Here, it is 500.
       https://github.com/kpet/clvk/pull/521 */
    if (fault("sizes: many launches") && ++launches > 500) return CL_OUT_OF_RESOURCES;
    if (fault("sizes: last bytes of a kernel"))
        return without_last_bytes(queue, kernel, dimensions, offset, global, local, waits, list, event);
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, list, event);
}
