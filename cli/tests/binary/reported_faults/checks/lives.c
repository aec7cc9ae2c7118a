#include "check.h"

static volatile int calls;

static void memory_destroyed(cl_mem memory, void *data) {
    (void)memory, (void)data;
    calls = 1;
}

static void context_destroyed(cl_context context, void *data) {
    (void)context, (void)data;
    calls = 1;
}

/* Lets `calls` tell whether the object is destroyed. */
static cl_mem watched(cl_mem memory) {
    calls = 0;
    OK(clSetMemObjectDestructorCallback(memory, memory_destroyed, NULL));
    return memory;
}

static cl_context watched_context(void) {
    cl_int code;
    cl_context made = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    OK(code);
    calls = 0;
    OK(clSetContextDestructorCallback(made, context_destroyed, NULL));
    return made;
}

static const char *memory_of_a_command(void) {
    cl_mem used = watched(buffer(1, 0));
    cl_event closed = gate();
    OK(clReleaseEvent(behind(queue, closed, used, 1)));
    OK(clReleaseMemObject(used));
    int is_early = calls;
    open_gate(closed);
    OK(clFinish(queue));
    return is_early ? "a buffer was destroyed while a command used it" : RIGHT;
}

static const char *destructor_of_a_sub_buffer(void) {
    cl_int code;
    cl_buffer_region region = {0, 64};
    cl_mem parent = watched(buffer(256, 0)), part = clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    OK(code);
    OK(clReleaseMemObject(part));
    int is_early = calls;
    OK(clReleaseMemObject(parent));
    return is_early ? "the function of a buffer was called when its sub-buffer was destroyed" : RIGHT;
}

static const char *references_to_a_sampler(void) {
    cl_int code;
    cl_uint references;
    cl_sampler made = clCreateSampler(context, 0, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
    OK(code);
    OK(clGetSamplerInfo(made, CL_SAMPLER_REFERENCE_COUNT, sizeof references, &references, NULL));
    OK(clReleaseSampler(made));
    return references == 1 ? RIGHT : "CL_SAMPLER_REFERENCE_COUNT of a new sampler is not 1";
}

static const char *context_of_a_queue(void) {
    cl_int code;
    cl_context own = watched_context();
    cl_command_queue made = clCreateCommandQueue(own, device, 0, &code);
    OK(code);
    OK(clReleaseCommandQueue(made));
    OK(clReleaseContext(own));
    return soon(&calls) ? RIGHT : "a context is not destroyed after its queue";
}

static const char *buffer_of_a_launch(void) {
    cl_mem used = watched(buffer(1, 0));
    cl_kernel one = kernel("put");
    OK(put(one, used, 1, 1));
    OK(clFinish(queue));
    OK(clReleaseMemObject(used));
    OK(clReleaseKernel(one));
    return soon(&calls) ? RIGHT : "a buffer is not destroyed after the launch that used it";
}

static const char *image_that_was_mapped(void) {
    const size_t NONE[3] = {0, 0, 0}, PIXEL[3] = {1, 1, 1};
    cl_int code;
    size_t pitch;
    cl_mem used = watched(image(CL_MEM_OBJECT_IMAGE2D, CL_RGBA, CL_UNSIGNED_INT8, 1, 1, 0));
    void *map = clEnqueueMapImage(queue, used, 1, CL_MAP_READ, NONE, PIXEL, &pitch, NULL, 0, NULL, NULL, &code);
    OK(code);
    OK(clEnqueueUnmapMemObject(queue, used, map, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clReleaseMemObject(used));
    return soon(&calls) ? RIGHT : "an image is not destroyed after it was mapped";
}

static const char *program_before_its_kernel(void) {
    cl_int code;
    const char *source = "kernel void nothing() {}";
    cl_context own = watched_context();
    cl_program program = clCreateProgramWithSource(own, 1, &source, NULL, &code);
    OK(code);
    OK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    cl_kernel made = clCreateKernel(program, "nothing", &code);
    OK(code);
    OK(clReleaseProgram(program));
    OK(clReleaseKernel(made));
    OK(clReleaseContext(own));
    return soon(&calls) ? RIGHT : "a program that was released before its kernel is not destroyed with it";
}

const check lives[] = {
    {"lives: memory of a command", memory_of_a_command},
    {"lives: destructor of a sub-buffer", destructor_of_a_sub_buffer},
    {"lives: references to a sampler", references_to_a_sampler},
    {"lives: context of a queue", context_of_a_queue},
    {"lives: buffer of a launch", buffer_of_a_launch},
    {"lives: image that was mapped", image_that_was_mapped},
    {"lives: program before its kernel", program_before_its_kernel},
    {0},
};
