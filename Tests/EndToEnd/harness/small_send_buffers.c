/* LD_PRELOAD library that simulates distant servers: a small send buffer limits the unacknowledged data per connection. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    int bytes = 32 * 1024; /* the kernel doubles it for bookkeeping */
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return next(descriptor, address, length);
}
