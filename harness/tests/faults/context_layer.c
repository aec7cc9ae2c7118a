/* A layer of the OpenCL loader (OPENCL_LAYERS) that makes some contexts go wrong.
 *
 * FAULTS_COUNT      a file that all processes share; its length is the number of contexts so far
 * FAULTS_CONTEXTS   FIRST-LAST, the contexts that go wrong, from 1
 * FAULTS_MODE       error, crash, exit or hang
 * FAULTS_POSITION   the position of the one device that is affected, if not all are
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *(*create_context)(const intptr_t *, unsigned, void *const *, void *, void *, int *);

enum { CREATE_CONTEXT = 4, MOST_ENTRIES = 1024 }; /* the position in cl_icd_dispatch */

static void *dispatch[MOST_ENTRIES];
static create_context next;

static int is_affected(void) {
    const char *position = getenv("FAULTS_POSITION"), *bound = getenv("PYOPENCL_CTX");
    if (!position) return 1;
    const char *colon = bound ? strrchr(bound, ':') : NULL;
    return colon && !strcmp(colon + 1, position);
}

static int is_bad(void) {
    int file = open(getenv("FAULTS_COUNT"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    long first = 0, last = 0, number = 0;
    if (file < 0 || write(file, "c", 1) != 1) abort();
    number = lseek(file, 0, SEEK_CUR);
    close(file);
    sscanf(getenv("FAULTS_CONTEXTS"), "%ld-%ld", &first, &last);
    return first <= number && number <= last;
}

static void *make_context(const intptr_t *properties, unsigned count, void *const *devices,
                          void *notify, void *data, int *error) {
    if (is_affected() && is_bad()) {
        const char *mode = getenv("FAULTS_MODE");
        if (!strcmp(mode, "crash")) abort();
        if (!strcmp(mode, "exit")) _exit(0);
        while (!strcmp(mode, "hang")) pause();
        if (error) *error = -5; /* CL_OUT_OF_RESOURCES */
        return NULL;
    }
    return next(properties, count, devices, notify, data, error);
}

int clGetLayerInfo(unsigned name, size_t size, void *value, size_t *length) {
    static const char text[] = "faults";
    const unsigned version = 100;
    const void *answer = name == 0x4240 ? (const void *)&version : (const void *)text;
    size_t wanted = name == 0x4240 ? sizeof version : sizeof text;
    if (length) *length = wanted;
    if (value && size >= wanted) memcpy(value, answer, wanted);
    return 0;
}

int clInitLayer(unsigned count, void *const *target, unsigned *count_of_layer, void ***layer) {
    if (count > MOST_ENTRIES) return -30;
    memcpy(dispatch, target, count * sizeof *target);
    next = (create_context)target[CREATE_CONTEXT];
    dispatch[CREATE_CONTEXT] = (void *)make_context;
    *count_of_layer = count;
    *layer = dispatch;
    return 0;
}
