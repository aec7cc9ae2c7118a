#include "check.h"

static const size_t NONE[3] = {0, 0, 0}, PIXEL[3] = {1, 1, 1};

static const char *read_overtakes(void) {
    cl_event closed = gate();
    cl_mem from = buffer(1, 1);
    unsigned char value;
    behind(queue, closed, from, 2);
    open_soon(closed);
    OK(clEnqueueReadBuffer(queue, from, 1, 0, 1, &value, 0, NULL, NULL));
    has_ended(closed);
    OK(clFinish(queue));
    return value == 2 ? RIGHT : "a blocking read got what the buffer had before the earlier command of the queue";
}

static const char *read_of_an_image(void) {
    cl_event closed = gate(), first = behind(queue, closed, buffer(1, 0), 1);
    cl_mem from = image(CL_MEM_OBJECT_IMAGE2D, CL_RGBA, CL_UNSIGNED_INT8, 1, 1, 0);
    static unsigned char pixel[4];
    open_soon(closed);
    OK(clEnqueueReadImage(queue, from, 1, NONE, PIXEL, 0, 0, pixel, 0, NULL, NULL));
    return has_ended(first) ? RIGHT : "a blocking clEnqueueReadImage returned before the earlier command of the queue had ended";
}

static const char *map_of_svm(void) {
    cl_event closed = gate(), first = behind(queue, closed, buffer(1, 0), 1);
    void *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    open_soon(closed);
    OK(clEnqueueSVMMap(queue, 1, CL_MAP_READ, memory, 64, 0, NULL, NULL));
    int is_right = has_ended(first);
    OK(clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
    OK(clFinish(queue));
    return is_right ? RIGHT : "a blocking clEnqueueSVMMap returned before the earlier command of the queue had ended";
}

static const char *finish_after_flush(void) {
    cl_event closed = gate(), first = behind(queue, closed, buffer(1, 0), 1);
    OK(clFlush(queue));
    open_soon(closed);
    OK(clFinish(queue));
    return has_ended(first) ? RIGHT : "clFinish returned after clFlush before the command had ended";
}

static const char *wait_for_a_user_event(void) {
    cl_event closed = gate();
    open_soon(closed);
    OK(clWaitForEvents(1, &closed));
    return has_ended(closed) ? RIGHT : "clWaitForEvents returned before the user event was complete";
}

const check blocking[] = {
    {"blocking: read overtakes", read_overtakes},
    {"blocking: read of an image", read_of_an_image},
    {"blocking: map of SVM", map_of_svm},
    {"blocking: clFinish after clFlush", finish_after_flush},
    {"blocking: wait for a user event", wait_for_a_user_event},
    {0},
};
