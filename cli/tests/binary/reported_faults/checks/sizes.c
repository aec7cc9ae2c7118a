#include "check.h"

static const size_t NONE[3] = {0, 0, 0};

static const char *offset_of_a_large_pattern(void) {
    cl_mem to = buffer(64, 0);
    OK(clEnqueueFillBuffer(queue, to, "sixteen letters", 16, 32, 16, 0, NULL, NULL));
    return byte(to, 32) == 's' && byte(to, 16) == 0 ? RIGHT : "a fill with a pattern of 16 bytes is not at its offset";
}

static const char *odd_pitch_of_a_destination(void) {
    const size_t REGION[3] = {3, 2, 1};
    cl_mem to = buffer(64, 0);
    OK(clEnqueueCopyBufferRect(queue, buffer(64, 7), to, NONE, NONE, REGION, 8, 0, 5, 0, 0, NULL, NULL));
    return byte(to, 5) == 7 && byte(to, 7) == 7 ? RIGHT : "the second row of a copy is not at a pitch of 5";
}

static const char *pitch_of_0(void) {
    const size_t REGION[3] = {2, 2, 1};
    unsigned char bytes[4] = {0};
    OK(clEnqueueReadBufferRect(queue, buffer(64, 7), 1, NONE, NONE, REGION, 8, 16, 0, 0, bytes, 0, NULL, NULL));
    return bytes[2] == 7 ? RIGHT : "the second row of a rectangle was not read, where the pitch is 0";
}

static const char *beyond_the_end(void) {
    unsigned char bytes[8];
    memset(bytes, 0x5a, sizeof bytes);
    OK(clEnqueueReadBuffer(queue, buffer(64, 7), 1, 0, 5, bytes, 0, NULL, NULL));
    return bytes[5] == 0x5a ? RIGHT : "a read of 5 bytes wrote more";
}

static const char *many_launches(void) {
    cl_kernel one = kernel("put");
    cl_mem to = buffer(1, 0);
    cl_int code = CL_SUCCESS;
    for (int i = 0; !code && i < 600; i++) code = put(one, to, 1, 1);
    OK(clFinish(queue));
    return code ? "a launch fails after many others that were not waited for" : RIGHT;
}

static const char *last_bytes_of_a_kernel(void) {
    cl_mem to = buffer(6, 0);
    OK(put(kernel("put"), to, 7, 6));
    return byte(to, 5) == 7 ? RIGHT : "a kernel did not write the last bytes of a buffer of 6";
}

const check sizes[] = {
    {"sizes: offset of a large pattern", offset_of_a_large_pattern},
    {"sizes: odd pitch of a destination", odd_pitch_of_a_destination},
    {"sizes: pitch of 0", pitch_of_0},
    {"sizes: beyond the end", beyond_the_end},
    {"sizes: many launches", many_launches},
    {"sizes: last bytes of a kernel", last_bytes_of_a_kernel},
    {0},
};
