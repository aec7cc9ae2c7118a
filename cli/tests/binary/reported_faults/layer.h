/* The common part of the layers. A layer stands between a program and the OpenCL loader, and has faults that were reported of
   drivers. CLMATRIX_FAULT names the one that it has; without it, each call goes to the loader as it is.

   The layers are one library per part, so that each is complete and a fault is read in one place. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

/* The function of the loader. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define HELPER __attribute__((unused)) static

HELPER int fault(const char *name) {
    const char *chosen = getenv("CLMATRIX_FAULT");
    return chosen && !strcmp(chosen, name);
}

/* The knowledge of a layer of handles and addresses: a value per key, which is an enumerator of the layer or the index of an
   argument. The newest are found first. */
static struct { const void *of; intptr_t key, value; } notes[1 << 14];
static unsigned noted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the value, or 0. */
HELPER intptr_t recall(const void *of, intptr_t key) {
    intptr_t value = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = noted; i-- > 0;)
        if (notes[i].of == of && notes[i].key == key) {
            value = notes[i].value;
            break;
        }
    pthread_mutex_unlock(&lock);
    return value;
}

HELPER void note(const void *of, intptr_t key, intptr_t value) {
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < noted && (notes[i].of != of || notes[i].key != key)) i++;
    if (i == noted && noted < sizeof notes / sizeof *notes) noted++;
    if (i < noted) notes[i].of = of, notes[i].key = key, notes[i].value = value;
    pthread_mutex_unlock(&lock);
}

/* Forgets all of a handle, whose address the driver may use again. */
HELPER void forget(const void *of) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < noted; i++)
        if (notes[i].of == of) notes[i--] = notes[--noted];
    pthread_mutex_unlock(&lock);
}

/* Returns whether an argument is a pointer to local memory. */
HELPER int is_local(cl_kernel kernel, cl_uint index) {
    cl_uint space = 0;
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    return space == CL_KERNEL_ARG_ADDRESS_LOCAL;
}

/* Returns whether an argument is a pointer to a buffer. */
HELPER int is_buffer(cl_kernel kernel, cl_uint index) {
    cl_uint space = 0;
    char type[64] = "";
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL);
    return (space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT) && strchr(type, '*');
}

HELPER cl_uint arguments_of(cl_kernel kernel) {
    cl_uint number = 0;
    clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof number, &number, NULL);
    return number;
}

HELPER size_t size_of(cl_mem memory) {
    size_t size = 0;
    clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL);
    return size;
}

HELPER cl_context context_of(cl_command_queue queue) {
    cl_context context = NULL;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return context;
}

HELPER cl_device_id device_of(cl_command_queue queue) {
    cl_device_id device = NULL;
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    return device;
}

enum { BESIDE = -100 };

/* Returns a queue of the same device that knows nothing of the commands of this one, the same for each call. */
HELPER cl_command_queue beside(cl_command_queue queue) {
    cl_command_queue other = (cl_command_queue)recall(queue, BESIDE);
    if (!other) {
        other = REAL(clCreateCommandQueue)(context_of(queue), device_of(queue), 0, NULL);
        note(queue, BESIDE, (intptr_t)other);
    }
    return other;
}

/* Forgets a queue, and releases the one beside it. */
HELPER void forget_queue(cl_command_queue queue) {
    cl_command_queue other = (cl_command_queue)recall(queue, BESIDE);
    if (other) REAL(clReleaseCommandQueue)(other);
    forget(queue);
}
