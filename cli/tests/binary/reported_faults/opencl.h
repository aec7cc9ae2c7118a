/* The part of OpenCL 3.0 that the layers and the checks use; the machines that run the tests have no headers of it. */

#ifndef OPENCL_H
#define OPENCL_H

#include <stddef.h>
#include <stdint.h>

typedef struct platform *cl_platform_id;
typedef struct device *cl_device_id;
typedef struct context *cl_context;
typedef struct queue *cl_command_queue;
typedef struct memory *cl_mem;
typedef struct sampler *cl_sampler;
typedef struct program *cl_program;
typedef struct kernel *cl_kernel;
typedef struct event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;

typedef struct { cl_uint channel_order, channel_data_type; } cl_image_format;

typedef struct {
    cl_uint image_type;
    size_t image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch;
    cl_uint num_mip_levels, num_samples;
    cl_mem mem_object;
} cl_image_desc;

typedef struct { size_t origin, size; } cl_buffer_region;

enum {
    CL_SUCCESS = 0, CL_OUT_OF_RESOURCES = -5, CL_PROFILING_INFO_NOT_AVAILABLE = -7, CL_INVALID_VALUE = -30,
    CL_INVALID_COMMAND_QUEUE = -36, CL_INVALID_MEM_OBJECT = -38, CL_INVALID_ARG_SIZE = -51,
    CL_DEVICE_TYPE_ALL = -1, CL_PLATFORM_NAME = 0x0902, CL_DEVICE_PARTITION_EQUALLY = 0x1086, CL_DEVICE_PARENT_DEVICE = 0x1042,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002, CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
    CL_CONTEXT_DEVICES = 0x1081, CL_CONTEXT_PLATFORM = 0x1084,
    CL_QUEUE_CONTEXT = 0x1090, CL_QUEUE_DEVICE = 0x1091, CL_QUEUE_PROPERTIES = 0x1093,
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1, CL_QUEUE_PROFILING_ENABLE = 2,
    CL_MEM_READ_WRITE = 1, CL_MEM_USE_HOST_PTR = 8, CL_MEM_ALLOC_HOST_PTR = 16, CL_MEM_COPY_HOST_PTR = 32,
    CL_MEM_TYPE = 0x1100, CL_MEM_SIZE = 0x1102, CL_MEM_HOST_PTR = 0x1103, CL_MEM_MAP_COUNT = 0x1104,
    CL_MEM_REFERENCE_COUNT = 0x1105, CL_MEM_CONTEXT = 0x1106, CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107, CL_MEM_OFFSET = 0x1108,
    CL_MEM_OBJECT_BUFFER = 0x10F0, CL_MEM_OBJECT_IMAGE2D = 0x10F1, CL_MEM_OBJECT_IMAGE3D = 0x10F2,
    CL_MEM_OBJECT_IMAGE1D = 0x10F4, CL_MEM_OBJECT_IMAGE1D_BUFFER = 0x10F6, CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CL_MAP_READ = 1, CL_MAP_WRITE = 2, CL_MAP_WRITE_INVALIDATE_REGION = 4,
    CL_IMAGE_FORMAT = 0x1110, CL_IMAGE_ELEMENT_SIZE = 0x1111, CL_IMAGE_WIDTH = 0x1114, CL_IMAGE_HEIGHT = 0x1115,
    CL_R = 0x10B0, CL_RGBA = 0x10B5, CL_BGRA = 0x10B6, CL_UNORM_INT8 = 0x10D2, CL_UNSIGNED_INT8 = 0x10DA, CL_FLOAT = 0x10DE,
    CL_ADDRESS_CLAMP_TO_EDGE = 0x1131, CL_FILTER_NEAREST = 0x1140, CL_FILTER_LINEAR = 0x1141,
    CL_SAMPLER_REFERENCE_COUNT = 0x1150, CL_SAMPLER_FILTER_MODE = 0x1154,
    CL_PROGRAM_REFERENCE_COUNT = 0x1160, CL_PROGRAM_KERNEL_NAMES = 0x1168,
    CL_KERNEL_FUNCTION_NAME = 0x1190, CL_KERNEL_PROGRAM = 0x1194, CL_KERNEL_NUM_ARGS = 0x1191, CL_KERNEL_ATTRIBUTES = 0x1195,
    CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196, CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119B, CL_KERNEL_ARG_ADDRESS_LOCAL = 0x119C,
    CL_KERNEL_ARG_ADDRESS_CONSTANT = 0x119D, CL_KERNEL_ARG_TYPE_NAME = 0x1198,
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1, CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    CL_EVENT_COMMAND_QUEUE = 0x11D0, CL_EVENT_COMMAND_TYPE = 0x11D1, CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_COMPLETE = 0, CL_RUNNING = 1, CL_SUBMITTED = 2, CL_QUEUED = 3,
    CL_COMMAND_READ_BUFFER = 0x11F3, CL_COMMAND_MARKER = 0x11FE, CL_COMMAND_READ_BUFFER_RECT = 0x1201,
    CL_COMMAND_USER = 0x1204, CL_COMMAND_BARRIER = 0x1205,
    CL_PROFILING_COMMAND_QUEUED = 0x1280, CL_PROFILING_COMMAND_SUBMIT = 0x1281, CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283,
};

/* The wait list and the event of a command. */
#define WAIT cl_uint waits, const cl_event *list, cl_event *event
#define QUERY cl_uint name, size_t size, void *value, size_t *needed
#define RECTANGLES const size_t *to, const size_t *from, const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice

cl_int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *);
cl_int clGetPlatformInfo(cl_platform_id, QUERY);
cl_int clGetDeviceIDs(cl_platform_id, cl_ulong, cl_uint, cl_device_id *, cl_uint *);
cl_int clGetDeviceInfo(cl_device_id, QUERY);
cl_int clCreateSubDevices(cl_device_id, const intptr_t *, cl_uint, cl_device_id *, cl_uint *);
cl_int clReleaseDevice(cl_device_id);

cl_context clCreateContext(const intptr_t *, cl_uint, const cl_device_id *, void *, void *, cl_int *);
cl_int clRetainContext(cl_context);
cl_int clReleaseContext(cl_context);
cl_int clGetContextInfo(cl_context, QUERY);
cl_int clSetContextDestructorCallback(cl_context, void (*)(cl_context, void *), void *);

cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, cl_ulong, cl_int *);
cl_command_queue clCreateCommandQueueWithProperties(cl_context, cl_device_id, const cl_ulong *, cl_int *);
cl_int clReleaseCommandQueue(cl_command_queue);
cl_int clGetCommandQueueInfo(cl_command_queue, QUERY);
cl_int clFlush(cl_command_queue);
cl_int clFinish(cl_command_queue);

cl_mem clCreateBuffer(cl_context, cl_ulong, size_t, void *, cl_int *);
cl_mem clCreateBufferWithProperties(cl_context, const cl_ulong *, cl_ulong, size_t, void *, cl_int *);
cl_mem clCreateSubBuffer(cl_mem, cl_ulong, cl_uint, const void *, cl_int *);
cl_mem clCreateImage(cl_context, cl_ulong, const cl_image_format *, const cl_image_desc *, void *, cl_int *);
cl_int clGetSupportedImageFormats(cl_context, cl_ulong, cl_uint, cl_uint, cl_image_format *, cl_uint *);
cl_int clRetainMemObject(cl_mem);
cl_int clReleaseMemObject(cl_mem);
cl_int clGetMemObjectInfo(cl_mem, QUERY);
cl_int clGetImageInfo(cl_mem, QUERY);
cl_int clSetMemObjectDestructorCallback(cl_mem, void (*)(cl_mem, void *), void *);
void *clSVMAlloc(cl_context, cl_ulong, size_t, cl_uint);
void clSVMFree(cl_context, void *);

cl_sampler clCreateSampler(cl_context, cl_uint, cl_uint, cl_uint, cl_int *);
cl_sampler clCreateSamplerWithProperties(cl_context, const cl_ulong *, cl_int *);
cl_int clReleaseSampler(cl_sampler);
cl_int clGetSamplerInfo(cl_sampler, QUERY);

cl_program clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *, cl_int *);
cl_int clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *, void *, void *);
cl_int clReleaseProgram(cl_program);
cl_int clGetProgramInfo(cl_program, QUERY);

cl_kernel clCreateKernel(cl_program, const char *, cl_int *);
cl_kernel clCloneKernel(cl_kernel, cl_int *);
cl_int clRetainKernel(cl_kernel);
cl_int clReleaseKernel(cl_kernel);
cl_int clSetKernelArg(cl_kernel, cl_uint, size_t, const void *);
cl_int clSetKernelArgSVMPointer(cl_kernel, cl_uint, const void *);
cl_int clGetKernelInfo(cl_kernel, QUERY);
cl_int clGetKernelArgInfo(cl_kernel, cl_uint, QUERY);
cl_int clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, QUERY);

cl_event clCreateUserEvent(cl_context, cl_int *);
cl_int clSetUserEventStatus(cl_event, cl_int);
cl_int clWaitForEvents(cl_uint, const cl_event *);
cl_int clRetainEvent(cl_event);
cl_int clReleaseEvent(cl_event);
cl_int clGetEventInfo(cl_event, QUERY);
cl_int clGetEventProfilingInfo(cl_event, QUERY);
cl_int clSetEventCallback(cl_event, cl_int, void (*)(cl_event, cl_int, void *), void *);

cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, WAIT);
cl_int clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, WAIT);
cl_int clEnqueueReadBufferRect(cl_command_queue, cl_mem, cl_uint, RECTANGLES, void *, WAIT);
cl_int clEnqueueCopyBuffer(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, WAIT);
cl_int clEnqueueCopyBufferRect(cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, WAIT);
cl_int clEnqueueFillBuffer(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, WAIT);
void *clEnqueueMapBuffer(cl_command_queue, cl_mem, cl_uint, cl_ulong, size_t, size_t, WAIT, cl_int *);
void *clEnqueueMapImage(cl_command_queue, cl_mem, cl_uint, cl_ulong, const size_t *, const size_t *, size_t *, size_t *, WAIT, cl_int *);
cl_int clEnqueueUnmapMemObject(cl_command_queue, cl_mem, void *, WAIT);
cl_int clEnqueueReadImage(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *, size_t, size_t, void *, WAIT);
cl_int clEnqueueWriteImage(cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *, size_t, size_t, const void *, WAIT);
cl_int clEnqueueFillImage(cl_command_queue, cl_mem, const void *, const size_t *, const size_t *, WAIT);
cl_int clEnqueueSVMMap(cl_command_queue, cl_uint, cl_ulong, void *, size_t, WAIT);
cl_int clEnqueueSVMUnmap(cl_command_queue, void *, WAIT);
cl_int clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, WAIT);
cl_int clEnqueueMarkerWithWaitList(cl_command_queue, WAIT);
cl_int clEnqueueBarrierWithWaitList(cl_command_queue, WAIT);

#endif
