// A library that is loaded before all others. One macro chooses the call of the runner that goes wrong.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A part of the paths of the files that count as the log.
#ifndef FILES
#define FILES "/events.jsonl"
#endif

// Returns whether a descriptor is the log.
static int is_log(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, FILES) != NULL;
}

#ifdef FULL_DISK
// Has room for so many bytes.
ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    static long used;
    if (!next) next = dlsym(RTLD_NEXT, "write");
    if (is_log(fd)) {
        long room = atol(getenv("FAULTS_ROOM")) - used;
        if (room <= 0) { errno = ENOSPC; return -1; }
        if ((long)count > room) count = room;
        used += count;
    }
    return next(fd, bytes, count);
}
#endif

#ifdef KILL
// Kills the process when it writes to the log after the line in which a text is there for the Nth time. Half of the
// line after it is written.
ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    static long found;
    if (!next) next = dlsym(RTLD_NEXT, "write");
    char *text = getenv("FAULTS_TEXT");
    if (text && is_log(fd)) {
        if (found == atol(getenv("FAULTS_COUNT"))) {
            next(fd, bytes, count / 2);
            kill(getpid(), SIGKILL);
        }
        if (memmem(bytes, count, text, strlen(text))) found++;
    }
    return next(fd, bytes, count);
}
#endif

#ifdef FAILING_SYNC
// Answers the first sync of the log with an error, as Linux reports it: once.
int fdatasync(int fd) {
    static int (*next)(int);
    static int failed;
    if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
    if (is_log(fd) && !failed) { failed = 1; errno = EIO; return -1; }
    return next(fd);
}
#endif

#ifdef LOG_SYNCS
// Writes a line with the length of the log to a file at each sync.
int fdatasync(int fd) {
    static int (*next)(int);
    if (!next) next = dlsym(RTLD_NEXT, "fdatasync");
    if (is_log(fd)) {
        FILE *lengths = fopen(getenv("FAULTS_SYNCS"), "a");
        fprintf(lengths, "%lld\n", (long long)lseek(fd, 0, SEEK_END));
        fclose(lengths);
    }
    return next(fd);
}
#endif

#ifdef NO_LOCKS
int flock(int fd, int how) { errno = ENOSYS; return -1; }
#endif
