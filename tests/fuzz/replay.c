/* Runs a harness over the files of a folder, without libFuzzer: every input that once crashed a
 * reader is tried again by the tests. */
#include "core/file.h"
#include "core/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int replay(const char *path)
{
    saltus_error err = {0};
    char *text = NULL;
    size_t size = 0;
    if (saltus_read_file(path, &text, &size, &err) != SALTUS_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    /* A block of just that size, so that reading past its end is seen. */
    unsigned char *exact = saltus_calloc(size, 1);
    if (!exact) {
        saltus_free(text);
        return 1;
    }
    for (size_t i = 0; i < size; ++i) {
        exact[i] = (unsigned char)text[i];
    }
    (void)printf("%s\n", path);
    (void)fflush(stdout);
    (void)LLVMFuzzerTestOneInput(exact, size);
    saltus_free(exact);
    saltus_free(text);
    return 0;
}

int main(int argc, char **argv)
{
    int n = 0, failed = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        (void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (entry->d_name[0] != '.') {
            failed += replay(path);
            ++n;
        }
    }
    (void)closedir(folder);
    (void)printf("%d inputs\n", n);
    return failed > 0 || n == 0;
}
