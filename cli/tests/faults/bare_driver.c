// A driver by the rules of cl_khr_icd, which shows `PLATFORMS` platforms without a device.

#include <stddef.h>
#include <string.h>

typedef struct platform { void **dispatch; } *cl_platform_id;

static int answer(const char *text, size_t size, char *value, size_t *length) {
    if (length) *length = strlen(text) + 1;
    if (value && size > strlen(text)) strcpy(value, text);
    return 0;
}

int clGetPlatformInfo(cl_platform_id platform, unsigned name, size_t size, void *value, size_t *length) {
    switch (name) {
    case 0x0900: return answer("FULL_PROFILE", size, value, length);
    case 0x0901: return answer("OpenCL 1.2", size, value, length);
    case 0x0902: return answer("Bare", size, value, length);
    case 0x0903: return answer("Nobody", size, value, length);
    case 0x0904: return answer("cl_khr_icd", size, value, length);
    case 0x0920: return answer("BARE", size, value, length);
    default: return -30;
    }
}

static int no_devices(void) { return -1; }
static void *dispatch[256] = { 0, clGetPlatformInfo, no_devices };
static struct platform bare = { dispatch };

int clIcdGetPlatformIDsKHR(unsigned entries, cl_platform_id *platforms, unsigned *count) {
    if (count) *count = PLATFORMS;
    if (platforms && entries) *platforms = &bare;
    return PLATFORMS ? 0 : -1001;
}

void *clGetExtensionFunctionAddress(const char *name) {
    if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return clIcdGetPlatformIDsKHR;
    if (!strcmp(name, "clGetPlatformInfo")) return clGetPlatformInfo;
    return 0;
}
