/* Like a function of the infotainment: a server that answers requests for a list of titles over TCP on loopback. */
#include "common.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS 4
#define PERIOD_NS 1000000u
#define TITLES 2000
#define REVISION 1

struct title {
    char name[32];
    unsigned played;
};

static struct title titles[TITLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int by_played(const void *a, const void *b)
{
    const struct title *left = a, *right = b;
    return (left->played < right->played) - (left->played > right->played);
}

/* The ten titles that were played most, and one that is played by this. */
static size_t answer(char *text, size_t size, unsigned request)
{
    size_t length = 0;
    pthread_mutex_lock(&lock);
    titles[request % TITLES].played++;
    qsort(titles, TITLES, sizeof titles[0], by_played);
    for (int at = 0; at < 10; at++)
        length += (size_t)snprintf(text + length, size - length, "%s %u\n", titles[at].name, titles[at].played);
    pthread_mutex_unlock(&lock);
    return length;
}

static void *serve(void *listening)
{
    int at = *(int *)listening;
    for (unsigned request = 0;; request++) {
        char text[1024];
        int asking = accept(at, NULL, NULL);
        if (asking < 0)
            exit(1);
        if (read(asking, text, sizeof text) > 0) {
            size_t length = answer(text, sizeof text, request);
            if (write(asking, text, length) < 0)
                perror("write");
        }
        close(asking);
    }
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    pthread_t threads[THREADS];
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    end_at_sigterm();
    for (unsigned at = 0; at < TITLES; at++) {
        snprintf(titles[at].name, sizeof titles[at].name, "title %u.%d", at, REVISION);
        titles[at].played = at * 7919u % 1009u;
    }
    /* Any port: several run beside each other. */
    if (listening < 0 || bind(listening, (struct sockaddr *)&address, sizeof address) < 0 || listen(listening, 64) < 0) {
        perror("listen");
        return 1;
    }
    for (int at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, serve, &listening);
    for (uint64_t next = now_ns();; next += PERIOD_NS) {
        alive();
        sleep_until(next);
    }
}
