/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* timeline.c - see timeline.h. */
#include "frontend/cli/timeline.h"

#include "ir/version.h"
#include "runtime/trace.h"

fusec_status fc_timeline_open(fc_cli *c, fc_error *e) {
    const char *path = c->o.text[FC_FLAG_TRACE];
    if (!path) return FUSEC_OK;
    if (!*path || !strcmp(path, "-"))
        return fc_fail(e, FUSEC_USAGE, "--trace writes a file, and needs its name");
    FC_TRY(fc_trace_new(c->alloc, true, &c->trace, e));
    c->config.trace = c->trace;
    return FUSEC_OK;
}

double fc_timeline_now(const fc_cli *c) {
    return c->trace ? fc_trace_now(c->trace) : 0;
}

double fc_timeline_phase(fc_cli *c, const char *name, double begin) {
    if (!c->trace) return 0;
    fc_trace_span(c->trace, "phase", name, begin);
    return fc_trace_now(c->trace);
}

void fc_timeline_settle(fc_cli *c) {
    if (c->trace) fc_trace_settle(c->trace);
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static void row_name(uint32_t row, fc_str *out) {
    fc_str_printf(
        out,
        ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":"
        "\"",
        row);
    if (row >= FC_TRACE_DEVICE_ROW)
        fc_str_printf(out, "cuda:%u", row - FC_TRACE_DEVICE_ROW);
    else if (row)
        fc_str_printf(out, "thread %u", row);
    else
        fc_str_add(out, "fusec");
    fc_str_add(out, "\"}}");
}

/* To the nanosecond, whatever the locale. */
static void microseconds(const char *key, double seconds, fc_str *out) {
    const long long ns = seconds > 0 ? (long long)(seconds * 1e9 + 0.5) : 0;
    fc_str_printf(out, "%s%lld.%03lld", key, ns / 1000, ns % 1000);
}

static void event(const fc_trace_event *x, fc_str *out) {
    fc_str_printf(out, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"cat\":\"%s\",\"name\":", x->row,
                  x->kind);
    fc_json_text(out, x->name);
    microseconds(",\"ts\":", x->begin, out);
    microseconds(",\"dur\":", x->end - x->begin, out);
    if (x->bytes >= 0) fc_str_printf(out, ",\"args\":{\"bytes\":%lld}", (long long)x->bytes);
    fc_str_char(out, '}');
}

static fusec_status write(fc_cli *c, fc_error *e) {
    const fc_trace *t = c->trace;
    fc_str s;
    fc_str_init(&s, c->alloc);
    fc_str_printf(&s,
                  "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"fusec\":\"%s\",\"dropped\":%llu},"
                  "\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\","
                  "\"args\":{\"name\":\"fusec run\"}}",
                  FC_VERSION, (unsigned long long)t->dropped);
    bool known[FC_TRACE_DEVICE_ROW + 16] = {false};
    for (size_t i = 0; i < t->events.len; i++) {
        const uint32_t row = t->events.at[i].row;
        if (row < FC_COUNT(known) && !known[row]) row_name(row, &s);
        if (row < FC_COUNT(known)) known[row] = true;
        event(&t->events.at[i], &s);
    }
    fc_str_add(&s, "\n]}\n");
    const fusec_status st =
        s.oom ? fc_oom(e) : fc_cli_write_text(c, c->o.text[FC_FLAG_TRACE], s.data, s.len, e);
    fc_str_free(&s);
    return st;
}

fusec_status fc_timeline_close(fc_cli *c, fusec_status st, fc_error *e) {
    if (!c->trace) return st;
    if (!st) st = write(c, e);
    fc_trace_free(c->trace);
    c->trace = c->config.trace = NULL;
    return st;
}
