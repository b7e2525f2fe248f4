/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// runner.cc - hands the C tests to GoogleTest and runs them.
//
// In: fc_test_add calls made by constructors before main. Out: registered tests, reports with the
// file and line of the C source. Constructors only fill a list, because GoogleTest's own statics
// may not be there yet; main registers it.
#include "tests/support/test.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

struct Entry {
    std::string suite, name, file;
    int line;
    fc_test_fn fn;
    void *arg;
};

std::vector<Entry> &entries() {
    static std::vector<Entry> all;
    return all;
}

std::vector<std::unique_ptr<testing::ScopedTrace>> &traces() {
    static std::vector<std::unique_ptr<testing::ScopedTrace>> stack;
    return stack;
}

bool blessing = false;
uint64_t items; // of the running test, begins with a number made of its name

// So that a sweep whose items alternate between two kinds tries both.
uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t number_of(const std::string &name) {
    uint64_t n = 0;
    for (unsigned char c : name) n = mixed(n ^ c);
    return n;
}

class CTest : public testing::Test {
  public:
    explicit CTest(const Entry *e) : entry(e) {}
    void TestBody() override {
        items = number_of(entry->suite + "." + entry->name);
        entry->fn(entry->arg);
        while (!traces().empty()) fc_test_pop_trace();
    }

  private:
    const Entry *entry;
};

std::string format(const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = std::vsnprintf(nullptr, 0, fmt, ap);
    std::string text(n > 0 ? static_cast<size_t>(n) : 0, '\0');
    if (n > 0) std::vsnprintf(&text[0], text.size() + 1, fmt, again);
    va_end(again);
    return text;
}

} // namespace

void fc_test_add(const char *suite, const char *name, const char *file, int line, fc_test_fn fn,
                 void *arg) {
    entries().push_back({suite, name, file, line, fn, arg});
}

void fc_test_fail(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    std::string text = format(fmt, ap);
    va_end(ap);
    ADD_FAILURE_AT(file, line) << text;
}

void fc_test_skip(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    std::string text = format(fmt, ap);
    va_end(ap);
    GTEST_MESSAGE_AT_(file, line, text.c_str(), testing::TestPartResult::kSkip);
}

bool fc_test_has_failed(void) {
    return testing::Test::HasFailure();
}

void fc_test_push_trace(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    std::string text = format(fmt, ap);
    va_end(ap);
    traces().push_back(std::make_unique<testing::ScopedTrace>(file, line, text));
}

void fc_test_pop_trace(void) {
    if (!traces().empty()) traces().pop_back();
}

bool fc_test_takes(unsigned of) {
    const char *fresh = std::getenv("FUSEC_FRESH_SEED"), *tests = std::getenv("FUSEC_TESTS");
    const uint64_t item = items++;
    if (!fresh || (tests && !std::strcmp(tests, "all"))) return true;
    return mixed(item ^ mixed(std::strtoull(fresh, nullptr, 10))) % (FC_SANITIZED ? 4 * of : of) ==
           0;
}

bool fc_test_blessing(void) {
    return blessing;
}

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--bless") == 0) {
            blessing = true;
        } else {
            std::fprintf(stderr, "unknown argument: %s\n", argv[i]);
            return 2;
        }
    }
    for (const Entry &e : entries())
        testing::RegisterTest(e.suite.c_str(), e.name.c_str(), nullptr, nullptr, e.file.c_str(),
                              e.line, [&e]() -> testing::Test * { return new CTest(&e); });
    return RUN_ALL_TESTS();
}
