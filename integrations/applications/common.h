/* What the applications share: the clock, that they are alive, and when they end. */
#ifndef COMMON_H
#define COMMON_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns. */
uint64_t now_ns(void);

/* Says "ready T", where T is the clock in ns: at the first call, and at one that comes over 100 ms after the last, as after a pause. */
void alive(void);

/* Ends the application at SIGTERM from now on. */
void end_at_sigterm(void);

/* Sleeps until the clock reads this. */
void sleep_until(uint64_t at_ns);

#endif
