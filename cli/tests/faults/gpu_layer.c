/* A layer of the OpenCL loader (OPENCL_LAYERS) that makes PoCL's devices GPUs of NVIDIA.
 *
 * The last digit of a UUID is the position of the device. A value of CUDA_VISIBLE_DEVICES that ends with
 * it shows this device alone, unless FAULTS_IGNORE_VARIABLE is set. A list shows all devices.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*get_info)(void *, unsigned, size_t, void *, size_t *);
typedef int (*get_devices)(void *, uint64_t, unsigned, void **, unsigned *);

enum { PLATFORM_INFO = 1, DEVICES = 2, DEVICE_INFO = 3 }; /* positions in cl_icd_dispatch */
enum { PLATFORM_NAME = 0x0902, DEVICE_TYPE = 0x1000, EXTENSIONS = 0x1030, PLATFORM = 0x1031,
       UUID = 0x106A };
enum { MOST_ENTRIES = 1024, MOST_DEVICES = 8, MOST_TEXT = 4096 };

static void *dispatch[MOST_ENTRIES];
static get_info platform_info, device_info;
static get_devices device_ids;

static int answer(const void *from, size_t length, size_t size, void *value, size_t *wanted) {
    if (wanted) *wanted = length;
    if (value && size < length) return -30; /* CL_INVALID_VALUE */
    if (value) memcpy(value, from, length);
    return 0;
}

static int is_pocl(void *platform) {
    char name[MOST_TEXT] = "";
    platform_info(platform, PLATFORM_NAME, sizeof name, name, NULL);
    return !strcmp(name, "Portable Computing Language");
}

static unsigned all_devices(void *platform, void **devices) {
    unsigned count = 0;
    device_ids(platform, 0xFFFFFFFF, MOST_DEVICES, devices, &count);
    return count < MOST_DEVICES ? count : MOST_DEVICES;
}

static int get_platform_info(void *platform, unsigned name, size_t size, void *value, size_t *wanted) {
    static const char nvidia[] = "NVIDIA CUDA";
    if (name == PLATFORM_NAME && is_pocl(platform))
        return answer(nvidia, sizeof nvidia, size, value, wanted);
    return platform_info(platform, name, size, value, wanted);
}

static int get_device_ids(void *platform, uint64_t type, unsigned count, void **devices,
                          unsigned *wanted) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!is_pocl(platform)) return device_ids(platform, type, count, devices, wanted);
    void *all[MOST_DEVICES];
    unsigned found = all_devices(platform, all), first = 0;
    if (visible && !strchr(visible, ',') && !getenv("FAULTS_IGNORE_VARIABLE")) {
        first = visible[strlen(visible) - 1] - '0';
        if (first >= found) return -1; /* CL_DEVICE_NOT_FOUND */
        found = 1;
    }
    if (wanted) *wanted = found;
    if (devices) memcpy(devices, all + first, (count < found ? count : found) * sizeof *devices);
    return 0;
}

static int get_device_info(void *device, unsigned name, size_t size, void *value, size_t *wanted) {
    void *platform = NULL, *all[MOST_DEVICES];
    device_info(device, PLATFORM, sizeof platform, &platform, NULL);
    if (is_pocl(platform)) {
        const uint64_t gpu = 4;
        char extensions[MOST_TEXT] = "";
        unsigned char uuid[16] = {0};
        unsigned count = all_devices(platform, all);
        switch (name) {
        case DEVICE_TYPE:
            return answer(&gpu, sizeof gpu, size, value, wanted);
        case EXTENSIONS:
            device_info(device, name, MOST_TEXT - 32, extensions, NULL);
            strcat(extensions, " cl_khr_device_uuid");
            return answer(extensions, strlen(extensions) + 1, size, value, wanted);
        case UUID:
            while (uuid[15] < count && all[uuid[15]] != device) uuid[15]++;
            return answer(uuid, sizeof uuid, size, value, wanted);
        }
    }
    return device_info(device, name, size, value, wanted);
}

int clGetLayerInfo(unsigned name, size_t size, void *value, size_t *length) {
    static const char text[] = "gpus";
    const unsigned version = 100;
    return name == 0x4240 ? answer(&version, sizeof version, size, value, length)
                          : answer(text, sizeof text, size, value, length);
}

int clInitLayer(unsigned count, void *const *target, unsigned *count_of_layer, void ***layer) {
    if (count > MOST_ENTRIES) return -30;
    memcpy(dispatch, target, count * sizeof *target);
    platform_info = (get_info)target[PLATFORM_INFO];
    device_ids = (get_devices)target[DEVICES];
    device_info = (get_info)target[DEVICE_INFO];
    dispatch[PLATFORM_INFO] = (void *)get_platform_info;
    dispatch[DEVICES] = (void *)get_device_ids;
    dispatch[DEVICE_INFO] = (void *)get_device_info;
    *count_of_layer = count;
    *layer = dispatch;
    return 0;
}
