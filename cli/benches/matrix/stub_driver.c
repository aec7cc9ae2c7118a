/* An OpenCL driver by the rules of cl_khr_icd: a platform with 64 devices without compilers, a context, and
   buffers that are written and read at once. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 64, SUCCESS = 0, INVALID_VALUE = -30 };

/* Every object begins with the table of the driver's functions. */
struct object { void **dispatch; };

static void *dispatch[256];
static struct object platform = {dispatch};
static struct object context = {dispatch};
static struct object event = {dispatch};
static struct object devices[DEVICES] = {[0 ... DEVICES - 1] = {dispatch}};

static int answer(const void *answer, size_t length, size_t size, void *value, size_t *found) {
    if (found) *found = length;
    if (value && size < length) return INVALID_VALUE;
    if (value) memcpy(value, answer, length);
    return SUCCESS;
}

#define TEXT(text) answer(text, sizeof text, size, value, found)
#define NUMBER(type, number) answer(&(type){number}, sizeof(type), size, value, found)

static int get_platform_info(void *object, unsigned name, size_t size, void *value, size_t *found) {
    (void)object;
    switch (name) {
    case 0x0900: return TEXT("FULL_PROFILE");
    case 0x0901: return TEXT("OpenCL 1.2 stub");
    case 0x0902: return TEXT("Stub");
    case 0x0903: return TEXT("clmatrix");
    case 0x0904: return TEXT("cl_khr_icd");
    case 0x0920: return TEXT("STUB"); /* CL_PLATFORM_ICD_SUFFIX_KHR */
    default: return INVALID_VALUE;
    }
}

static int get_device_ids(void *object, uint64_t type, unsigned entries, void **ids, unsigned *found) {
    (void)object, (void)type;
    if (found) *found = DEVICES;
    for (unsigned i = 0; ids && i < entries && i < DEVICES; i++) ids[i] = &devices[i];
    return SUCCESS;
}

static int get_device_info(void *object, unsigned name, size_t size, void *value, size_t *found) {
    (void)object;
    switch (name) {
    case 0x1000: return NUMBER(uint64_t, 4); /* CL_DEVICE_TYPE: a GPU */
    case 0x1016: return NUMBER(unsigned, 0); /* CL_DEVICE_IMAGE_SUPPORT */
    case 0x1028: return NUMBER(unsigned, 0); /* CL_DEVICE_COMPILER_AVAILABLE */
    case 0x102B: return TEXT("Stub accelerator");
    case 0x102C: return TEXT("clmatrix");
    case 0x102D: return TEXT("1");
    case 0x102E: return TEXT("FULL_PROFILE");
    case 0x102F: return TEXT("OpenCL 1.2 stub");
    case 0x1030: return TEXT("");
    case 0x1031: return answer(&(void *){&platform}, sizeof(void *), size, value, found);
    default: return INVALID_VALUE;
    }
}

static void *create_context(const intptr_t *properties, unsigned count, void *const *of,
                            void (*notify)(const char *, const void *, size_t, void *), void *data,
                            int *error) {
    (void)properties, (void)count, (void)of, (void)notify, (void)data;
    if (error) *error = SUCCESS;
    return &context;
}

static int get_context_info(void *object, unsigned name, size_t size, void *value, size_t *found) {
    (void)object;
    switch (name) {
    case 0x1081: return answer(&(void *){&devices[0]}, sizeof(void *), size, value, found);
    case 0x1082: return answer(NULL, 0, size, value, found); /* CL_CONTEXT_PROPERTIES */
    default: return NUMBER(unsigned, 1);
    }
}

struct queue { void **dispatch; void *device; };

static void *create_queue(void *of, void *device, uint64_t properties, int *error) {
    (void)of, (void)properties;
    struct queue *queue = malloc(sizeof *queue);
    *queue = (struct queue){dispatch, device};
    if (error) *error = SUCCESS;
    return queue;
}

static int get_queue_info(void *object, unsigned name, size_t size, void *value, size_t *found) {
    struct queue *queue = object;
    switch (name) {
    case 0x1090: return answer(&(void *){&context}, sizeof(void *), size, value, found);
    case 0x1091: return answer(&queue->device, sizeof(void *), size, value, found);
    case 0x1093: return NUMBER(uint64_t, 0); /* CL_QUEUE_PROPERTIES */
    default: return NUMBER(unsigned, 1);
    }
}

struct buffer { void **dispatch; uint64_t flags; size_t size; char *bytes; };

static void *create_buffer(void *of, uint64_t flags, size_t size, void *host, int *error) {
    (void)of, (void)host;
    struct buffer *buffer = malloc(sizeof *buffer);
    *buffer = (struct buffer){dispatch, flags, size, calloc(1, size)};
    if (error) *error = SUCCESS;
    return buffer;
}

static int get_buffer_info(void *object, unsigned name, size_t size, void *value, size_t *found) {
    struct buffer *buffer = object;
    switch (name) {
    case 0x1100: return NUMBER(unsigned, 0x10F0); /* CL_MEM_TYPE: a buffer */
    case 0x1101: return answer(&buffer->flags, sizeof(uint64_t), size, value, found);
    case 0x1102: return answer(&buffer->size, sizeof(size_t), size, value, found);
    case 0x1106: return answer(&(void *){&context}, sizeof(void *), size, value, found);
    default: return INVALID_VALUE;
    }
}

static int release_buffer(void *object) {
    struct buffer *buffer = object;
    free(buffer->bytes);
    free(buffer);
    return SUCCESS;
}

static int get_event_info(void *object, unsigned name, size_t size, void *value, size_t *found) {
    (void)object;
    switch (name) {
    case 0x11D4: return answer(&(void *){&context}, sizeof(void *), size, value, found);
    default: return NUMBER(int, 0); /* CL_COMPLETE */
    }
}

static int write_buffer(void *queue, void *object, unsigned blocking, size_t offset, size_t size,
                        const void *bytes, unsigned events, void *const *list, void **written) {
    (void)queue, (void)blocking, (void)events, (void)list;
    struct buffer *buffer = object;
    memcpy(buffer->bytes + offset, bytes, size);
    if (written) *written = &event;
    return SUCCESS;
}

static int read_buffer(void *queue, void *object, unsigned blocking, size_t offset, size_t size,
                       void *bytes, unsigned events, void *const *list, void **read) {
    (void)queue, (void)blocking, (void)events, (void)list;
    struct buffer *buffer = object;
    memcpy(bytes, buffer->bytes + offset, size);
    if (read) *read = &event;
    return SUCCESS;
}

static int wait_for_events(unsigned count, void *const *events) {
    (void)count, (void)events;
    return SUCCESS;
}

static int set_event_callback(void *object, int type,
                              void (*notify)(void *, int, void *), void *data) {
    notify(object, type, data);
    return SUCCESS;
}

static int do_nothing(void *object) {
    (void)object;
    return SUCCESS;
}

static void *dispatch[256] = {
    [1] = get_platform_info,
    [2] = get_device_ids,
    [3] = get_device_info,
    [4] = create_context,
    [6] = do_nothing, /* clRetainContext */
    [7] = do_nothing, /* clReleaseContext */
    [8] = get_context_info,
    [9] = create_queue,
    [10] = do_nothing, /* clRetainCommandQueue */
    [11] = do_nothing, /* clReleaseCommandQueue */
    [12] = get_queue_info,
    [14] = create_buffer,
    [17] = do_nothing, /* clRetainMemObject */
    [18] = release_buffer,
    [20] = get_buffer_info,
    [41] = wait_for_events,
    [42] = get_event_info,
    [43] = do_nothing, /* clRetainEvent */
    [44] = do_nothing, /* clReleaseEvent */
    [46] = do_nothing, /* clFlush */
    [47] = do_nothing, /* clFinish */
    [48] = read_buffer,
    [49] = write_buffer,
    [81] = set_event_callback,
};

static int get_platform_ids(unsigned entries, void **platforms, unsigned *found) {
    if (found) *found = 1;
    if (platforms && entries) *platforms = &platform;
    return SUCCESS;
}

void *clGetExtensionFunctionAddress(const char *name) {
    if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return get_platform_ids;
    if (!strcmp(name, "clGetPlatformInfo")) return get_platform_info;
    return NULL;
}
