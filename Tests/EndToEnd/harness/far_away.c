/* Makes every connection that a program opens (LD_PRELOAD) one to somewhere far: the system keeps little of what is not acknowledged. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    int bytes = 32 * 1024; /* and as many for the kernel's own use */
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return next(descriptor, address, length);
}
