/* A layer of the OpenCL loader (OPENCL_LAYERS) that makes some contexts go wrong.
 *
 * FAULTS_COUNT      a file that all processes share; its length is the number of contexts so far
 * FAULTS_CONTEXTS   FIRST-LAST, the contexts that go wrong, from 1
 * FAULTS_MODE       error, crash, null-write, exit or hang;
 *                   handler: the first in a process sets a handler of SIGABRT and is good, the next aborts;
 *                   sent-again: the same with SIGSEGV and a write to address 0;
 *                   uncounted: all contexts are good, and each says that it has one reference, as those of
 *                   NVIDIA's driver
 * FAULTS_POSITION   the position of the one device that is affected, if not all are
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *(*create_context)(const intptr_t *, unsigned, void *const *, void *, void *, int *);

typedef int (*get_context_info)(void *, unsigned, size_t, void *, size_t *);

/* positions in cl_icd_dispatch */
enum { CREATE_CONTEXT = 4, GET_CONTEXT_INFO = 8, MOST_ENTRIES = 1024 };
enum { CONTEXT_REFERENCE_COUNT = 0x1080 };

static void *dispatch[MOST_ENTRIES];
static create_context next;
static get_context_info next_info;

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

static struct sigaction previous;

/* Handles SIGABRT as many libraries do: the previous action is set again, and the signal sent again. */
static void handle(int signal) {
    sigaction(signal, &previous, NULL);
    raise(signal);
}

static void write_to_null_in_c(void) { *(int *volatile)NULL = 1; }

static void set_handler_or_crash(int signal) {
    static int is_set;
    struct sigaction action = {.sa_handler = handle};
    if (is_set++) signal == SIGABRT ? abort() : write_to_null_in_c();
    sigaction(signal, &action, &previous);
}

static void *make_context(const intptr_t *properties, unsigned count, void *const *devices,
                          void *notify, void *data, int *error) {
    if (is_affected() && is_bad()) {
        const char *mode = getenv("FAULTS_MODE");
        if (!strcmp(mode, "handler") || !strcmp(mode, "sent-again")) {
            set_handler_or_crash(strcmp(mode, "handler") ? SIGSEGV : SIGABRT);
            return next(properties, count, devices, notify, data, error);
        }
        if (!strcmp(mode, "crash")) abort();
        if (!strcmp(mode, "null-write")) write_to_null_in_c();
        if (!strcmp(mode, "exit")) _exit(0);
        while (!strcmp(mode, "hang")) pause();
        if (error) *error = -5; /* CL_OUT_OF_RESOURCES */
        return NULL;
    }
    return next(properties, count, devices, notify, data, error);
}

static int context_info(void *context, unsigned name, size_t size, void *value, size_t *length) {
    int error = next_info(context, name, size, value, length);
    if (!error && name == CONTEXT_REFERENCE_COUNT && value) *(unsigned *)value = 1;
    return error;
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
    next_info = (get_context_info)target[GET_CONTEXT_INFO];
    if (!strcmp(getenv("FAULTS_MODE"), "uncounted")) dispatch[GET_CONTEXT_INFO] = (void *)context_info;
    *count_of_layer = count;
    *layer = dispatch;
    return 0;
}
