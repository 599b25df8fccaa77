#include <nats/nats.h>
#include <sys/eventfd.h> /* missing in Swift's Glibc module */
