#include "common.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void alive(void)
{
    static uint64_t last;
    uint64_t now = now_ns();
    if (now - last > 100000000u) {
        printf("ready %" PRIu64 "\n", now);
        fflush(stdout);
    }
    last = now;
}

static void end(int number)
{
    (void)number;
    _exit(0);
}

void end_at_sigterm(void)
{
    /* The first process of a PID namespace ends by no signal that it does not handle. */
    signal(SIGTERM, end);
}

void sleep_until(uint64_t at_ns)
{
    struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) {
    }
}
