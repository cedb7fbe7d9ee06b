/* XDMF 2: what ParaView and VTK read beside a result file. It holds no numbers of its own: every
 * array is a slab of a data set of the result file. */
#include "core/file.h"
#include "core/memory.h"
#include "write/hdf5/common.h"
#include "write/numbers.h"
#include "write/results.h"

#include <errno.h>
#include <string.h>

#define MARK "<!-- written by Saltus -->"

typedef struct xdmf {
    const saltus_results *r;
    FILE *out;
    char **paths; /* [species] of its data set */
    int *bytes;   /* [species] of a value */
} xdmf;

static void put_text(FILE *out, const char *text)
{
    for (; *text; ++text) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '"':
            (void)fputs("&quot;", out);
            break;
        default:
            (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
        }
    }
}

static void begin_attribute(const xdmf *x, const char *name)
{
    (void)fputs("        <Attribute Name=\"", x->out);
    put_text(x->out, name);
    (void)fputs("\" AttributeType=\"Scalar\" Center=\"Cell\">\n", x->out);
}

/* Where an array is in the result file; its axes before z, y, x are `leading`. */
static void put_place(const xdmf *x, const char *leading, int bytes, const char *path)
{
    const int64_t *size = x->r->space.size;
    static const char *const types[] = {"", "UChar", "UShort", "", "UInt"};
    (void)fprintf(x->out,
                  "<DataItem Format=\"HDF\" NumberType=\"%s\" Precision=\"%d\" "
                  "Dimensions=\"%s%lld %lld %lld\">",
                  types[bytes], bytes, leading, (long long)size[2], (long long)size[1],
                  (long long)size[0]);
    put_text(x->out, saltus_base_name(x->r->path));
    (void)fputs(":/", x->out);
    put_text(x->out, path);
    (void)fputs("</DataItem>\n", x->out);
}

static void put_species(const xdmf *x, int64_t row, int64_t frame, int c)
{
    const saltus_results_space *s = &x->r->space;
    char leading[64];
    (void)snprintf(leading, sizeof leading, "%lld %lld ", (long long)s->n_frame_runs,
                   (long long)s->n_frames);
    begin_attribute(x, x->r->count_names[c]);
    (void)fprintf(x->out,
                  "          <DataItem ItemType=\"HyperSlab\" Dimensions=\"%lld %lld %lld\">\n"
                  "            <DataItem Format=\"XML\" Dimensions=\"3 5\">%lld %lld 0 0 0 "
                  "1 1 1 1 1 1 1 %lld %lld %lld</DataItem>\n            ",
                  (long long)s->size[2], (long long)s->size[1], (long long)s->size[0],
                  (long long)row, (long long)frame, (long long)s->size[2], (long long)s->size[1],
                  (long long)s->size[0]);
    put_place(x, leading, x->bytes[c], x->paths[c]);
    (void)fputs("          </DataItem>\n        </Attribute>\n", x->out);
}

/* Lengths are in micrometres: in metres they would be too small for some viewers. */
static void put_frame(const xdmf *x, int64_t row, int64_t frame)
{
    const saltus_results_space *s = &x->r->space;
    const double edge = 1e6 * s->spacing;
    (void)fprintf(
        x->out,
        "      <Grid Name=\"frame %lld\" GridType=\"Uniform\">\n"
        "        <Time Value=\"%.17g\"/>\n"
        "        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"%lld %lld %lld\"/>\n"
        "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
        "          <DataItem Format=\"XML\" Dimensions=\"3\">0 0 0</DataItem>\n"
        "          <DataItem Format=\"XML\" Dimensions=\"3\">%.9g %.9g %.9g</DataItem>\n"
        "        </Geometry>\n",
        (long long)frame, s->frame_times[frame], (long long)s->size[2] + 1,
        (long long)s->size[1] + 1, (long long)s->size[0] + 1, edge, edge, edge);
    begin_attribute(x, "site type");
    (void)fputs("          ", x->out);
    put_place(x, "", 1, "space/types");
    (void)fputs("        </Attribute>\n", x->out);
    for (int c = 0; c < x->r->n_counts; ++c) {
        put_species(x, row, frame, c);
    }
    (void)fputs("      </Grid>\n", x->out);
}

static saltus_status put_frames(const xdmf *x, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results_space *s = &x->r->space;
    uint8_t *there = saltus_calloc((size_t)s->n_frames, 1);
    SALTUS_NEED(there);
    (void)fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" MARK
                "\n<Xdmf Version=\"2.2\">\n  <Domain>\n",
                x->out);
    for (int64_t row = 0; row < s->n_frame_runs; ++row) {
        SALTUS_TRY(saltus_results_frames_there(x->r, row, there, err));
        if (!memchr(there, 1, (size_t)s->n_frames)) {
            continue;
        }
        (void)fprintf(x->out,
                      "    <Grid Name=\"trajectory %lld\" GridType=\"Collection\" "
                      "CollectionType=\"Temporal\">\n",
                      (long long)x->r->first_trajectory + row);
        for (int64_t frame = 0; frame < s->n_frames; ++frame) {
            if (there[frame] == 1) {
                put_frame(x, row, frame);
            }
        }
        (void)fputs("    </Grid>\n", x->out);
    }
    (void)fputs("  </Domain>\n</Xdmf>\n", x->out);
    status = saltus_check_written(x->out, err);
done:
    saltus_free(there);
    return status;
}

static saltus_status find_species(xdmf *x, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = x->r->n_counts;
    x->paths = saltus_calloc((size_t)n, sizeof *x->paths);
    x->bytes = saltus_calloc((size_t)n, sizeof *x->bytes);
    SALTUS_NEED(x->paths && x->bytes);
    for (int c = 0; c < n; ++c) {
        x->paths[c] = saltus_h5_frames_name(x->r->count_names[c]);
        SALTUS_NEED(x->paths[c]);
        SALTUS_TRY(saltus_results_frame_bytes(x->r, c, &x->bytes[c], err));
    }
done:
    return status;
}

/* The result file's name with another ending. */
static char *beside(const char *path)
{
    const char *base = saltus_base_name(path), *dot = strrchr(base, '.');
    const size_t length = dot && dot > base ? (size_t)(dot - path) : strlen(path);
    char *name = saltus_calloc(length + sizeof ".xdmf", 1);
    if (name) {
        (void)sprintf(name, "%.*s.xdmf", (int)length, path);
    }
    return name;
}

saltus_status saltus_xdmf_check(const char *result, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *path = beside(result);
    SALTUS_NEED(path);
    SALTUS_TRY(saltus_may_replace(path, MARK, err));
done:
    saltus_free(path);
    return status;
}

saltus_status saltus_results_write_xdmf(const saltus_results *r, saltus_error *err)
{
    if (!r) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    xdmf x = {.r = r};
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    char *path = beside(r->path);
    SALTUS_NEED(path);
    if (r->space.n_frames == 0) {
        SALTUS_TRY(saltus_results_no_frames(r, err));
    }
    SALTUS_TRY(find_species(&x, err));
    SALTUS_TRY(saltus_may_replace(path, MARK, err));
    x.out = fopen(path, "w");
    if (!x.out) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    SALTUS_TRY(put_frames(&x, err));
done:
    if (x.out && (fclose(x.out) != 0 || status != SALTUS_OK)) {
        (void)remove(path);
        status = status == SALTUS_OK
                     ? saltus_error_set(err, SALTUS_E_IO, "%s: cannot be written: %s", path,
                                        strerror(errno))
                     : status;
    }
    for (int c = 0; x.paths && c < r->n_counts; ++c) {
        saltus_free(x.paths[c]);
    }
    saltus_free(x.paths);
    saltus_free(x.bytes);
    saltus_free(path);
    saltus_usual_numbers(plain, saved);
    return status;
}
