/* A driver that nobody knows: PoCL under another name, which destroys memory objects some time after their last release, as
   OpenCL 3.0, 5.5.1, allows. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../reported_faults/opencl.h"

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char NAME[] = "Portable Computing Language, renamed";

cl_int clGetPlatformInfo(cl_platform_id platform, cl_uint name, size_t size, void *value, size_t *returned) {
    if (name != CL_PLATFORM_NAME) return REAL(clGetPlatformInfo)(platform, name, size, value, returned);
    if (value && size < sizeof NAME) return CL_INVALID_VALUE;
    if (value) memcpy(value, NAME, sizeof NAME);
    if (returned) *returned = sizeof NAME;
    return CL_SUCCESS;
}

typedef struct release { cl_mem memory; struct release *next; } release;

static release *first, **last = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t there_is_one = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *release_late(void *none) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!first) pthread_cond_wait(&there_is_one, &lock);
        release *all = first;
        first = NULL, last = &first;
        pthread_mutex_unlock(&lock);
        usleep(2000);
        for (release *next; all; all = next) {
            next = all->next;
            REAL(clReleaseMemObject)(all->memory);
            free(all);
        }
    }
    return none;
}

static void start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, release_late, NULL)) abort();
    pthread_detach(thread);
}

cl_int clReleaseMemObject(cl_mem memory) {
    cl_uint references = 0;
    if (clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL) || references != 1)
        return REAL(clReleaseMemObject)(memory);
    release *new = malloc(sizeof *new);
    if (!new) abort();
    *new = (release){memory, NULL};
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    *last = new, last = &new->next;
    pthread_cond_signal(&there_is_one);
    pthread_mutex_unlock(&lock);
    return CL_SUCCESS;
}
