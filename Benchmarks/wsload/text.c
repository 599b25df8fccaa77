/* Texts that are sent: templates, and marks, which an event carries besides padding: hexadecimal digits at fixed places. */
#define _GNU_SOURCE
#include "wsload.h"
#include <stdarg.h>

size_t put(char *text, size_t size, size_t length, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
    if (length >= size) fail("a request or a name is too long");
    return length;
}

size_t expand(char *text, size_t size, const char *template, long number, long client, const char *mark) {
    size_t length = 0;
    for (;;) {
        size_t plain = strcspn(template, "%");
        length = put(text, size, length, "%.*s", (int)plain, template);
        template += plain;
        if (!*template) return length;
        if (template[1] == 'd') length = put(text, size, length, "%ld", number);
        else if (template[1] == 'r') length = put(text, size, length, "%ld", client);
        else if (template[1] == 'm') length = put(text, size, length, "%s", mark);
        else fail("%.2s in a template: only %%d, %%r and %%m are known", template);
        template += 2;
    }
}

static char *put_digits(char *text, uint64_t value, int digits) {
    for (int index = digits; index-- > 0; value >>= 4) text[index] = "0123456789abcdef"[value & 15];
    return text + digits;
}

/* Writes "@@publisher.number.time.channel@@". */
void put_mark(char text[MARK + 1], struct mark mark) {
    text = put_digits(memcpy(text, "@@", 2) + 2, mark.publisher, 4);
    *text++ = '.';
    text = put_digits(text, mark.number, 8);
    *text++ = '.';
    text = put_digits(text, mark.time, 16);
    *text++ = '.';
    memcpy(put_digits(text, mark.channel, 8), "@@", 3);
}

static uint64_t digits_value(const uint8_t *text, int digits) {
    uint64_t value = 0;
    for (int index = 0; index < digits; index++)
        value = value << 4 | (uint8_t)(text[index] <= '9' ? text[index] - '0' : text[index] - 'a' + 10);
    return value;
}

int find_mark(const uint8_t *text, size_t count, struct mark *mark) {
    const uint8_t *end = text + count;
    while ((text = memchr(text, '@', end - text)) && end - text >= MARK) {
        if (text[1] == '@' && text[6] == '.' && text[15] == '.' && text[32] == '.') {
            *mark = (struct mark){.publisher = digits_value(text + 2, 4), .number = digits_value(text + 7, 8),
                                  .time = digits_value(text + 16, 16), .channel = digits_value(text + 33, 8)};
            return 1;
        }
        text++;
    }
    return 0;
}
