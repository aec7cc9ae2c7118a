#include "check.h"

static volatile int calls;
static volatile cl_int code_in_callback;

static void called(cl_event event, cl_int status, void *data) {
    (void)event, (void)status, (void)data;
    __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
}

static cl_ulong time_of(cl_event event, cl_uint name) {
    cl_ulong value = 0;
    OK(clGetEventProfilingInfo(event, name, sizeof value, &value, NULL));
    return value;
}

static const char *callback_after_the_end(void) {
    cl_event ended = gate();
    open_gate(ended);
    calls = 0;
    OK(clSetEventCallback(ended, CL_COMPLETE, called, NULL));
    return soon(&calls) ? RIGHT : "the function is not called that was registered for an event that had ended";
}

static const char *callback_twice(void) {
    cl_event closed = gate();
    calls = 0;
    OK(clSetEventCallback(closed, CL_COMPLETE, called, NULL));
    open_gate(closed);
    soon(&calls);
    usleep(20000);
    return calls == 1 ? RIGHT : "a function was not called once for an event";
}

static const char *status_of_a_marker(void) {
    cl_event marker;
    OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
    OK(clFinish(queue));
    return status(marker) == CL_COMPLETE ? RIGHT : "a marker is not complete after clFinish";
}

static const char *type_of_a_rectangle(void) {
    const size_t NONE[3] = {0, 0, 0}, ONE[3] = {1, 1, 1};
    cl_uint type;
    cl_event event;
    static unsigned char value;
    OK(clEnqueueReadBufferRect(queue, buffer(1, 0), 1, NONE, NONE, ONE, 0, 0, 0, 0, &value, 0, NULL, &event));
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    return type == CL_COMMAND_READ_BUFFER_RECT ? RIGHT : "the type of a read of a rectangle is another";
}

static void asks_for_times(cl_event event, cl_int status, void *data) {
    cl_ulong value;
    code_in_callback = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof value, &value, NULL);
    called(event, status, data);
}

static const char *times_in_a_callback(void) {
    cl_command_queue timed = another_queue(CL_QUEUE_PROFILING_ENABLE);
    cl_event closed = gate(), command = behind(timed, closed, buffer(1, 0), 1);
    calls = 0;
    OK(clSetEventCallback(command, CL_COMPLETE, asks_for_times, NULL));
    open_gate(closed);
    OK(clFinish(timed));
    return soon(&calls) && !code_in_callback ? RIGHT : "a command that has ended has no times in a callback";
}

static const char *times_before_the_end(void) {
    cl_command_queue timed = another_queue(CL_QUEUE_PROFILING_ENABLE);
    cl_event closed = gate(), command = behind(timed, closed, buffer(1, 0), 1);
    cl_ulong value;
    cl_int code = clGetEventProfilingInfo(command, CL_PROFILING_COMMAND_END, sizeof value, &value, NULL);
    open_gate(closed);
    OK(clFinish(timed));
    return code == CL_PROFILING_INFO_NOT_AVAILABLE ? RIGHT : "a command that has not ended has an end";
}

static const char *end_of_a_marker(void) {
    cl_command_queue timed = another_queue(CL_QUEUE_PROFILING_ENABLE);
    cl_event closed = gate(), command = behind(timed, closed, buffer(1, 0), 1), marker;
    OK(clEnqueueMarkerWithWaitList(timed, 0, NULL, &marker));
    usleep(1000);
    open_gate(closed);
    OK(clFinish(timed));
    return time_of(command, CL_PROFILING_COMMAND_END) <= time_of(marker, CL_PROFILING_COMMAND_END)
        ? RIGHT : "a marker ended before the earlier command of its in-order queue";
}

static const char *submitted_after_the_start(void) {
    cl_command_queue timed = another_queue(CL_QUEUE_PROFILING_ENABLE);
    cl_event closed = gate(), command = behind(timed, closed, buffer(1, 0), 1);
    open_gate(closed);
    OK(clFinish(timed));
    return time_of(command, CL_PROFILING_COMMAND_SUBMIT) <= time_of(command, CL_PROFILING_COMMAND_START)
        ? RIGHT : "a command started before it was submitted";
}

const check events[] = {
    {"events: callback after the end", callback_after_the_end},
    {"events: callback twice", callback_twice},
    {"events: status of a marker", status_of_a_marker},
    {"events: type of a rectangle", type_of_a_rectangle},
    {"events: times in a callback", times_in_a_callback},
    {"events: times before the end", times_before_the_end},
    {"events: end of a marker", end_of_a_marker},
    {"events: submitted after the start", submitted_after_the_start},
    {0},
};
