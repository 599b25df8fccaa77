/* libev's initialisers are macros, which Swift does not import: each has a typed function here. */
#include <ev.h>

typedef void (*clibev_io_callback)(struct ev_loop *, ev_io *, int);
typedef void (*clibev_async_callback)(struct ev_loop *, ev_async *, int);
typedef void (*clibev_prepare_callback)(struct ev_loop *, ev_prepare *, int);
typedef void (*clibev_check_callback)(struct ev_loop *, ev_check *, int);
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

/* A watcher that is called before all others whenever the loop has waited. */
static inline void clibev_check_init_first(ev_check *watcher, clibev_check_callback callback, void *data) {
    ev_check_init(watcher, callback);
    ev_set_priority(watcher, EV_MAXPRI);
    watcher->data = data;
}

static inline void clibev_timer_init(ev_timer *watcher, clibev_timer_callback callback, double after, double every, void *data) {
    ev_timer_init(watcher, callback, after, every);
    watcher->data = data;
}
