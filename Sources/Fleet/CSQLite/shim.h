#include <sqlite3.h>

/* SQLITE_TRANSIENT makes SQLite copy the bytes. Swift does not import it: it is a macro that casts -1 to a function
   pointer. */
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

/* sqlite3_db_config is variadic. The last connection of a file then neither copies its write-ahead log nor deletes it. */
static inline void csqlite_leave_log(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
