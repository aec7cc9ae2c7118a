#include "check.h"

static unsigned char *map_of(cl_mem buffer, cl_ulong flags) {
    cl_int code;
    void *map = clEnqueueMapBuffer(queue, buffer, 1, flags, 0, 64, 0, NULL, NULL, &code);
    OK(code);
    return map;
}

static cl_int unmap(cl_mem buffer, void *map) { return clEnqueueUnmapMemObject(queue, buffer, map, 0, NULL, NULL); }

static const char *host_memory_of_a_map(void) {
    static unsigned char host[64];
    cl_int code;
    cl_mem used = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof host, host, &code);
    OK(code);
    OK(clEnqueueFillBuffer(queue, used, "\7", 1, 0, sizeof host, 0, NULL, NULL));
    void *map = map_of(used, CL_MAP_READ);
    int is_right = map == host && host[0] == 7;
    OK(unmap(used, map));
    OK(clFinish(queue));
    return is_right ? RIGHT : "a map of CL_MEM_USE_HOST_PTR does not show what a command wrote";
}

static const char *both_allocated_and_copied(void) {
    unsigned char bytes[64] = {7};
    cl_int code;
    cl_mem made = clCreateBuffer(context, CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR, sizeof bytes, bytes, &code);
    OK(code);
    return byte(made, 0) == 7 ? RIGHT : "CL_MEM_ALLOC_HOST_PTR with CL_MEM_COPY_HOST_PTR did not copy";
}

static const char *mapped_twice(void) {
    cl_mem used = buffer(64, 0);
    void *first = map_of(used, CL_MAP_READ), *second = map_of(used, CL_MAP_READ);
    cl_int codes[] = {unmap(used, first), unmap(used, second)};
    OK(clFinish(queue));
    return !codes[0] && !codes[1] ? RIGHT : "only one of two maps of the same bytes can be unmapped";
}

static const char *read_to_a_map(void) {
    cl_mem used = buffer(64, 0);
    unsigned char *map = map_of(used, CL_MAP_READ | CL_MAP_WRITE);
    OK(clEnqueueReadBuffer(queue, buffer(64, 7), 1, 0, 64, map, 0, NULL, NULL));
    int is_right = map[0] == 7;
    OK(unmap(used, map));
    OK(clFinish(queue));
    return is_right ? RIGHT : "a read to a map of another buffer has no effect";
}

static const char *map_to_write(void) {
    cl_mem used = buffer(64, 7);
    unsigned char *map = map_of(used, CL_MAP_WRITE);
    map[0] = 1;
    OK(unmap(used, map));
    return byte(used, 1) == 7 ? RIGHT : "bytes that were not written changed by CL_MAP_WRITE";
}

static const char *sub_buffer_of_a_kernel(void) {
    cl_int code;
    cl_buffer_region region = {128, 64};
    cl_mem parent = buffer(256, 0), part = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    OK(code);
    OK(put(kernel("put"), part, 7, 1));
    return byte(parent, 128) == 7 ? RIGHT : "a kernel did not write to its sub-buffer";
}

const check memory[] = {
    {"memory: host memory of a map", host_memory_of_a_map},
    {"memory: both allocated and copied", both_allocated_and_copied},
    {"memory: mapped twice", mapped_twice},
    {"memory: read to a map", read_to_a_map},
    {"memory: map to write", map_to_write},
    {"memory: sub-buffer of a kernel", sub_buffer_of_a_kernel},
    {0},
};
