#include "check.h"

static const size_t ONE[3] = {1, 1, 1};

/* Launches one work-item, and returns what it wrote to the argument at `index`. */
static int answer(cl_kernel kernel, cl_uint index) {
    int value = -1;
    cl_mem to = buffer(sizeof value, 0);
    OK(clSetKernelArg(kernel, index, sizeof to, &to));
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, ONE, ONE, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, to, 1, 0, sizeof value, &value, 0, NULL, NULL));
    return value;
}

static const char *local_size_set_again(void) {
    cl_kernel locals = kernel("locals");
    OK(clSetKernelArg(locals, 0, 16, NULL));
    OK(clSetKernelArg(locals, 1, 16, NULL));
    answer(locals, 2);
    OK(clSetKernelArg(locals, 0, 1024, NULL));
    return abs(answer(locals, 2)) >= 1024 ? RIGHT : "local memory is smaller than clSetKernelArg made it after a launch";
}

static const char *vector_of_three(void) {
    cl_kernel three = kernel("three");
    int value[4] = {1, 2, 3, 4};
    if (clSetKernelArg(three, 0, sizeof value, value)) return "clSetKernelArg refuses the size of int3";
    return answer(three, 1) == 3 ? RIGHT : "a kernel got another int3";
}

static const char *null_buffer(void) {
    cl_kernel is_null = kernel("is_null");
    cl_mem none = NULL;
    if (clSetKernelArg(is_null, 0, sizeof none, &none)) return "clSetKernelArg refuses a null buffer";
    return answer(is_null, 1) ? RIGHT : "a null buffer is not null in a kernel";
}

static const char *svm_pointer_set_again(void) {
    cl_kernel is_null = kernel("is_null");
    void *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    OK(clSetKernelArgSVMPointer(is_null, 0, memory));
    OK(clSetKernelArgSVMPointer(is_null, 0, NULL));
    OK(clSetKernelArgSVMPointer(is_null, 0, memory));
    return answer(is_null, 1) ? "a kernel got null, where clSetKernelArgSVMPointer set memory again" : RIGHT;
}

static const char *buffer_of_a_cloned_kernel(void) {
    cl_int code;
    cl_kernel original = kernel("put");
    cl_mem to = buffer(1, 0);
    unsigned char value = 7;
    OK(clSetKernelArg(original, 0, sizeof to, &to));
    OK(clSetKernelArg(original, 1, 1, &value));
    cl_kernel clone = clCloneKernel(original, &code);
    OK(code);
    OK(clEnqueueNDRangeKernel(queue, clone, 1, NULL, ONE, ONE, 0, NULL, NULL));
    return byte(to, 0) == 7 ? RIGHT : "a cloned kernel did not write to the buffer of the original";
}

static const char *offset_of_a_later_launch(void) {
    cl_kernel place = kernel("place");
    cl_mem to = buffer(4, 0);
    size_t offset = 5;
    OK(clSetKernelArg(place, 0, sizeof to, &to));
    OK(clEnqueueNDRangeKernel(queue, place, 1, NULL, ONE, ONE, 0, NULL, NULL));
    OK(clEnqueueNDRangeKernel(queue, place, 1, &offset, ONE, ONE, 0, NULL, NULL));
    return byte(to, 0) == 5 ? RIGHT : "a launch did not have its offset, after one without";
}

static const char *three_dimensions_without_local_size(void) {
    cl_kernel count = kernel("count");
    cl_mem to = buffer(4, 0);
    size_t global[3] = {3, 3, 3};
    OK(clSetKernelArg(count, 0, sizeof to, &to));
    OK(clEnqueueNDRangeKernel(queue, count, 3, NULL, global, NULL, 0, NULL, NULL));
    return byte(to, 0) == 27 ? RIGHT : "a launch of 3 x 3 x 3 work-items ran fewer or more";
}

static const char *set_after_the_launch(void) {
    cl_kernel one = kernel("put");
    cl_mem to = buffer(1, 0);
    unsigned char later = 2;
    OK(put(one, to, 1, 1));
    OK(clSetKernelArg(one, 1, 1, &later));
    return byte(to, 0) == 1 ? RIGHT : "a launch used a value that was set after it";
}

const check arguments[] = {
    {"arguments: local size set again", local_size_set_again},
    {"arguments: vector of three", vector_of_three},
    {"arguments: null buffer", null_buffer},
    {"arguments: SVM pointer set again", svm_pointer_set_again},
    {"arguments: buffer of a cloned kernel", buffer_of_a_cloned_kernel},
    {"arguments: offset of a later launch", offset_of_a_later_launch},
    {"arguments: three dimensions without local size", three_dimensions_without_local_size},
    {"arguments: set after the launch", set_after_the_launch},
    {0},
};
