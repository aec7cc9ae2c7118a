/* An OpenCL loader that makes one command wrong: the one that CLMATRIX_WRONG names. All else goes to
   the real loader, which this library is linked to. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define WAIT unsigned count, const void *events, void **event
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum { KIB = 1 << 10, MIB = 1 << 20, COPY_HOST_PTR = 1 << 5, MEM_SIZE = 0x1102, PIXEL_SIZE = 0x1111, DEVICE_NAME = 0x102B,
       PROGRAM_DEVICES = 0x1163, BUILD_PROGRAM_FAILURE = -11 };

int clFinish(void *queue);
int clGetMemObjectInfo(void *object, unsigned name, size_t size, void *value, size_t *found);
int clGetProgramInfo(void *program, unsigned name, size_t size, void *value, size_t *found);
int clGetDeviceInfo(void *device, unsigned name, size_t size, void *value, size_t *found);
int clGetImageInfo(void *image, unsigned name, size_t size, void *value, size_t *found);

static int wrong(const char *what) {
    const char *chosen = getenv("CLMATRIX_WRONG");
    return chosen && !strcmp(chosen, what);
}

/* The size without its last byte, where there are more. */
static size_t without_last(size_t size) { return size > 1 ? size - 1 : size; }

/* No kernel builds on PoCL, whose devices are "pthread" and more. */
int clBuildProgram(void *program, unsigned count, void *const *devices, const char *options, void *notify, void *data) {
    char name[256] = "";
    void *device = NULL;
    if (wrong("build: PoCL") && !clGetProgramInfo(program, PROGRAM_DEVICES, sizeof device, &device, NULL)
        && !clGetDeviceInfo(device, DEVICE_NAME, sizeof name, name, NULL) && !strncmp(name, "pthread", 7))
        return BUILD_PROGRAM_FAILURE;
    return REAL(clBuildProgram)(program, count, devices, options, notify, data);
}

int clEnqueueReadBuffer(void *queue, void *buffer, unsigned blocking, size_t offset, size_t size, void *host, WAIT) {
    if (wrong("read: last byte")) size = without_last(size);
    if (wrong("read: offset")) offset = 0;
    return REAL(clEnqueueReadBuffer)(queue, buffer, blocking, offset, size, host, count, events, event);
}

int clEnqueueWriteBuffer(void *queue, void *buffer, unsigned blocking, size_t offset, size_t size, const void *host, WAIT) {
    if (wrong("write: last byte")) size = without_last(size);
    if (wrong("write: offset")) offset = 0;
    return REAL(clEnqueueWriteBuffer)(queue, buffer, blocking, offset, size, host, count, events, event);
}

int clEnqueueCopyBuffer(void *queue, void *src, void *dst, size_t src_offset, size_t dst_offset, size_t size, WAIT) {
    if (wrong("copy: last byte")) size = without_last(size);
    if (wrong("copy: last byte over 1 MiB") && size > MIB) size--;
    if (wrong("copy: source offset")) src_offset = 0;
    if (wrong("copy: destination offset")) dst_offset = 0;
    return REAL(clEnqueueCopyBuffer)(queue, src, dst, src_offset, dst_offset, size, count, events, event);
}

int clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size, WAIT) {
    if (wrong("fill: last pattern") && size > pattern_size) size -= pattern_size;
    if (wrong("fill: over 64 KiB") && size > 64 * KIB) size = 64 * KIB;
    if (wrong("fill: offset")) offset = 0;
    return REAL(clEnqueueFillBuffer)(queue, buffer, pattern, pattern_size, offset, size, count, events, event);
}

/* The last byte of a rectangle. */
static size_t last(const size_t *origin, const size_t *region, size_t row, size_t slice) {
    row = row ? row : region[0];
    slice = slice ? slice : region[1] * row;
    return origin[0] + region[0] - 1 + (origin[1] + region[1] - 1) * row + (origin[2] + region[2] - 1) * slice;
}

/* Does `call`, and then puts back what byte `at` of `buffer` was before. */
#define BUT_BYTE(what, buffer, at, call) ({ \
    unsigned char byte; \
    int is_wrong = wrong(what), code; \
    if (is_wrong) REAL(clEnqueueReadBuffer)(queue, buffer, 1, at, 1, &byte, 0, 0, 0); \
    code = call; \
    if (is_wrong && !code) \
        clFinish(queue), REAL(clEnqueueWriteBuffer)(queue, buffer, 1, at, 1, &byte, 0, 0, 0); \
    code; })

int clEnqueueCopyBufferRect(void *queue, void *src, void *dst, const size_t *from, const size_t *to, const size_t *region,
                            size_t src_row, size_t src_slice, size_t dst_row, size_t dst_slice, WAIT) {
    return BUT_BYTE("copy of rows: last byte", dst, last(to, region, dst_row, dst_slice),
        REAL(clEnqueueCopyBufferRect)(queue, src, dst, from, to, region, src_row, src_slice, dst_row, dst_slice, count, events, event));
}

int clEnqueueWriteBufferRect(void *queue, void *buffer, unsigned blocking, const size_t *to, const size_t *from, const size_t *region,
                             size_t row, size_t slice, size_t host_row, size_t host_slice, const void *host, WAIT) {
    return BUT_BYTE("write of rows: last byte", buffer, last(to, region, row, slice),
        REAL(clEnqueueWriteBufferRect)(queue, buffer, blocking, to, from, region, row, slice, host_row, host_slice, host, count, events, event));
}

int clEnqueueReadBufferRect(void *queue, void *buffer, unsigned blocking, const size_t *from, const size_t *to, const size_t *region,
                            size_t row, size_t slice, size_t host_row, size_t host_slice, unsigned char *host, WAIT) {
    int is_wrong = wrong("read of rows: last byte");
    size_t at = last(to, region, host_row, host_slice);
    unsigned char byte = is_wrong ? host[at] : 0;
    int code = REAL(clEnqueueReadBufferRect)(queue, buffer, is_wrong ? 1 : blocking, from, to, region, row, slice, host_row, host_slice, host, count, events, event);
    if (is_wrong) host[at] = byte;
    return code;
}

void *clCreateBuffer(void *context, unsigned long flags, size_t size, void *host, int *code) {
    if (!wrong("create: last byte") || !(flags & COPY_HOST_PTR))
        return REAL(clCreateBuffer)(context, flags, size, host, code);
    unsigned char *copy = memcpy(malloc(size), host, size);
    copy[size - 1] = 0;
    void *buffer = REAL(clCreateBuffer)(context, flags, size, copy, code);
    free(copy);
    return buffer;
}

void *clCreateSubBuffer(void *buffer, unsigned long flags, unsigned type, const size_t *place, int *code) {
    size_t beginning[2] = {0, place[1]};
    return REAL(clCreateSubBuffer)(buffer, flags, type, wrong("region: origin") ? beginning : place, code);
}

/* The last byte of the newest map, and what it was. */
static unsigned char *mapped, before;

void *clEnqueueMapBuffer(void *queue, void *buffer, unsigned blocking, unsigned long flags, size_t offset, size_t size, WAIT, int *code) {
    if (wrong("map: offset")) offset = 0;
    unsigned char *map = REAL(clEnqueueMapBuffer)(queue, buffer, blocking, flags, offset, size, count, events, event, code);
    if (map && wrong("map: last byte")) mapped = map + size - 1, before = *mapped;
    return map;
}

void *clEnqueueMapImage(void *queue, void *image, unsigned blocking, unsigned long flags, const size_t *origin, const size_t *region,
                        size_t *row, size_t *slice, WAIT, int *code) {
    static const size_t zero[3];
    return REAL(clEnqueueMapImage)(queue, image, blocking, flags, wrong("map of an image: origin") ? zero : origin, region, row, slice, count, events, event, code);
}

int clEnqueueUnmapMemObject(void *queue, void *object, void *map, WAIT) {
    if (mapped) *mapped = before, mapped = 0;
    return REAL(clEnqueueUnmapMemObject)(queue, object, map, count, events, event);
}

int clEnqueueSVMMap(void *queue, unsigned blocking, unsigned long flags, void *memory, size_t size, WAIT) {
    int code = REAL(clEnqueueSVMMap)(queue, blocking, flags, memory, size, count, events, event);
    if (wrong("map of SVM: last byte")) mapped = (unsigned char *)memory + size - 1, before = *mapped;
    return code;
}

int clEnqueueSVMUnmap(void *queue, void *memory, WAIT) {
    if (mapped) *mapped = before, mapped = 0;
    return REAL(clEnqueueSVMUnmap)(queue, memory, count, events, event);
}

int clEnqueueSVMMemcpy(void *queue, unsigned blocking, void *dst, const void *src, size_t size, WAIT) {
    if (wrong("copy of SVM: last byte")) size = without_last(size);
    if (wrong("copy of SVM: last byte over 1 MiB") && size > MIB) size--;
    return REAL(clEnqueueSVMMemcpy)(queue, blocking, dst, src, size, count, events, event);
}

int clEnqueueSVMMemFill(void *queue, void *memory, const void *pattern, size_t pattern_size, size_t size, WAIT) {
    if (wrong("fill of SVM: last pattern") && size > pattern_size) size -= pattern_size;
    if (wrong("fill of SVM: over 64 KiB") && size > 64 * KIB) size = 64 * KIB;
    return REAL(clEnqueueSVMMemFill)(queue, memory, pattern, pattern_size, size, count, events, event);
}

/* Memory that is freed too early may be used again for anything. */
int clEnqueueSVMFree(void *queue, unsigned number, void **memory, void *callback, void *data, WAIT) {
    if (wrong("free of SVM: at once")) memset(memory[0], 0xdb, 64);
    return REAL(clEnqueueSVMFree)(queue, number, memory, callback, data, count, events, event);
}

int clEnqueueMigrateMemObjects(void *queue, unsigned number, void **objects, unsigned long flags, WAIT) {
    int code = REAL(clEnqueueMigrateMemObjects)(queue, number, objects, flags, count, events, event);
    size_t size;
    if (wrong("migration: last byte") && !clGetMemObjectInfo(objects[0], MEM_SIZE, sizeof size, &size, 0))
        REAL(clEnqueueWriteBuffer)(queue, objects[0], 1, size - 1, 1, "", 0, 0, 0);
    return code;
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *global, const size_t *local, WAIT) {
    size_t fewer[3];
    memcpy(fewer, global, dimensions * sizeof *fewer);
    if (wrong("kernel: last work item")) fewer[0] = without_last(fewer[0]);
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, fewer, local, count, events, event);
}

int clEnqueueReadImage(void *queue, void *image, unsigned blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
                       unsigned char *host, WAIT);
int clEnqueueWriteImage(void *queue, void *image, unsigned blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
                        const void *host, WAIT);

static size_t pixel_size(void *image) {
    size_t size;
    clGetImageInfo(image, PIXEL_SIZE, sizeof size, &size, 0);
    return size;
}

/* Does `call`, and then puts back what the last pixel of a region was before. */
#define BUT_PIXEL(what, image, origin, region, call) ({ \
    static const size_t one[3] = {1, 1, 1}; \
    size_t at[3] = {origin[0] + region[0] - 1, origin[1] + region[1] - 1, origin[2] + region[2] - 1}; \
    unsigned char pixel[16]; \
    int is_wrong = wrong(what), code; \
    if (is_wrong) REAL(clEnqueueReadImage)(queue, image, 1, at, one, 0, 0, pixel, 0, 0, 0); \
    code = call; \
    if (is_wrong && !code) \
        clFinish(queue), REAL(clEnqueueWriteImage)(queue, image, 1, at, one, 0, 0, pixel, 0, 0, 0); \
    code; })

int clEnqueueWriteImage(void *queue, void *image, unsigned blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
                        const void *host, WAIT) {
    return BUT_PIXEL("write of an image: last pixel", image, origin, region,
        REAL(clEnqueueWriteImage)(queue, image, blocking, origin, region, row, slice, host, count, events, event));
}

int clEnqueueReadImage(void *queue, void *image, unsigned blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
                       unsigned char *host, WAIT) {
    if (!wrong("read of an image: last pixel"))
        return REAL(clEnqueueReadImage)(queue, image, blocking, origin, region, row, slice, host, count, events, event);
    size_t pixel = pixel_size(image), none[3] = {0, 0, 0}, bytes[3] = {region[0] * pixel, region[1], region[2]};
    unsigned char *end = host + last(none, bytes, row, slice), byte = *end;
    int code = REAL(clEnqueueReadImage)(queue, image, 1, origin, region, row, slice, host, count, events, event);
    *end = byte;
    return code;
}

int clEnqueueCopyImage(void *queue, void *src, void *dst, const size_t *from, const size_t *to, const size_t *region, WAIT) {
    return BUT_PIXEL("copy of an image: last pixel", dst, to, region,
        REAL(clEnqueueCopyImage)(queue, src, dst, from, to, region, count, events, event));
}

int clEnqueueFillImage(void *queue, void *image, const void *color, const size_t *origin, const size_t *region, WAIT) {
    return BUT_PIXEL("fill of an image: last pixel", image, origin, region,
        REAL(clEnqueueFillImage)(queue, image, color, origin, region, count, events, event));
}

int clEnqueueCopyBufferToImage(void *queue, void *buffer, void *image, size_t offset, const size_t *origin, const size_t *region, WAIT) {
    return BUT_PIXEL("copy to an image: last pixel", image, origin, region,
        REAL(clEnqueueCopyBufferToImage)(queue, buffer, image, offset, origin, region, count, events, event));
}

int clEnqueueCopyImageToBuffer(void *queue, void *image, void *buffer, const size_t *origin, const size_t *region, size_t offset, WAIT) {
    size_t at = offset + region[0] * region[1] * region[2] * pixel_size(image) - 1;
    return BUT_BYTE("copy from an image: last byte", buffer, at,
        REAL(clEnqueueCopyImageToBuffer)(queue, image, buffer, origin, region, offset, count, events, event));
}
