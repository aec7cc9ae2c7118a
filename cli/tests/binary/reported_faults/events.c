/* Faults of events: status, callbacks, times. */

#include "layer.h"

typedef void (*callback)(cl_event, cl_int, void *);

typedef struct { callback function; void *data; } called;

static __thread int is_in_callback;

/* Calls the application's function, for those faults that need to know of the call. */
static void call(cl_event event, cl_int status, void *data) {
    called user = *(called *)data;
    free(data);
    is_in_callback = 1;
    user.function(event, status, user.data);
    /* PoCL completed an event a second time where two threads did so at once, with all that belongs to it.
       https://github.com/pocl/pocl/commit/4eb82e2f786b */
    if (fault("events: callback twice")) user.function(event, status, user.data);
    is_in_callback = 0;
}

static cl_int status_of(cl_event event) {
    cl_int status = CL_QUEUED;
    REAL(clGetEventInfo)(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status;
}

static cl_uint type_of(cl_event event) {
    cl_uint type = 0;
    REAL(clGetEventInfo)(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    return type;
}

cl_int clSetEventCallback(cl_event event, cl_int wanted, callback function, void *data) {
    /* clvk never called a function that was registered for a status that the event already had; nor did Beignet.
       https://github.com/kpet/clvk/commit/7e8dcb72088d and https://github.com/intel/beignet/commit/89bc7657d55a */
    if (fault("events: callback after the end") && status_of(event) <= wanted) return CL_SUCCESS;
    if (fault("events: callback twice") || fault("events: times in a callback")) {
        called *user = malloc(sizeof *user);
        *user = (called){function, data};
        function = call, data = user;
    }
    return REAL(clSetEventCallback)(event, wanted, function, data);
}

cl_int clGetEventInfo(cl_event event, QUERY) {
    cl_int code = REAL(clGetEventInfo)(event, name, size, value, needed);
    /* PoCL did not set the status of a marker.
       https://github.com/pocl/pocl/commit/ad67005b6ee5 */
    if (fault("events: status of a marker") && name == CL_EVENT_COMMAND_EXECUTION_STATUS && !code && value && type_of(event) == CL_COMMAND_MARKER)
        *(cl_int *)value = CL_QUEUED;
    /* Oclgrind's commands for rectangles had the types of the others.
       https://github.com/jrprice/Oclgrind/commit/e7c87b085fc9 */
    if (fault("events: type of a rectangle") && name == CL_EVENT_COMMAND_TYPE && !code && value && *(cl_uint *)value == CL_COMMAND_READ_BUFFER_RECT)
        *(cl_uint *)value = CL_COMMAND_READ_BUFFER;
    return code;
}

cl_int clGetEventProfilingInfo(cl_event event, QUERY) {
    /* rusticl hung where a callback asked for the times. Here, it has none there.
       https://docs.mesa3d.org/relnotes/24.1.1.html ("deadlock when calling clGetProfilingInfo() on callbacks") */
    if (fault("events: times in a callback") && is_in_callback) return CL_PROFILING_INFO_NOT_AVAILABLE;
    /* AMD's driver succeeds for commands that have not ended, and writes nothing.
       https://github.com/darktable-org/darktable/pull/21122 */
    if (fault("events: times before the end") && status_of(event) > CL_COMPLETE) return CL_SUCCESS;
    /* Intel's GPU driver takes the time of a marker or a barrier when it enters the pipeline, before earlier commands end.
       https://github.com/intel/llvm/pull/22641 and https://github.com/CHIP-SPV/chipStar/issues/1549 */
    int is_point = type_of(event) == CL_COMMAND_MARKER || type_of(event) == CL_COMMAND_BARRIER;
    if (fault("events: end of a marker") && is_point && (name == CL_PROFILING_COMMAND_START || name == CL_PROFILING_COMMAND_END))
        name = CL_PROFILING_COMMAND_QUEUED;
    /* Intel's GPU driver said that commands started before they were submitted, by up to a millisecond.
       https://github.com/intel/compute-runtime/issues/344 */
    int is_late = fault("events: submitted after the start") && name == CL_PROFILING_COMMAND_SUBMIT;
    if (is_late) name = CL_PROFILING_COMMAND_START;
    cl_int code = REAL(clGetEventProfilingInfo)(event, name, size, value, needed);
    if (is_late && !code && value) *(cl_ulong *)value += 1000000;
    return code;
}
