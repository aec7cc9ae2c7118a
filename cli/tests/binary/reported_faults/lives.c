/* Faults of the lives of objects: references, and functions that are called when an object is destroyed. */

#include "layer.h"

enum { RETAINED = -1, CALLBACKS = -2 };

/* A function that is called when a memory object is destroyed. */
typedef struct destructor {
    void (*function)(cl_mem, void *);
    void *data;
    int is_done;
    struct destructor *earlier;
} destructor;

static void destroyed(cl_mem memory, void *data) {
    destructor *user = data;
    if (!user->is_done) user->is_done = 1, user->function(memory, user->data);
}

cl_int clSetMemObjectDestructorCallback(cl_mem memory, void (*function)(cl_mem, void *), void *data) {
    if (!getenv("CLMATRIX_FAULT")) return REAL(clSetMemObjectDestructorCallback)(memory, function, data);
    destructor *user = malloc(sizeof *user);
    *user = (destructor){function, data, 0, (destructor *)recall(memory, CALLBACKS)};
    note(memory, CALLBACKS, (intptr_t)user);
    return REAL(clSetMemObjectDestructorCallback)(memory, destroyed, user);
}

cl_int clRetainMemObject(cl_mem memory) {
    note(memory, RETAINED, recall(memory, RETAINED) + 1);
    return REAL(clRetainMemObject)(memory);
}

/* Commands of Xilinx's and Intel's FPGA drivers did not retain their memory: the application's last release destroyed it
   while a command used it. Here, only the functions are called that early.
   https://github.com/apache/tvm/pull/2737 */
cl_int clReleaseMemObject(cl_mem memory) {
    intptr_t retained = recall(memory, RETAINED);
    destructor *newest = (destructor *)recall(memory, CALLBACKS);
    if (retained) note(memory, RETAINED, retained - 1);
    else forget(memory);
    if (fault("lives: memory of a command") && !retained)
        for (destructor *user = newest; user; user = user->earlier) destroyed(memory, user);
    return REAL(clReleaseMemObject)(memory);
}

/* PoCL did not initialize the list of functions of a sub-buffer. Here, it is that of the parent, whose newest function is
   called when the sub-buffer is destroyed, too.
   https://github.com/pocl/pocl/pull/348 */
cl_mem clCreateSubBuffer(cl_mem parent, cl_ulong flags, cl_uint type, const void *region, cl_int *code) {
    cl_mem part = REAL(clCreateSubBuffer)(parent, flags, type, region, code);
    destructor *newest = (destructor *)recall(parent, CALLBACKS);
    if (fault("lives: destructor of a sub-buffer") && part && newest)
        REAL(clSetMemObjectDestructorCallback)(part, newest->function, newest->data);
    return part;
}

/* Oclgrind did not initialize the number of references to a sampler.
   https://github.com/jrprice/Oclgrind/commit/75050414675c */
cl_int clGetSamplerInfo(cl_sampler sampler, QUERY) {
    cl_int code = REAL(clGetSamplerInfo)(sampler, name, size, value, needed);
    if (fault("lives: references to a sampler") && name == CL_SAMPLER_REFERENCE_COUNT && !code && value) *(cl_uint *)value = 0;
    return code;
}

/* clvk's queues and the threads that ran their commands had references to each other, and none was destroyed.
   https://github.com/kpet/clvk/pull/445 */
static cl_command_queue kept(cl_command_queue queue, cl_context context) {
    if (fault("lives: context of a queue") && queue) REAL(clRetainContext)(context);
    return queue;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_ulong properties, cl_int *code) {
    return kept(REAL(clCreateCommandQueue)(context, device, properties, code), context);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device, const cl_ulong *properties, cl_int *code) {
    return kept(REAL(clCreateCommandQueueWithProperties)(context, device, properties, code), context);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    cl_int code = REAL(clSetKernelArg)(kernel, index, size, value);
    if (fault("lives: buffer of a launch") && !code && value && size == sizeof(cl_mem) && is_buffer(kernel, index))
        note(kernel, index, *(const intptr_t *)value);
    return code;
}

cl_int clReleaseKernel(cl_kernel kernel) {
    forget(kernel);
    return REAL(clReleaseKernel)(kernel);
}

/* AMD's driver kept the buffers of a launch until its event was waited for, and for ever if there was none.
   https://github.com/cogciprocate/ocl/issues/94 */
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local, WAIT) {
    if (fault("lives: buffer of a launch") && !event)
        for (cl_uint i = 0; i < arguments_of(kernel); i++) {
            cl_mem buffer = (cl_mem)recall(kernel, i);
            if (buffer) REAL(clRetainMemObject)(buffer);
        }
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, list, event);
}

/* clvk did not free what it needed for a map of an image.
   https://github.com/kpet/clvk/issues/480 */
void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_uint blocking, cl_ulong flags, const size_t *origin,
                        const size_t *region, size_t *row, size_t *slice, WAIT, cl_int *code) {
    if (fault("lives: image that was mapped")) REAL(clRetainMemObject)(image);
    return REAL(clEnqueueMapImage)(queue, image, blocking, flags, origin, region, row, slice, waits, list, event, code);
}

/* PoCL did not free a program that was released before its kernels.
   https://github.com/inducer/pyopencl/issues/300 */
cl_int clReleaseProgram(cl_program program) {
    cl_uint references = 0;
    clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof references, &references, NULL);
    if (fault("lives: program before its kernel") && references > 1) return CL_SUCCESS;
    return REAL(clReleaseProgram)(program);
}
