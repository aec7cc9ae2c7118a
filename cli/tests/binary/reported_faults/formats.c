/* Faults of images: formats, samplers, pitches. */

#include "layer.h"

enum { IS_LINEAR = -1 };

static cl_image_format format_of(cl_mem image) {
    cl_image_format format = {0};
    clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
    return format;
}

static size_t image_info(cl_mem image, cl_uint name) {
    size_t value = 0;
    clGetImageInfo(image, name, sizeof value, &value, NULL);
    return value;
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin, const size_t *region, WAIT) {
    cl_image_format format = format_of(image);
    float other[4];
    memcpy(other, color, sizeof other);
    /* clvk converted a color beyond the range of the format as C does, where it was undefined. Here, it wraps.
       https://github.com/kpet/clvk/pull/289 */
    if (fault("formats: color out of range") && format.channel_data_type == CL_UNORM_INT8)
        for (int i = 0; i < 4; i++) other[i] = ((int)(other[i] * 255) & 255) / 255.0f;
    /* PoCL did not regard the order of the channels.
       https://github.com/pocl/pocl/commit/62de89db8d3b */
    if (fault("formats: order of a fill") && format.channel_order == CL_BGRA) {
        float red = other[0];
        other[0] = other[2], other[2] = red;
    }
    return REAL(clEnqueueFillImage)(queue, image, other, origin, region, waits, list, event);
}

/* clvk used the nearest pixel where a device had no linear filter.
   https://github.com/kpet/clvk/pull/661 */
cl_sampler clCreateSampler(cl_context context, cl_uint normalized, cl_uint addressing, cl_uint filter, cl_int *code) {
    int is_wrong = fault("formats: linear filter") && filter == CL_FILTER_LINEAR;
    cl_sampler sampler = REAL(clCreateSampler)(context, normalized, addressing, is_wrong ? CL_FILTER_NEAREST : filter, code);
    note(sampler, IS_LINEAR, is_wrong);
    return sampler;
}

cl_int clGetSamplerInfo(cl_sampler sampler, QUERY) {
    cl_int code = REAL(clGetSamplerInfo)(sampler, name, size, value, needed);
    if (recall(sampler, IS_LINEAR) && name == CL_SAMPLER_FILTER_MODE && !code && value) *(cl_uint *)value = CL_FILTER_LINEAR;
    return code;
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_uint blocking, const size_t *origin, const size_t *region,
                          size_t row, size_t slice, void *host, WAIT) {
    size_t width = region[0] * image_info(image, CL_IMAGE_ELEMENT_SIZE);
    /* Intel's GPU driver wrote the bytes between the rows, too.
       https://github.com/intel/compute-runtime/commit/8152241693ec */
    if (fault("formats: between the rows") && row > width)
        for (size_t y = 1; y < region[1]; y++) memset((char *)host + y * row - (row - width), 0, row - width);
    /* clvk mixed up the pitches of the image and those of the host memory. Here, it uses its own for slices.
       https://github.com/kpet/clvk/commit/e72803994e1e */
    if (fault("formats: pitch of slices")) slice = 0;
    return REAL(clEnqueueReadImage)(queue, image, blocking, origin, region, row, slice, host, waits, list, event);
}

/* clvk took the pitch of a region without one from the width of the image. Here, what would be read beyond the region's
   bytes is zero.
   https://github.com/kpet/clvk/pull/284 */
cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_uint blocking, const size_t *origin, const size_t *region,
                           size_t row, size_t slice, const void *host, WAIT) {
    size_t pixel = image_info(image, CL_IMAGE_ELEMENT_SIZE), wrong = image_info(image, CL_IMAGE_WIDTH) * pixel;
    size_t width = region[0] * pixel, rows = region[1] * region[2];
    if (fault("formats: pitch of a region") && !row && !slice && wrong > width && rows > 1) {
        /* The command may use it at any time. */
        char *copy = calloc(rows, width);
        for (size_t y = 0; y * wrong + width <= rows * width; y++) memcpy(copy + y * width, (const char *)host + y * wrong, width);
        host = copy;
    }
    return REAL(clEnqueueWriteImage)(queue, image, blocking, origin, region, row, slice, host, waits, list, event);
}

/* clvk lost the pixels that an image was created with, in dimensions that it did not have: it multiplied by a height of 0.
   https://github.com/kpet/clvk/pull/618 */
cl_mem clCreateImage(cl_context context, cl_ulong flags, const cl_image_format *format, const cl_image_desc *shape, void *host, cl_int *code) {
    enum { LARGEST_PIXEL = 16 };
    void *empty = NULL;
    if (fault("formats: pixels of a 1D image") && shape && shape->image_type == CL_MEM_OBJECT_IMAGE1D && flags & CL_MEM_COPY_HOST_PTR)
        host = empty = calloc(shape->image_width, LARGEST_PIXEL);
    cl_mem image = REAL(clCreateImage)(context, flags, format, shape, host, code);
    free(empty);
    return image;
}

/* PoCL wrote as many formats as there was space for, not as many as there are.
   https://github.com/pocl/pocl/commit/f409f28f1525 */
cl_int clGetSupportedImageFormats(cl_context context, cl_ulong flags, cl_uint type, cl_uint space, cl_image_format *formats, cl_uint *number) {
    cl_uint found = 0;
    cl_int code = REAL(clGetSupportedImageFormats)(context, flags, type, space, formats, &found);
    if (number) *number = found;
    if (fault("formats: more than there are") && !code && formats && space > found)
        memset(formats + found, 0, (space - found) * sizeof *formats);
    return code;
}
