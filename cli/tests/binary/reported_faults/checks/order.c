#include "check.h"

static const size_t ONE[3] = {1, 1, 1};

static const char *marker_after_another_queue(void) {
    cl_event closed = gate(), first = behind(another_queue(0), closed, buffer(1, 0), 1), marker;
    OK(clEnqueueMarkerWithWaitList(queue, 1, &first, &marker));
    int is_early = has_ended_early(marker);
    open_gate(closed);
    OK(clFinish(queue));
    return is_early ? "a marker ended before the command of another queue in its wait list" : RIGHT;
}

static const char *write_in_order(void) {
    static const unsigned char LAST = 2;
    cl_event closed = gate(), write;
    cl_mem to = buffer(1, 0);
    behind(queue, closed, to, 1);
    OK(clEnqueueWriteBuffer(queue, to, 0, 0, 1, &LAST, 0, NULL, &write));
    has_ended_early(write);
    open_gate(closed);
    return byte(to, 0) == LAST ? RIGHT : "a write ran before the earlier command of its in-order queue";
}

static const char *barrier(void) {
    cl_command_queue free_order = another_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event closed = gate(), last;
    static const unsigned char VALUE = 1;
    behind(free_order, closed, buffer(1, 0), 1);
    OK(clEnqueueBarrierWithWaitList(free_order, 0, NULL, NULL));
    OK(clEnqueueFillBuffer(free_order, buffer(1, 0), &VALUE, 1, 0, 1, 0, NULL, &last));
    int is_early = has_ended_early(last);
    open_gate(closed);
    OK(clFinish(free_order));
    return is_early ? "a command ran before the barrier that it follows" : RIGHT;
}

/* Launches a kernel after these events, of which the last is a closed gate. Returns whether it ran early. */
static int launches_early(cl_uint number, const cl_event *waits) {
    cl_kernel one = kernel("put");
    cl_mem to = buffer(1, 0);
    cl_event launch;
    OK(clSetKernelArg(one, 0, sizeof to, &to));
    OK(clSetKernelArg(one, 1, 1, "x"));
    OK(clEnqueueNDRangeKernel(queue, one, 1, NULL, ONE, ONE, number, waits, &launch));
    int is_early = has_ended_early(launch);
    open_gate(waits[number - 1]);
    OK(clFinish(queue));
    return is_early;
}

static const char *wait_list_of_a_launch(void) {
    cl_event closed = gate();
    return launches_early(1, &closed) ? "a launch did not wait for the event in its list" : RIGHT;
}

static const char *long_wait_list(void) {
    cl_event all[8];
    for (int i = 0; i < 8; i++) all[i] = gate();
    for (int i = 0; i < 7; i++) open_gate(all[i]);
    return launches_early(8, all) ? "a launch did not wait for the last of eight events in its list" : RIGHT;
}

static const char *queue_of_a_sub_device(void) {
    const intptr_t EQUALLY[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_uint number;
    cl_int code;
    OK(clCreateSubDevices(device, EQUALLY, 0, NULL, &number));
    cl_device_id *parts = calloc(number, sizeof *parts);
    OK(clCreateSubDevices(device, EQUALLY, number, parts, NULL));
    cl_context own = clCreateContext(NULL, 1, parts, NULL, NULL, &code);
    OK(code);
    cl_command_queue of_part = clCreateCommandQueue(own, parts[0], 0, &code);
    OK(code);
    cl_mem both[2];
    for (int i = 0; i < 2; i++) both[i] = clCreateBuffer(own, CL_MEM_READ_WRITE, 64, NULL, &code), OK(code);
    code = clEnqueueCopyBuffer(of_part, both[0], both[1], 0, 0, 64, 0, NULL, NULL);
    OK(clFinish(of_part));
    free(parts);
    return code ? "clEnqueueCopyBuffer refuses the queue of a sub-device" : RIGHT;
}

const check order[] = {
    {"order: marker after another queue", marker_after_another_queue},
    {"order: write", write_in_order},
    {"order: barrier", barrier},
    {"order: wait list of a launch", wait_list_of_a_launch},
    {"order: long wait list", long_wait_list},
    {"order: queue of a sub-device", queue_of_a_sub_device},
    {0},
};
