/* Harnesses for result files; FUZZ_TARGET names the function. */
#include "../support/hdf5_checksums.h"
#include "core/file.h"
#include "core/memory.h"
#include "write/results.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SOMETIMES_UNUSED __attribute__((unused)) static

/* Print whatever can be printed of a result file, and read what is drawn. HDF5 wants it to have a
 * name. */
static void fuzz_results(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/saltus-fuzz-XXXXXX";
    saltus_results *r = NULL;
    double *derived = NULL;
    const int fd = mkstemp(path);
    FILE *out = fopen("/dev/null", "w");
    if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    if (saltus_results_open(path, &r, NULL) == SALTUS_OK) {
        (void)!saltus_results_print_stats(r, out, NULL);
        (void)!saltus_results_print_summary(r, out, NULL);
        (void)!saltus_results_print_csv(r, out, NULL);
        (void)!saltus_results_print_split(r, SALTUS_BY_TYPE, out, NULL);
        (void)!saltus_results_print_split(r, SALTUS_BY_PLANE, out, NULL);
        (void)!saltus_results_print_frames(r, out, NULL);
        (void)!saltus_results_derived(r, "mean:A", &derived, NULL);
    }
    saltus_free(derived);
    saltus_results_close(r);
    (void)fclose(out);
    (void)close(fd);
    (void)unlink(path);
}

enum { N_FILES = 9, MOST_BLOCKS = 200, MOST_CHANGES = 64 };

/* The corpus of fuzz_results. */
static struct file {
    const char *name;
    char *data;
    size_t size, n_blocks;
    checked_block blocks[MOST_BLOCKS];
} files[N_FILES] = {{.name = "all"},       {.name = "final"},        {.name = "histogram"},
                    {.name = "space"},     {.name = "space-stats"},  {.name = "stats"},
                    {.name = "sweep-all"}, {.name = "sweep-design"}, {.name = "sweep-histogram"}};

SOMETIMES_UNUSED struct file *load(int i)
{
    struct file *f = &files[i];
    char path[1000];
    (void)snprintf(path, sizeof path, "%s/%s", RESULTS, f->name);
    if (!f->data) {
        if (saltus_read_file(path, &f->data, &f->size, NULL) != SALTUS_OK) {
            abort();
        }
        f->n_blocks =
            find_checked_blocks((const unsigned char *)f->data, f->size, f->blocks, MOST_BLOCKS);
        if (f->n_blocks < 10) {
            abort();
        }
    }
    return f;
}

/* Headers that were changed so that their checksums fit. An input is the number of a file, and four
 * bytes for each change: a block, a place in it, a value. What libhdf5 does in the process that
 * looks first is no defect of Saltus; what reaches this one is. */
SOMETIMES_UNUSED void fuzz_repaired(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return;
    }
    const struct file *f = load(data[0] % N_FILES);
    unsigned char *bad = saltus_calloc(f->size, 1);
    memcpy(bad, f->data, f->size);
    for (size_t i = 0; i < MOST_CHANGES && 5 + 4 * i <= size; ++i) {
        const uint8_t *change = data + 1 + 4 * i;
        const checked_block *b = &f->blocks[change[0] % f->n_blocks];
        const size_t at = 4 + ((size_t)change[1] << 8 | change[2]) % (b->length - 4);
        bad[b->start + at] = change[3];
    }
    repair_checksums(bad, f->blocks, f->n_blocks);
    fuzz_results(bad, f->size);
    saltus_free(bad);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FUZZ_TARGET(data, size);
    return 0;
}
