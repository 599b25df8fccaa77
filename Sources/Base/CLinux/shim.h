/* Functions that glibc declares only under _GNU_SOURCE, which Swift's Glibc module does not define. */
#include <sys/socket.h>
/* Variadic functions, which Swift does not import. */
#include <sys/prctl.h>
/* Headers that Swift's Glibc module does not contain. */
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

/* Returns 0 on success (prctl(2), PR_SET_DUMPABLE). */
static inline int linux_set_dumpable(unsigned long is_dumpable) { return prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0); }

int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
void *memmem(const void *bytes, size_t count, const void *part, size_t part_count);
long getrandom(void *bytes, unsigned long count, unsigned int flags);
int pthread_setname_np(unsigned long thread, const char *name);
