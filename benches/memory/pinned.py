"""Prints the GB/s of 256 MiB written from and read into mapped pinned memory."""

import statistics
import time

import numpy as np
import pyopencl as cl

SIZE = 256 << 20
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
flags = cl.mem_flags
pinned = cl.Buffer(context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, SIZE)
access = cl.map_flags.READ | cl.map_flags.WRITE
host, _ = cl.enqueue_map_buffer(queue, pinned, access, 0, SIZE, np.uint8)
host[:] = 1
buffer = cl.Buffer(context, flags.READ_WRITE, SIZE)
for destination, source in [(buffer, host), (host, buffer)]:
    times = []
    for _ in range(16):
        start = time.perf_counter()
        cl.enqueue_copy(queue, destination, source)
        times.append(time.perf_counter() - start)
    print(SIZE / statistics.median(times[1:]) / 1e9)
