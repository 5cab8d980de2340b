/* The wall clock of one process, set forward once that process has run for a while.
 *
 * Built and preloaded (man 8 ld.so) by clock.rs. Programs that do not ask the C library for the time, such as kubectl,
 * keep theirs.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec begun;
static long after_milliseconds, ahead_seconds;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &begun);
    after_milliseconds = number("TEST_CLOCK_AFTER_MILLISECONDS");
    ahead_seconds = number("TEST_CLOCK_AHEAD_SECONDS");
}

static long age_in_milliseconds(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    if (status == 0 && clock == CLOCK_REALTIME && age_in_milliseconds() >= after_milliseconds)
        time->tv_sec += ahead_seconds;
    return status;
}
