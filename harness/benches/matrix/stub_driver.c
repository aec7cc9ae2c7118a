/* An OpenCL driver by the rules of cl_khr_icd: a platform with 64 devices, and contexts that do
   nothing. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DEVICES = 64, SUCCESS = 0, INVALID_VALUE = -30 };

/* Every object begins with the table of the driver's functions. */
struct object { void **dispatch; };

static void *dispatch[256];
static struct object platform = {dispatch};
static struct object context = {dispatch};
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
    (void)object, (void)name, (void)size, (void)value, (void)found;
    return INVALID_VALUE;
}

static void *create_queue(void *of, void *device, uint64_t properties, int *error) {
    (void)of, (void)device, (void)properties;
    if (error) *error = INVALID_VALUE;
    return NULL;
}

static int retain_or_release(void *object) {
    (void)object;
    return SUCCESS;
}

static void *dispatch[256] = {
    [1] = get_platform_info,
    [2] = get_device_ids,
    [3] = get_device_info,
    [4] = create_context,
    [6] = retain_or_release, /* clRetainContext */
    [7] = retain_or_release, /* clReleaseContext */
    [8] = get_context_info,
    [9] = create_queue,
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
