/* The common part of the checks. A check is a small program part that is right on a driver without the fault of its name. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../opencl.h"

/* The driver is right, and there is nothing to say. */
#define RIGHT NULL

typedef struct {
    /* The name of the fault. */
    const char *fault;
    /* Returns a sentence that says what is wrong, or RIGHT. */
    const char *(*run)(void);
} check;

extern cl_device_id device;
extern cl_context context;
extern cl_command_queue queue;

/* Ends the program if a call failed that is not what is checked. */
#define OK(call) succeeds(call, #call)
void succeeds(cl_int code, const char *call);

/* Objects, which the process keeps until its end. */
cl_kernel kernel(const char *name);
cl_mem buffer(size_t size, unsigned char value);
cl_mem image(cl_uint type, cl_uint order, cl_uint data, size_t width, size_t height, size_t depth);
cl_command_queue another_queue(cl_ulong properties);

/* A byte of a buffer, after all commands of `queue`. */
unsigned char byte(cl_mem buffer, size_t at);

/* Sets the arguments of the kernel `put`, which writes a byte to each place, and launches it. */
cl_int put(cl_kernel kernel, cl_mem to, unsigned char value, size_t places);

/* A user event, on which commands wait that must not run yet. */
cl_event gate(void);
void open_gate(cl_event gate);
/* Opens it from another thread, while a call of this thread waits, which must not return before. */
void open_soon(cl_event gate);
/* Returns whether a command behind that gate has ended now that the call has returned, and lets it end. */
int has_ended(cl_event event);

/* A command of `queue` that writes `value` to the first byte when the gate opens. */
cl_event behind(cl_command_queue queue, cl_event gate, cl_mem buffer, unsigned char value);

cl_int status(cl_event event);

/* Returns whether a command has ended, though it must not before a gate opens: it has some time to do so. */
int has_ended_early(cl_event event);

/* Waits until a counter that another thread changes is not 0, for at most a second. */
int soon(volatile int *counter);

extern const check queries[], arguments[], blocking[], order[], events[], lives[], formats[], memory[], sizes[];
