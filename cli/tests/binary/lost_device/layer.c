/* A device that is lost: waits for events fail, LOST_WAITS of them, and so do queries of their status. Pauses of a thread whose
   wait has failed are printed, and take no time. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../reported_faults/opencl.h"

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static __thread int waits, is_lost;

cl_int clWaitForEvents(cl_uint number, const cl_event *events) {
    is_lost = waits++ < atoi(getenv("LOST_WAITS"));
    return is_lost ? CL_OUT_OF_RESOURCES : REAL(clWaitForEvents)(number, events);
}

cl_int clGetEventInfo(cl_event event, cl_uint name, size_t size, void *value, size_t *returned) {
    return is_lost ? CL_OUT_OF_RESOURCES : REAL(clGetEventInfo)(event, name, size, value, returned);
}

static int paused(const struct timespec *time) {
    if (waits) fprintf(stderr, "pause %ld ms\n", time->tv_sec * 1000 + time->tv_nsec / 1000000);
    return waits;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    return paused(time) ? 0 : REAL(nanosleep)(time, left);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    return paused(time) ? 0 : REAL(clock_nanosleep)(clock, flags, time, left);
}
