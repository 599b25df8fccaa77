#include "CConsole.h"

// The page's files as they are, by C23's #embed. A file of the page that is missing here fails a test.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char chart_js[] = {
#embed "page/chart.js"
};
static const unsigned char console_css[] = {
#embed "page/console.css"
};
static const unsigned char console_html[] = {
#embed "page/console.html"
};
static const unsigned char console_js[] = {
#embed "page/console.js"
};
static const unsigned char feed_js[] = {
#embed "page/feed.js"
};
static const unsigned char format_js[] = {
#embed "page/format.js"
};
static const unsigned char gateway_js[] = {
#embed "page/gateway.js"
};
static const unsigned char lists_js[] = {
#embed "page/lists.js"
};
static const unsigned char log_js[] = {
#embed "page/log.js"
};
static const unsigned char map_js[] = {
#embed "page/map.js"
};
static const unsigned char mapcanvas_js[] = {
#embed "page/mapcanvas.js"
};
static const unsigned char notifications_js[] = {
#embed "page/notifications.js"
};
static const unsigned char overview_js[] = {
#embed "page/overview.js"
};
static const unsigned char page_js[] = {
#embed "page/page.js"
};
static const unsigned char stats_js[] = {
#embed "page/stats.js"
};
static const unsigned char tiles_js[] = {
#embed "page/tiles.js"
};

#define FILE_ENTRY(name, type, bytes) { name, type, bytes, sizeof(bytes) }

static const struct console_file files[] = {
    FILE_ENTRY("chart.js", "text/javascript; charset=utf-8", chart_js),
    FILE_ENTRY("console.css", "text/css; charset=utf-8", console_css),
    FILE_ENTRY("console.html", "text/html; charset=utf-8", console_html),
    FILE_ENTRY("console.js", "text/javascript; charset=utf-8", console_js),
    FILE_ENTRY("feed.js", "text/javascript; charset=utf-8", feed_js),
    FILE_ENTRY("format.js", "text/javascript; charset=utf-8", format_js),
    FILE_ENTRY("gateway.js", "text/javascript; charset=utf-8", gateway_js),
    FILE_ENTRY("lists.js", "text/javascript; charset=utf-8", lists_js),
    FILE_ENTRY("log.js", "text/javascript; charset=utf-8", log_js),
    FILE_ENTRY("map.js", "text/javascript; charset=utf-8", map_js),
    FILE_ENTRY("mapcanvas.js", "text/javascript; charset=utf-8", mapcanvas_js),
    FILE_ENTRY("notifications.js", "text/javascript; charset=utf-8", notifications_js),
    FILE_ENTRY("overview.js", "text/javascript; charset=utf-8", overview_js),
    FILE_ENTRY("page.js", "text/javascript; charset=utf-8", page_js),
    FILE_ENTRY("stats.js", "text/javascript; charset=utf-8", stats_js),
    FILE_ENTRY("tiles.js", "text/javascript; charset=utf-8", tiles_js),
};

const struct console_file *const console_files = files;
const size_t console_file_count = sizeof(files) / sizeof(files[0]);
