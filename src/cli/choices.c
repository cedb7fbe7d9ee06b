/* Methods and layouts as help lists them, from what the library says that there is. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "direct (exact; the default), tau (leaps)": those that are wanted; the first is the usual one. */
static void list_methods(FILE *out, bool in_space, bool on_gpu)
{
    int n = 0;
    for (int i = 0; saltus_method_at(i).name; ++i) {
        const saltus_choice m = saltus_method_at(i);
        if (m.in_space == in_space && (m.on_gpu || !on_gpu)) {
            fprintf(out, "%s%s (%s%s)", n > 0 ? ", " : "", m.name, m.about,
                    n == 0 ? "; the default" : "");
            ++n;
        }
    }
}

static void list_layouts(FILE *out, const char *title, bool in_space, bool on_gpu)
{
    fprintf(out, "%s: ", title);
    for (int i = 0, n = 0; saltus_layout_at(i).name; ++i) {
        const saltus_choice l = saltus_layout_at(i);
        if (l.in_space == in_space && (on_gpu ? l.on_gpu : l.on_cpu)) {
            fprintf(out, "%s%s", n++ > 0 ? ", " : "", l.name);
        }
    }
    fputs("; ", out);
}

static void print_methods(FILE *out, bool on_gpu)
{
    fputs("well mixed: ", out);
    list_methods(out, false, on_gpu);
    fputs("; of a lattice: ", out);
    list_methods(out, true, on_gpu);
    fputs("; ", out);
}

static void print_layouts(FILE *out, bool on_gpu)
{
    fputs("auto (the default); ", out);
    if (!on_gpu) {
        list_layouts(out, "CPU", false, false);
    }
    list_layouts(out, "GPU", false, true);
    if (!on_gpu) {
        list_layouts(out, "of a lattice, CPU", true, false);
    }
    list_layouts(out, "of a lattice, GPU", true, true);
}

/* The list before the text; the text alone when memory runs out. */
static char *with_list(void (*print)(FILE *out, bool on_gpu), const char *text, bool on_gpu)
{
    char *help = NULL;
    size_t size;
    FILE *out = open_memstream(&help, &size);
    if (!out) {
        return (char *)text;
    }
    print(out, on_gpu);
    fputs(text, out);
    return fclose(out) == 0 ? help : (char *)text;
}

char *saltus_cli_method_help(const char *text, bool on_gpu)
{
    return with_list(print_methods, text, on_gpu);
}

char *saltus_cli_layout_help(const char *text, bool on_gpu)
{
    return with_list(print_layouts, text, on_gpu);
}

saltus_choice saltus_cli_method(const char *name)
{
    int i = 0;
    while (saltus_method_at(i).name && strcmp(saltus_method_at(i).name, name) != 0) {
        ++i;
    }
    return saltus_method_at(i);
}
