/* Functions that glibc declares only under _GNU_SOURCE, which Swift's Glibc module does not define. */
#include <sys/socket.h>

int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
long getrandom(void *bytes, unsigned long count, unsigned int flags);
int pthread_setname_np(unsigned long thread, const char *name);

