#pragma once
#include <stddef.h>

/// A file of the console's page.
struct console_file {
    const char *name;
    /// The media type.
    const char *type;
    const unsigned char *bytes;
    size_t count;
};

extern const struct console_file *const console_files;
extern const size_t console_file_count;
