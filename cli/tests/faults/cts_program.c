// A program with the command line, the output and the file of results of the OpenCL conformance test
// suite, whose tests go wrong in every way. It knows `-list` and the types of devices that all versions know.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASS, FAIL, SKIP };
static const char *const words[] = {"pass", "fail", "skip"};
static int cut_off, left_out;

static int passes(void) { return PASS; }
static int fails(void) { puts("ERROR: 1 is not 2"); return FAIL; }
static int no_newline(void) { printf("ERROR: no end of line"); return FAIL; }
static int skips(void) { puts("no images"); return SKIP; }
static int crashes(void) { *(volatile int *)8 = 1; return PASS; }
static int hangs(void) { for (;;) pause(); return PASS; }
static int exits(void) { exit(0); }
static int cuts_file(void) { cut_off = 1; return PASS; }
static int is_left_out(void) { left_out = 1; return PASS; }
static int index_of(const char *name) { return getenv(name) ? atoi(getenv(name)) : 0; }

// Passes if the driver has one platform, and prints the name of the device at the given index.
static int sees_device(void) {
    const char *loader = getenv("OPENCL_DYLIB_PATH");
    void *library = dlopen(loader ? loader : "libOpenCL.so.1", RTLD_NOW);
    int (*get_platforms)(unsigned, void **, unsigned *) = dlsym(library, "clGetPlatformIDs");
    int (*get_devices)(void *, unsigned long, unsigned, void **, unsigned *) = dlsym(library, "clGetDeviceIDs");
    int (*get_info)(void *, unsigned, size_t, void *, size_t *) = dlsym(library, "clGetDeviceInfo");
    void *platforms[8], *devices[64];
    unsigned platform_count = 0, device_count = 0, at = index_of("CL_DEVICE_INDEX");
    char name[256] = "";
    const char *type = getenv("CL_DEVICE_TYPE");
    unsigned long types = 1;
    const char *const known[] = {"default", "cpu", "gpu", "accelerator", "custom"};
    if (type) {
        int bit = 0;
        while (bit < 5 && strcmp(type, known[bit])) bit++;
        if (bit == 5) abort();
        types = 1ul << bit;
    }
    get_platforms(8, platforms, &platform_count);
    get_devices(platforms[index_of("CL_PLATFORM_INDEX")], types, 64, devices, &device_count);
    if (at < device_count) get_info(devices[at], 0x102B, sizeof name, name, NULL);
    printf("%u platform: %s\n", platform_count, name);
    return platform_count == 1 && at < device_count ? PASS : FAIL;
}

// In an order that the list does not have. `silent` tests begin without a line.
static const struct { const char *name; int (*run)(void); int silent; } tests[] = {
    {"passes", passes, 0},       {"crashes", crashes, 0},         {"fails", fails, 0},
    {"no_newline", no_newline, 0}, {"crashes_silently", crashes, 1}, {"skips", skips, 0}, {"hangs", hangs, 0},
    {"cuts_file", cuts_file, 0}, {"exits", exits, 0},             {"is_left_out", is_left_out, 0},
    {"exits_silently", exits, 1}, {"sees_device", sees_device, 0}, {"passes_last", passes, 0},
};
enum { COUNT = sizeof tests / sizeof *tests };

static int is_selected(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name)) return 1;
    return argc == 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "-list")) {
        puts("Usage: test_faulty [<test name>*] [pid<num>] [id<num>] [<device type>]");
        puts("\t<test name>\tOne or more of: (wildcard character '*') (default *)\n\nTest names:");
        for (int i = COUNT; i-- > 0;) printf("\t%s\n", tests[i].name);
        return 0;
    }
    int results[COUNT];
    puts("device header");
    for (int i = 0; i < COUNT; i++) {
        if (!is_selected(argc, argv, tests[i].name)) continue;
        if (!tests[i].silent) printf("%s...\n", tests[i].name);
        fflush(stdout);
        results[i] = tests[i].run();
        const char *ends[] = {"passed", "FAILED", "test not supported"};
        printf("%s %s\n", tests[i].name, ends[results[i]]);
    }
    FILE *file = fopen(getenv("CL_CONFORMANCE_RESULTS_FILENAME"), "w");
    fprintf(file, "{\n\t\"cmd\": \"%s\",\n\t\"args\": \"\",\n\t\"results\": {\n", argv[0]);
    const char *comma = "";
    for (int i = 0; i < COUNT; i++) {
        if (!is_selected(argc, argv, tests[i].name)) continue;
        if (left_out && tests[i].run == is_left_out) continue;
        fprintf(file, "%s\t\t\"%s\": \"%s\"", comma, tests[i].name, words[results[i]]);
        comma = ",\n";
    }
    if (!cut_off) fputs("\n\t}\n}\n", file);
    fclose(file);
    for (int i = 0; i < COUNT; i++)
        if (is_selected(argc, argv, tests[i].name) && results[i] == FAIL) return 1;
    return 0;
}
