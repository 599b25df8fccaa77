/* libev's initialisers are macros, which Swift does not import: each has a typed function here. */
#include <ev.h>

typedef void (*clibev_io_callback)(struct ev_loop *, ev_io *, int);
typedef void (*clibev_async_callback)(struct ev_loop *, ev_async *, int);
typedef void (*clibev_prepare_callback)(struct ev_loop *, ev_prepare *, int);
typedef void (*clibev_timer_callback)(struct ev_loop *, ev_timer *, int);

static inline void clibev_io_init(ev_io *watcher, clibev_io_callback callback, int descriptor, int events, void *data) {
    ev_io_init(watcher, callback, descriptor, events);
    watcher->data = data;
}

static inline void clibev_async_init(ev_async *watcher, clibev_async_callback callback, void *data) {
    ev_async_init(watcher, callback);
    watcher->data = data;
}

static inline void clibev_prepare_init(ev_prepare *watcher, clibev_prepare_callback callback, void *data) {
    ev_prepare_init(watcher, callback);
    watcher->data = data;
}

static inline void clibev_timer_init(ev_timer *watcher, clibev_timer_callback callback, double after, double every, void *data) {
    ev_timer_init(watcher, callback, after, every);
    watcher->data = data;
}
