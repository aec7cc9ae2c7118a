#include "check.h"

static const size_t NONE[3] = {0, 0, 0};

/* Fills a pixel of an image with normalized channels, and returns its four bytes. */
static void filled(cl_uint order, const float *color, unsigned char *bytes) {
    const size_t PIXEL[3] = {1, 1, 1};
    cl_mem to = image(CL_MEM_OBJECT_IMAGE2D, order, CL_UNORM_INT8, 1, 1, 0);
    OK(clEnqueueFillImage(queue, to, color, NONE, PIXEL, 0, NULL, NULL));
    OK(clEnqueueReadImage(queue, to, 1, NONE, PIXEL, 0, 0, bytes, 0, NULL, NULL));
}

static const char *color_out_of_range(void) {
    unsigned char bytes[4];
    filled(CL_RGBA, (float[]){2, -1, 0, 1}, bytes);
    return bytes[0] == 255 && bytes[1] == 0 ? RIGHT : "a color beyond the range of a format is not its last value";
}

static const char *order_of_a_fill(void) {
    unsigned char bytes[4];
    filled(CL_BGRA, (float[]){1, 0, 0, 1}, bytes);
    return bytes[0] == 0 && bytes[2] == 255 ? RIGHT : "a fill wrote red to another channel";
}

static const char *linear_filter(void) {
    const size_t ONE = 1, TWO[3] = {2, 1, 1};
    const float PIXELS[2] = {0, 1};
    float value;
    cl_int code;
    cl_kernel sample = kernel("sample");
    cl_mem from = image(CL_MEM_OBJECT_IMAGE2D, CL_R, CL_FLOAT, 2, 1, 0), to = buffer(sizeof value, 0);
    cl_sampler sampler = clCreateSampler(context, 0, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR, &code);
    OK(code);
    OK(clEnqueueWriteImage(queue, from, 1, NONE, TWO, 0, 0, PIXELS, 0, NULL, NULL));
    OK(clSetKernelArg(sample, 0, sizeof from, &from));
    OK(clSetKernelArg(sample, 1, sizeof sampler, &sampler));
    OK(clSetKernelArg(sample, 2, sizeof to, &to));
    OK(clEnqueueNDRangeKernel(queue, sample, 1, NULL, &ONE, &ONE, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(queue, to, 1, 0, sizeof value, &value, 0, NULL, NULL));
    return value > 0.4f && value < 0.6f ? RIGHT : "between two pixels, a linear filter does not give their mean";
}

static const char *between_the_rows(void) {
    const size_t TALL[3] = {1, 2, 1};
    unsigned char bytes[20];
    memset(bytes, 0x5a, sizeof bytes);
    cl_mem from = image(CL_MEM_OBJECT_IMAGE2D, CL_RGBA, CL_UNSIGNED_INT8, 1, 2, 0);
    OK(clEnqueueReadImage(queue, from, 1, NONE, TALL, 16, 0, bytes, 0, NULL, NULL));
    return bytes[4] == 0x5a && bytes[15] == 0x5a ? RIGHT : "a read of an image wrote between the rows of the host memory";
}

static const char *pitch_of_slices(void) {
    const size_t DEEP[3] = {1, 1, 2};
    const unsigned char PIXELS[] = {1, 1, 1, 1, 2, 2, 2, 2};
    unsigned char bytes[20] = {0};
    cl_mem from = image(CL_MEM_OBJECT_IMAGE3D, CL_RGBA, CL_UNSIGNED_INT8, 1, 1, 2);
    OK(clEnqueueWriteImage(queue, from, 1, NONE, DEEP, 0, 0, PIXELS, 0, NULL, NULL));
    OK(clEnqueueReadImage(queue, from, 1, NONE, DEEP, 0, 16, bytes, 0, NULL, NULL));
    return bytes[16] == 2 ? RIGHT : "the second slice is not where the slice pitch puts it";
}

static const char *pitch_of_a_region(void) {
    const size_t TALL[3] = {1, 2, 1};
    const unsigned char PIXELS[] = {1, 1, 1, 1, 2, 2, 2, 2};
    unsigned char bytes[8] = {0};
    cl_mem to = image(CL_MEM_OBJECT_IMAGE2D, CL_RGBA, CL_UNSIGNED_INT8, 2, 2, 0);
    OK(clEnqueueWriteImage(queue, to, 1, NONE, TALL, 0, 0, PIXELS, 0, NULL, NULL));
    OK(clEnqueueReadImage(queue, to, 1, NONE, TALL, 0, 0, bytes, 0, NULL, NULL));
    return bytes[4] == 2 ? RIGHT : "the second row of a region was not written from the bytes that follow the first";
}

static const char *pixels_of_a_1d_image(void) {
    const size_t PIXEL[3] = {1, 1, 1};
    unsigned char bytes[4] = {1, 2, 3, 4}, found[4];
    cl_int code;
    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 1};
    cl_mem made = clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &shape, bytes, &code);
    OK(code);
    OK(clEnqueueReadImage(queue, made, 1, NONE, PIXEL, 0, 0, found, 0, NULL, NULL));
    return !memcmp(bytes, found, sizeof bytes) ? RIGHT : "a 1D image does not have the pixels that it was created with";
}

static const char *more_than_there_are(void) {
    enum { MANY = 512 };
    static cl_image_format formats[MANY];
    cl_uint number;
    memset(formats, 0x5a, sizeof formats);
    OK(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, MANY, formats, &number));
    return formats[number].channel_order == 0x5a5a5a5a ? RIGHT : "clGetSupportedImageFormats wrote beyond the last format";
}

const check formats[] = {
    {"formats: color out of range", color_out_of_range},
    {"formats: order of a fill", order_of_a_fill},
    {"formats: linear filter", linear_filter},
    {"formats: between the rows", between_the_rows},
    {"formats: pitch of slices", pitch_of_slices},
    {"formats: pitch of a region", pitch_of_a_region},
    {"formats: pixels of a 1D image", pixels_of_a_1d_image},
    {"formats: more than there are", more_than_there_are},
    {0},
};
