/* Like a driver assistance function: takes an image thirty times a second, finds edges, and counts what may be objects. */
#include "common.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 640
#define HEIGHT 480
#define PERIOD_NS 33333333u
#define REVISION 1

static uint8_t image[HEIGHT][WIDTH];
static uint8_t edges[HEIGHT][WIDTH];
static int labels[HEIGHT][WIDTH];
static int parents[HEIGHT * WIDTH / 2 + 2];

/* Boxes that move on a dark ground. */
static void take_image(unsigned frame)
{
    memset(image, 16, sizeof image);
    for (unsigned box = 0; box < 8; box++) {
        unsigned left = (frame * (box + 1) + box * 71) % (WIDTH - 64);
        unsigned top = (box * 53 + REVISION) % (HEIGHT - 48);
        for (unsigned y = top; y < top + 40; y++)
            memset(&image[y][left], 96 + (int)box * 16, 56);
    }
}

static void find_edges(void)
{
    for (int y = 1; y < HEIGHT - 1; y++) {
        for (int x = 1; x < WIDTH - 1; x++) {
            int across = image[y - 1][x + 1] + 2 * image[y][x + 1] + image[y + 1][x + 1]
                - image[y - 1][x - 1] - 2 * image[y][x - 1] - image[y + 1][x - 1];
            int down = image[y + 1][x - 1] + 2 * image[y + 1][x] + image[y + 1][x + 1]
                - image[y - 1][x - 1] - 2 * image[y - 1][x] - image[y - 1][x + 1];
            edges[y][x] = abs(across) + abs(down) > 128;
        }
    }
}

static int root(int label)
{
    while (parents[label] != label)
        label = parents[label] = parents[parents[label]];
    return label;
}

/* Edges that touch each other are one object. */
static int count_objects(void)
{
    int next = 1, objects = 0;
    for (int y = 1; y < HEIGHT; y++) {
        for (int x = 1; x < WIDTH; x++) {
            if (!edges[y][x]) {
                labels[y][x] = 0;
                continue;
            }
            int up = labels[y - 1][x], left = labels[y][x - 1];
            if (up && left) {
                labels[y][x] = root(up);
                parents[root(left)] = root(up);
            } else if (up || left) {
                labels[y][x] = up ? up : left;
            } else {
                parents[next] = next;
                labels[y][x] = next++;
            }
        }
    }
    for (int label = 1; label < next; label++)
        objects += root(label) == label;
    return objects;
}

int main(void)
{
    uint64_t next = now_ns();
    end_at_sigterm();
    for (unsigned frame = 0;; frame++) {
        take_image(frame);
        find_edges();
        if (count_objects() == 0)
            return 1;
        alive();
        next += PERIOD_NS;
        sleep_until(next);
    }
}
