/* Kernels with groups: how a group and a reaction in it are chosen. */
#include "backend/cuda/codegen/registers_text.h"

void saltus_put_choose_group(const saltus_writer *w)
{
    const int last = saltus_n_groups(w->t) - 1;
    fprintf(w->out,
            "        int32_t upg = saltus_high_word(total);\n        int g = %d;\n"
            "        double base = s->t%d;\n",
            last, last - 1);
    for (int g = last - 1; g >= 0; --g) {
        fprintf(w->out,
                "        const int isg%d = s->t%d > low;\n"
                "        upg = isg%d ? saltus_high_word(s->t%d) : upg;\n        g -= isg%d;\n",
                g, g, g, g, g);
        fprintf(w->out,
                g > 0 ? "        base = isg%d ? s->t%d : base;\n"
                      : "        base = isg%d ? 0.0 : base;\n",
                g, g - 1);
    }
}

/* Write what is done where a boundary may lie between low and high: all bits are compared, and more
 * are drawn where it does. Every choice near a boundary passes here, so that rare checks cost
 * little. */
static void put_refine(const saltus_writer *w, int n, const char *check)
{
    const int groups = saltus_n_groups(w->t);
    fprintf(w->out,
            "            if (SALTUS_RARE(up <= saltus_high_word(h) ||\n"
            "                            upg <= saltus_high_word(high))) {\n"
            "                double next = c%d, nextg = s->t%d;\n%s",
            n - 1, groups - 1, check);
    for (int i = n - 2; i >= 0; --i) {
        fprintf(w->out, "                next = is%d ? c%d : next;\n", i, i);
    }
    for (int g = groups - 2; g >= 0; --g) {
        fprintf(w->out, "                nextg = isg%d ? s->t%d : nextg;\n", g, g);
    }
    fprintf(w->out, "                if (!refined && (next < h || nextg < high)) {\n" SALTUS_REFINE
                    "                    refined = 1;\n                    continue;\n"
                    "                }\n            }\n");
}

void saltus_put_choose(const saltus_writer *w, int n, const char *check)
{
    fprintf(w->out, "            int32_t up = saltus_high_word(c%d);\n", n - 1);
    for (int i = n - 2; i >= 0; --i) {
        fprintf(w->out,
                "            const int is%d = c%d > l;\n"
                "            up = is%d ? saltus_high_word(c%d) : up;\n",
                i, i, i, i);
    }
    put_refine(w, n, check);
}
