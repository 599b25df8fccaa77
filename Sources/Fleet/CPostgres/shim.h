#include <libpq-fe.h>
#include <postgres_ext.h>
