/* Like a real-time function: a controller of a thousand steps a second that holds a simulated mass at a place. */
#include "common.h"

#include <stdio.h>

#define PERIOD_NS 1000000u
#define REVISION 1

struct plant {
    double place, speed;
};

struct controller {
    double sum, last;
};

static double control(struct controller *controller, double wanted, double place, double step)
{
    double error = wanted - place;
    double slope = (error - controller->last) / step;
    controller->sum += error * step;
    controller->last = error;
    return 40.0 * error + 5.0 * controller->sum + 9.0 * slope;
}

static void move(struct plant *plant, double force, double step)
{
    double acceleration = force - 0.8 * plant->speed;
    plant->speed += acceleration * step;
    plant->place += plant->speed * step;
}

int main(void)
{
    struct plant plant = {0.0, 0.0};
    struct controller controller = {0.0, 0.0};
    const double step = PERIOD_NS / 1e9;
    uint64_t next = now_ns(), worst = 0;
    end_at_sigterm();
    for (unsigned long turn = 0;; turn++) {
        double wanted = turn / 2000 % 2 ? 0.0 : 1.0 / REVISION;
        move(&plant, control(&controller, wanted, plant.place, step), step);
        if (plant.place > 1e3 || plant.place < -1e3)
            return 1;
        alive();
        next += PERIOD_NS;
        sleep_until(next);
        uint64_t late = now_ns() - next;
        if (late > worst) {
            worst = late;
            fprintf(stderr, "late by %llu ns\n", (unsigned long long)worst);
        }
    }
}
