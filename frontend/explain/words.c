/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* words.c - see words.h. */
#include "frontend/explain/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "frontend/lang/source.h"

const char *fc_show_bytes(char buf[32], int64_t bytes) {
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t u = 0;
    while (v >= 1023.95 && u + 1 < FC_COUNT(unit)) v /= 1024, u++;
    if (u == 0)
        snprintf(buf, 32, "%" PRId64 " bytes", bytes);
    else
        snprintf(buf, 32, "%" PRId64 ".%d %s", (int64_t)(v * 10 + 0.5) / 10,
                 (int)((int64_t)(v * 10 + 0.5) % 10), unit[u]);
    return buf;
}

const char *fc_show_seconds(char buf[32], double s) {
    static const struct {
        double unit;
        const char *name;
    } scale[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i + 1 < FC_COUNT(scale) && s < scale[i].unit * 0.99995) i++;
    int64_t tenths = (int64_t)(s / scale[i].unit * 10 + 0.5);
    if (tenths >= 1000)
        snprintf(buf, 32, "%" PRId64 " %s", (tenths + 5) / 10, scale[i].name);
    else
        snprintf(buf, 32, "%" PRId64 ".%d %s", tenths / 10, (int)(tenths % 10), scale[i].name);
    return buf;
}

const char *fc_show_count(char buf[32], int64_t n) {
    static const char *const unit[] = {"", " k", " M", " G", " T", " P"};
    double x = (double)n;
    size_t u = 0;
    while (x >= 999.5 && u + 1 < FC_COUNT(unit)) x /= 1000, u++;
    snprintf(buf, 32, u && x < 9.95 ? "%.1f%s" : "%.0f%s", x, unit[u]);
    return buf;
}

const char *fc_show_rate(char buf[32], double bytes, double seconds) {
    double r = seconds > 0 ? bytes / seconds : 0;
    if (r >= 1e12)
        snprintf(buf, 32, "%.2f TB/s", r * 1e-12);
    else
        snprintf(buf, 32, "%.1f GB/s", r * 1e-9);
    return buf;
}

void fc_markup_text(fc_str *out, const char *text) {
    const char *end = text + strlen(text);
    while (text < end) {
        uint32_t cp = 0;
        size_t n = fc_utf8_next(text, end, &cp);
        if (!n || (cp < 0x20 && cp != '\n' && cp != '\t') || (cp >= 0x7f && cp < 0xa0) ||
            cp == 0xfffe || cp == 0xffff)
            fc_str_add(out, "\xef\xbf\xbd"); /* not a character of XML */
        else if (cp == '&')
            fc_str_add(out, "&amp;");
        else if (cp == '<')
            fc_str_add(out, "&lt;");
        else if (cp == '>')
            fc_str_add(out, "&gt;");
        else if (cp == '"')
            fc_str_add(out, "&quot;");
        else
            fc_str_addn(out, text, n);
        text += n ? n : 1;
    }
}

void fc_json_text(fc_str *out, const char *text) {
    const char *end = text + strlen(text);
    fc_str_char(out, '"');
    while (text < end) {
        uint32_t cp = 0;
        size_t n = fc_utf8_next(text, end, &cp);
        if (!n)
            fc_str_add(out, "\\ufffd");
        else if (cp == '"' || cp == '\\')
            fc_str_printf(out, "\\%c", (int)cp);
        else if (cp == '\n')
            fc_str_add(out, "\\n");
        else if (cp < 0x20 || cp == 0x7f)
            fc_str_printf(out, "\\u%04x", cp);
        else
            fc_str_addn(out, text, n);
        text += n ? n : 1;
    }
    fc_str_char(out, '"');
}

void fc_json_number(fc_str *out, double v) {
    if (isfinite(v))
        fc_str_double(out, v, false);
    else
        fc_str_add(out, "null");
}
