/* Faults of kinds of memory: host memory, maps, sub-buffers. */

#include "layer.h"

enum { HOST = -1, SHADOW = -2, MAPPED = -3, PARENT = -4 };

/* clvk copied the host memory of a buffer when it created it, and did not bring it up to date when it was mapped.
   https://github.com/kpet/clvk/issues/64 and https://github.com/KhronosGroup/OpenCL-CTS/issues/700 */
static cl_mem with_shadow(cl_context context, cl_ulong flags, size_t size, void *host, cl_int *code) {
    enum { ALIGNMENT = 4096 };
    void *shadow = aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    memcpy(shadow, host, size);
    cl_mem buffer = REAL(clCreateBuffer)(context, flags, size, shadow, code);
    note(buffer, HOST, (intptr_t)host), note(buffer, SHADOW, (intptr_t)shadow);
    return buffer;
}

cl_mem clCreateBuffer(cl_context context, cl_ulong flags, size_t size, void *host, cl_int *code) {
    if (fault("memory: host memory of a map") && flags & CL_MEM_USE_HOST_PTR && host) return with_shadow(context, flags, size, host, code);
    /* PoCL took the memory of the application for that of the buffer, which has its own, and copied nothing.
       https://github.com/pocl/pocl/commit/8f9c1ee57933 */
    if (fault("memory: both allocated and copied") && flags & CL_MEM_ALLOC_HOST_PTR && flags & CL_MEM_COPY_HOST_PTR) {
        void *empty = calloc(size, 1);
        cl_mem buffer = REAL(clCreateBuffer)(context, flags, size, empty, code);
        free(empty);
        return buffer;
    }
    return REAL(clCreateBuffer)(context, flags, size, host, code);
}

cl_int clGetMemObjectInfo(cl_mem memory, QUERY) {
    cl_int code = REAL(clGetMemObjectInfo)(memory, name, size, value, needed);
    if (name == CL_MEM_HOST_PTR && !code && value && recall(memory, HOST)) *(intptr_t *)value = recall(memory, HOST);
    return code;
}

cl_int clReleaseMemObject(cl_mem memory) {
    cl_uint references = 0;
    REAL(clGetMemObjectInfo)(memory, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL);
    if (references == 1) forget(memory);
    return REAL(clReleaseMemObject)(memory);
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, cl_ulong flags, size_t offset, size_t size, WAIT, cl_int *code) {
    char *map = REAL(clEnqueueMapBuffer)(queue, buffer, blocking, flags, offset, size, waits, list, event, code);
    if (!map) return map;
    /* OpenCLOn12 made memory for a map to write that had none of the bytes of the buffer.
       https://github.com/microsoft/OpenCLOn12/commit/c6248faa8bc3 */
    if (fault("memory: map to write") && blocking && flags == CL_MAP_WRITE) memset(map, 0, size);
    intptr_t host = recall(buffer, HOST);
    if (host) map = (char *)host + (map - (char *)recall(buffer, SHADOW));
    note(map, MAPPED, size);
    return map;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *map, WAIT) {
    intptr_t host = recall(memory, HOST);
    if (host) {
        char *shadow = (char *)recall(memory, SHADOW) + ((char *)map - (char *)host);
        memcpy(shadow, map, recall(map, MAPPED));
        map = shadow;
    }
    forget(map);
    cl_int code = REAL(clEnqueueUnmapMemObject)(queue, memory, map, waits, list, event);
    /* PoCL found the first of two maps of the same bytes for both unmaps. Here, the first unmap ends both.
       https://github.com/pocl/pocl/commit/63c47c765fdb */
    cl_uint maps = 0;
    REAL(clGetMemObjectInfo)(memory, CL_MEM_MAP_COUNT, sizeof maps, &maps, NULL);
    if (fault("memory: mapped twice") && maps) REAL(clEnqueueUnmapMemObject)(queue, memory, map, 0, NULL, NULL);
    return code;
}

/* Reads of Intel's GPU driver had no effect where the host memory was a map of another buffer.
   https://github.com/intel/compute-runtime/issues/866 */
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t offset, size_t size, void *host, WAIT) {
    int is_mapped = 0;
    for (unsigned i = 0; i < noted; i++) {
        size_t place = (char *)host - (const char *)notes[i].of;
        is_mapped |= notes[i].key == MAPPED && place < (size_t)notes[i].value;
    }
    if (!fault("memory: read to a map") || !is_mapped)
        return REAL(clEnqueueReadBuffer)(queue, buffer, blocking, offset, size, host, waits, list, event);
    cl_event end;
    cl_int code = REAL(clEnqueueMarkerWithWaitList)(queue, waits, list, &end);
    if (!code && blocking) code = REAL(clWaitForEvents)(1, &end);
    if (event) *event = end;
    return code;
}

/* A kernel of Xilinx's driver got the beginning of the parent where its argument was a sub-buffer.
   https://github.com/Xilinx/XRT/issues/5255 */
cl_mem clCreateSubBuffer(cl_mem parent, cl_ulong flags, cl_uint type, const void *region, cl_int *code) {
    cl_mem part = REAL(clCreateSubBuffer)(parent, flags, type, region, code);
    if (part) note(part, PARENT, (intptr_t)parent);
    return part;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    if (fault("memory: sub-buffer of a kernel") && size == sizeof(cl_mem) && value && is_buffer(kernel, index)) {
        cl_mem parent = (cl_mem)recall(*(void *const *)value, PARENT);
        if (parent) return REAL(clSetKernelArg)(kernel, index, size, &parent);
    }
    return REAL(clSetKernelArg)(kernel, index, size, value);
}
