/* Checks of the faults of the layers.

   check [FAULT...]   Runs these checks, or all; prints a sentence for each that is wrong, and exits with 1 if one is.
   check --each       Runs each check with its own fault; prints a line per fault, with the sentence. */

#include <pthread.h>

#include "check.h"

cl_device_id device;
cl_context context;
cl_command_queue queue;

static cl_program program;

static const char *SOURCE =
    "kernel void put(global uchar *to, uchar value) { to[get_global_id(0)] = value; }"
    "kernel void place(global int *to) { *to = get_global_id(0); }"
    "kernel void count(global int *to) { atomic_inc(to); }"
    "kernel void locals(local uchar *a, local uchar *b, global int *to) { *to = b - a; }"
    "kernel void three(int3 value, global int *to) { *to = value.z; }"
    "kernel void is_null(global uchar *memory, global int *to) { *to = !memory; }"
    "kernel __attribute__((reqd_work_group_size(1, 1, 1))) void one(global int *to) { *to = 1; }"
    "kernel void sample(read_only image2d_t image, sampler_t sampler, global float *to) {"
    "    *to = read_imagef(image, sampler, (float2)(1.0f, 0.5f)).x;"
    "}";

void succeeds(cl_int code, const char *call) {
    if (!code) return;
    fprintf(stderr, "%s: %d\n", call, code);
    exit(2);
}

cl_kernel kernel(const char *name) {
    cl_int code;
    cl_kernel made = clCreateKernel(program, name, &code);
    OK(code);
    return made;
}

cl_mem buffer(size_t size, unsigned char value) {
    cl_int code;
    void *bytes = memset(malloc(size), value, size);
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, bytes, &code);
    OK(code);
    free(bytes);
    return made;
}

cl_mem image(cl_uint type, cl_uint order, cl_uint data, size_t width, size_t height, size_t depth) {
    cl_int code;
    cl_image_format format = {order, data};
    cl_image_desc shape = {.image_type = type, .image_width = width, .image_height = height, .image_depth = depth};
    cl_mem made = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &code);
    OK(code);
    return made;
}

cl_command_queue another_queue(cl_ulong properties) {
    cl_int code;
    cl_command_queue made = clCreateCommandQueue(context, device, properties, &code);
    OK(code);
    return made;
}

unsigned char byte(cl_mem buffer, size_t at) {
    unsigned char value;
    OK(clFinish(queue));
    OK(clEnqueueReadBuffer(queue, buffer, 1, at, 1, &value, 0, NULL, NULL));
    return value;
}

cl_int put(cl_kernel kernel, cl_mem to, unsigned char value, size_t places) {
    OK(clSetKernelArg(kernel, 0, sizeof to, &to));
    OK(clSetKernelArg(kernel, 1, 1, &value));
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &places, NULL, 0, NULL, NULL);
}

cl_event gate(void) {
    cl_int code;
    cl_event made = clCreateUserEvent(context, &code);
    OK(code);
    return made;
}

void open_gate(cl_event gate) { OK(clSetUserEventStatus(gate, CL_COMPLETE)); }

/* The time in which a fault must show: more where there is one, also on a busy machine. */
static int patience_ms = 100;

static volatile int has_returned;

static void *open_later(void *gate) {
    for (int i = 0; !has_returned && i < patience_ms; i++) usleep(1000);
    open_gate(gate);
    return NULL;
}

void open_soon(cl_event gate) {
    pthread_t thread;
    has_returned = 0;
    OK(pthread_create(&thread, NULL, open_later, gate));
    OK(pthread_detach(thread));
}

cl_event behind(cl_command_queue queue, cl_event gate, cl_mem buffer, unsigned char value) {
    cl_event event;
    OK(clEnqueueFillBuffer(queue, buffer, &value, 1, 0, 1, 1, &gate, &event));
    return event;
}

cl_int status(cl_event event) {
    cl_int value;
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof value, &value, NULL));
    return value;
}

int has_ended(cl_event event) {
    int is_complete = status(event) == CL_COMPLETE;
    has_returned = 1;
    while (status(event) != CL_COMPLETE) usleep(1000);
    return is_complete;
}

int has_ended_early(cl_event event) {
    for (int i = 0; status(event) > CL_COMPLETE && i < patience_ms; i++) usleep(1000);
    return status(event) <= CL_COMPLETE;
}

int soon(volatile int *counter) {
    for (int i = 0; !*counter && i < 1000; i++) usleep(1000);
    return *counter;
}

/* Creates the objects on the first device of PoCL. */
static void begin(void) {
    cl_platform_id platforms[32];
    cl_uint number, i;
    char name[128] = "";
    cl_int code;
    OK(clGetPlatformIDs(32, platforms, &number));
    for (i = 0; i < number; i++) {
        OK(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL));
        if (!strcmp(name, "Portable Computing Language")) break;
    }
    if (i == number) fputs("no PoCL\n", stderr), exit(2);
    OK(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    OK(code);
    queue = another_queue(0);
    program = clCreateProgramWithSource(context, 1, &SOURCE, NULL, &code);
    OK(code);
    OK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
}

static int is_named(const char *fault, char **names) {
    if (!*names) return 1;
    for (; *names; names++)
        if (!strcmp(*names, fault)) return 1;
    return 0;
}

int main(int count, char **names) {
    static const check *const PARTS[] = {queries, arguments, blocking, order, events, lives, formats, memory, sizes};
    int is_each = count == 2 && !strcmp(names[1], "--each"), wrong = 0;
    begin();
    if (is_each) patience_ms = 5000;
    for (size_t part = 0; part < sizeof PARTS / sizeof *PARTS; part++)
        for (const check *one = PARTS[part]; one->fault; one++) {
            if (is_each) setenv("CLMATRIX_FAULT", one->fault, 1);
            else if (!is_named(one->fault, names + 1)) continue;
            const char *sentence = one->run();
            wrong |= !!sentence;
            if (is_each || sentence) printf("%s\t%s\n", one->fault, sentence ? sentence : "");
            fflush(stdout);
        }
    return wrong;
}
