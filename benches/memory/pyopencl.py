"""Does the transfers of transfers.rs: a line in for each, a line of nanoseconds out."""

import sys
import time

import numpy
import pyopencl as cl

platform_name, device = sys.argv[1], int(sys.argv[2])
platform = next(p for p in cl.get_platforms() if p.name == platform_name)
context = cl.Context([platform.get_devices()[device]])
queue = cl.CommandQueue(context)
print(cl.VERSION_TEXT, flush=True)


class Place:
    def __init__(self, size):
        flags = cl.mem_flags
        self.device = cl.Buffer(context, flags.READ_WRITE, size)
        cl.enqueue_fill_buffer(queue, self.device, numpy.uint8(1), 0, size)
        self.pinned = cl.Buffer(context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, size)
        mode = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(queue, self.pinned, mode, 0, (size,), numpy.uint8)
        mapped.fill(2)
        self.host = {"Pageable": numpy.full(size, 3, numpy.uint8), "Mapped": mapped}


place, size_of_place = None, None
for line in sys.stdin:
    host, direction, size = line.split()
    if size != size_of_place:
        # The old one goes first.
        place = None
        place, size_of_place = Place(int(size)), size
    ends = (place.device, place.host[host])
    target, source = ends if direction == "Write" else reversed(ends)
    begin = time.perf_counter_ns()
    cl.enqueue_copy(queue, target, source)
    print(time.perf_counter_ns() - begin, flush=True)
