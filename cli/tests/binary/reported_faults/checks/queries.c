#include "check.h"

enum { AT = 128 };

static const char *buffer_of_an_image(void) {
    cl_int code;
    cl_mem parent = buffer(64, 0), found = NULL;
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 16, .mem_object = parent};
    cl_mem made = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &code);
    OK(code);
    OK(clGetMemObjectInfo(made, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof found, &found, NULL));
    return found == parent ? RIGHT : "CL_MEM_ASSOCIATED_MEMOBJECT of an image is not the buffer that it was created from";
}

static const char *offset_asked_again(void) {
    cl_int code;
    cl_buffer_region region = {AT, 64};
    cl_mem part = clCreateSubBuffer(buffer(256, 0), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    size_t first, second;
    OK(code);
    OK(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof first, &first, NULL));
    OK(clGetMemObjectInfo(part, CL_MEM_OFFSET, sizeof second, &second, NULL));
    return first == AT && second == AT ? RIGHT : "CL_MEM_OFFSET of a sub-buffer is not the same the second time";
}

static const char *filter_of_a_sampler(void) {
    cl_int code;
    cl_uint found;
    cl_sampler made = clCreateSampler(context, 0, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR, &code);
    OK(code);
    OK(clGetSamplerInfo(made, CL_SAMPLER_FILTER_MODE, sizeof found, &found, NULL));
    return found == CL_FILTER_LINEAR ? RIGHT : "CL_SAMPLER_FILTER_MODE of a linear sampler is another";
}

static const char *size_of_a_work_group_query(void) {
    size_t needed = 0;
    OK(clGetKernelWorkGroupInfo(kernel("put"), device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 0, NULL, &needed));
    return needed == 3 * sizeof(size_t) ? RIGHT : "CL_KERNEL_COMPILE_WORK_GROUP_SIZE does not have the size of three numbers";
}

static const char *local_memory_of_arguments(void) {
    cl_kernel locals = kernel("locals");
    cl_ulong found;
    OK(clSetKernelArg(locals, 0, 100, NULL));
    OK(clSetKernelArg(locals, 1, 100, NULL));
    OK(clGetKernelWorkGroupInfo(locals, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof found, &found, NULL));
    return found >= 200 ? RIGHT : "CL_KERNEL_LOCAL_MEM_SIZE is less than what the arguments have";
}

static const char *attributes_of_a_kernel(void) {
    char text[256] = "";
    OK(clGetKernelInfo(kernel("one"), CL_KERNEL_ATTRIBUTES, sizeof text, text, NULL));
    return strstr(text, "reqd_work_group_size") ? RIGHT : "CL_KERNEL_ATTRIBUTES lacks the attribute of the kernel";
}

static const char *last_kernels_name(void) {
    cl_program program;
    size_t exact;
    char tight[1024], wide[1024];
    OK(clGetKernelInfo(kernel("one"), CL_KERNEL_PROGRAM, sizeof program, &program, NULL));
    OK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof wide, wide, &exact));
    OK(clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, exact, tight, NULL));
    return !strcmp(tight, wide) ? RIGHT : "CL_PROGRAM_KERNEL_NAMES has other names where the space is as large as needed";
}

static const char *parent_of_a_root_device(void) {
    cl_device_id found;
    OK(clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof found, &found, NULL));
    return found == NULL ? RIGHT : "CL_DEVICE_PARENT_DEVICE of a device that is no part of another is not null";
}

static const char *two_blanks_in_options(void) {
    const char *source = "kernel void one(void) {}";
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    OK(code);
    return clBuildProgram(program, 1, &device, "-DA=1  -DB=2", NULL, NULL) ? "a program with two blanks in its options is not built" : RIGHT;
}

const check queries[] = {
    {"queries: buffer of an image", buffer_of_an_image},
    {"queries: offset asked again", offset_asked_again},
    {"queries: filter of a sampler", filter_of_a_sampler},
    {"queries: size of a work-group query", size_of_a_work_group_query},
    {"queries: local memory of arguments", local_memory_of_arguments},
    {"queries: attributes of a kernel", attributes_of_a_kernel},
    {"queries: last kernel's name", last_kernels_name},
    {"queries: parent of a root device", parent_of_a_root_device},
    {"queries: two blanks in options", two_blanks_in_options},
    {0},
};
