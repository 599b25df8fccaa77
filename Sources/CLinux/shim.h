/* Functions that glibc declares only under _GNU_SOURCE, which Swift's Glibc module does not define. */
#include <sys/socket.h>
/* Headers that Swift's Glibc module does not contain. */
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
void *memmem(const void *bytes, size_t count, const void *part, size_t part_count);
long getrandom(void *bytes, unsigned long count, unsigned int flags);
int pthread_setname_np(unsigned long thread, const char *name);
