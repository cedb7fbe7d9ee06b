/* Limits of groups of processes, in trees of files as the kernel shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST                                                                  \
    "30 25 0:26 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n" \
    "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define SECOND "29 24 0:25 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

/* A path below ./root, with the folders that it needs. */
static void put(const char *path, const char *text)
{
    char full[500];
    (void)snprintf(full, sizeof full, "root%s", path);
    for (char *at = strchr(full, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(full, 0700);
        *at = '/';
    }
    FILE *out = fopen(full, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void check(const char *mounts, const char *groups, double memory, double cores)
{
    put("/proc/self/mountinfo", mounts);
    put("/proc/self/cgroup", groups);
    const saltus_limits l = saltus_group_limits("root");
    if (l.memory != memory || !(l.cores == cores)) {
        fail_msg("%s%s%g bytes, %g cores", mounts, groups, l.memory, l.cores);
    }
    assert_int_equal(system("rm -r root"), 0);
}

static void nothing_limits_nothing(void **state)
{
    (void)state;
    const saltus_limits l = saltus_group_limits("nowhere");
    assert_true(isinf(l.memory) && isinf(l.cores));
    check("", "", INFINITY, INFINITY);
    check("nonsense\n\n - cgroup2 x y\n", "0\n:\n::\n0::\n", INFINITY, INFINITY);
    put("/sys/fs/cgroup/a/memory.max", "max\n");
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    check(SECOND, "0::/a\n", INFINITY, INFINITY);
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    check(FIRST, "4:memory:/a\n3:cpuacct,cpu:/a\n", INFINITY, INFINITY);
}

static void second_version(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/a/b/memory.max", "3000000\n");
    put("/sys/fs/cgroup/a/memory.max", "2000000\n"); /* a group around it */
    put("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    check(SECOND, "0::/a/b\n", 2e6, 1.5);
    /* in a container: its own group is the top, in its name space or not */
    put("/sys/fs/cgroup/memory.max", "1000000\n");
    check(SECOND, "0::/\n", 1e6, INFINITY);
    put("/sys/fs/cgroup/memory.max", "1000000\n");
    check("29 24 0:25 /docker/1f /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/1f\n", 1e6,
          INFINITY);
    put("/sys/fs/cgroup/memory.max", "1000000\n");
    check(SECOND, "0::/../other\n", 1e6, INFINITY);
}

static void first_version(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes", "4000000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
    check(FIRST, "5:pids:/\n4:memory:/slurm/job\n3:cpuacct,cpu:/slurm/job\n0::/\n", 4e6, 4.0);
    /* a name with a blank, and a mount that shows a part */
    put("/my groups/sub/memory.limit_in_bytes", "77\n");
    check("30 25 0:26 /docker/1f /my\\040groups rw - cgroup cgroup rw,memory\n",
          "4:memory:/docker/1f/sub\n", 77.0, INFINITY);
    put("/m/memory.limit_in_bytes", "78\n");
    put("/m/x/memory.limit_in_bytes",
        "1\n"); /* of another one: /docker/1fx is not below /docker/1f */
    check("30 25 0:26 /docker/1f /m rw - cgroup cgroup rw,memory\n", "4:memory:/docker/1fx\n", 78.0,
          INFINITY);
}

/* AddressSanitizer needs more addresses than that. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NEEDS_ADDRESSES true
#endif
#endif
#ifndef NEEDS_ADDRESSES
#define NEEDS_ADDRESSES false
#endif

static void address_space(void **state)
{
    (void)state;
    assert_true(saltus_cores() >= 1);
    if (NEEDS_ADDRESSES) {
        skip();
    }
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit small = {1 << 30, 1 << 30};
        bool is_limit = false;
        _exit(setrlimit(RLIMIT_AS, &small) == 0 && saltus_memory_most(&is_limit) <= 0x1p30 &&
                      is_limit
                  ? 0
                  : 1);
    }
    int code = -1;
    (void)waitpid(child, &code, 0);
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_limits_nothing),
        cmocka_unit_test(second_version),
        cmocka_unit_test(first_version),
        cmocka_unit_test(address_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
