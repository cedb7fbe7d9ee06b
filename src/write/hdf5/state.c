/* The statistics of a run as a state to go on from, in two slots of /restart/state. A slot is a
 * head of 40 bytes and what saltus_collector_store makes:
 *
 *     8 bytes  "saltus-1"
 *     u64      rows: trajectories in it, as many as rows of data sets
 *     u64      bytes behind the head
 *     u64      CRC-32 of these
 *     u64      how many bytes of the slot were ever written, in a file that is not closed
 *
 * Each flush writes the slot that is not the newer one, so that at any moment one is whole. */
#include "write/hdf5/state.h"

#include "core/memory.h"

#include <string.h>
#include <zlib.h>

enum {
    N_NUMBERS = 4,
    HEAD_BYTES = 8 * (1 + N_NUMBERS),
    SLACK_BYTES = 256 * 1024,
    TORN_BYTES = 4096
};
static const char mark[8] = "saltus-1";

size_t saltus_h5_state_bytes(const saltus_collector *ensemble)
{
    return HEAD_BYTES + saltus_collector_most_bytes(ensemble);
}

static herr_t transfer(const saltus_h5_set *s, int slot, size_t n, void *memory, bool is_write)
{
    const hsize_t start[2] = {(hsize_t)slot, 0}, count[2] = {1, n}, length[1] = {n};
    const hid_t in = H5Screate_simple(1, length, NULL), out = H5Dget_space(s->set);
    herr_t rc = H5Sselect_hyperslab(out, H5S_SELECT_SET, start, NULL, count, NULL);
    if (rc >= 0) {
        rc = is_write ? H5Dwrite(s->set, H5T_NATIVE_UINT8, in, out, H5P_DEFAULT, memory)
                      : H5Dread(s->set, H5T_NATIVE_UINT8, in, out, H5P_DEFAULT, memory);
    }
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    return rc;
}

/* Write bytes[size] and forget nothing of how far the slot was ever written. */
static saltus_status write_slot(saltus_h5_file *f, const saltus_h5_set *s, int slot, char *bytes,
                                size_t size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!f->broken) {
        SALTUS_TRY(saltus_h5_reserve(f, (int64_t)size + SLACK_BYTES, err));
    }
    if (transfer(s, slot, size, bytes, true) < 0 || H5Dflush(s->set) < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    f->state.newer = slot;
    f->state.size[slot] = size > f->state.size[slot] ? size : f->state.size[slot];
done:
    return status;
}

/* At the end there is one state, in the first slot, and zeros wherever another has been, so that
 * equal runs have equal files. A slot that a kill has torn does not tell how far it was written:
 * about as far as the other. */
static saltus_status settle(saltus_h5_file *f, const saltus_h5_set *s, const char *bytes,
                            size_t size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool had_others =
        f->state.size[0] > size || f->state.size[1] > 0 || f->layout.options.extend;
    size_t n = f->state.size[0] > f->state.size[1] ? f->state.size[0] : f->state.size[1];
    char *padded = NULL;
    if (!had_others) {
        return SALTUS_OK;
    }
    n = n + TORN_BYTES < s->shape[1] ? n + TORN_BYTES : (size_t)s->shape[1];
    padded = saltus_calloc(n, 1);
    SALTUS_NEED(padded);
    memcpy(padded, bytes, size);
    SALTUS_TRY(write_slot(f, s, 0, padded, n, err));
    SALTUS_TRY(saltus_h5_flush(f, err));
    memset(padded, 0, n);
    SALTUS_TRY(write_slot(f, s, 1, padded, n, err));
done:
    saltus_free(padded);
    return status;
}

saltus_status saltus_h5_write_state(saltus_h5_file *f, bool is_last, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_set *s = saltus_h5_find(f, SALTUS_SET_STATE);
    const int slot = 1 - f->state.newer;
    void *stored = NULL;
    char *bytes = NULL;
    size_t size = 0;
    if (!s || f->keeps_state) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_collector_store(f->ensemble, &stored, &size, err));
    bytes = saltus_calloc(size + HEAD_BYTES, 1);
    SALTUS_NEED(bytes);
    uint64_t numbers[N_NUMBERS] = {(uint64_t)f->rows, size, crc32_z(0, stored, size),
                                   f->state.size[slot]};
    memcpy(bytes, mark, sizeof mark);
    memcpy(bytes + sizeof mark, numbers, sizeof numbers);
    memcpy(bytes + HEAD_BYTES, stored, size);
    SALTUS_TRY(write_slot(f, s, slot, bytes, size + HEAD_BYTES, err));
    if (is_last) {
        memset(bytes + HEAD_BYTES - sizeof *numbers, 0, sizeof *numbers);
        SALTUS_TRY(settle(f, s, bytes, size + HEAD_BYTES, err));
    }
done:
    saltus_free(stored);
    saltus_free(bytes);
    return status;
}

/* What a slot holds, NULL if that is not whole. */
static saltus_status read_slot(const saltus_h5_set *s, int slot, char **bytes,
                               uint64_t numbers[N_NUMBERS], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char head[HEAD_BYTES], *all = NULL;
    if (s->shape[1] < HEAD_BYTES || transfer(s, slot, HEAD_BYTES, head, false) < 0 ||
        memcmp(head, mark, sizeof mark) != 0) {
        return SALTUS_OK;
    }
    memcpy(numbers, head + sizeof mark, N_NUMBERS * sizeof *numbers);
    if (numbers[1] > s->shape[1] - HEAD_BYTES) {
        return SALTUS_OK;
    }
    all = saltus_calloc((size_t)numbers[1] + HEAD_BYTES, 1);
    SALTUS_NEED(all);
    if (transfer(s, slot, (size_t)numbers[1] + HEAD_BYTES, all, false) >= 0 &&
        crc32_z(0, (unsigned char *)all + HEAD_BYTES, (size_t)numbers[1]) == numbers[2]) {
        *bytes = all;
        all = NULL;
    }
done:
    saltus_free(all);
    return status;
}

saltus_status saltus_h5_read_state(const saltus_h5_set *s, hsize_t most, saltus_collector *into,
                                   saltus_h5_slots *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *newest = NULL;
    uint64_t numbers[N_NUMBERS] = {0};
    for (int slot = 0; slot < 2; ++slot) {
        char *bytes = NULL;
        uint64_t here[N_NUMBERS] = {0};
        SALTUS_TRY(read_slot(s, slot, &bytes, here, err));
        out->size[slot] = bytes ? (size_t)(here[1] > here[3] ? here[1] : here[3]) : 0;
        out->size[slot] += HEAD_BYTES;
        if (bytes && here[0] <= most && (!newest || here[0] > numbers[0])) {
            char *older = newest;
            newest = bytes;
            bytes = older;
            memcpy(numbers, here, sizeof numbers);
            out->newer = slot;
        }
        saltus_free(bytes);
    }
    if (newest && into) {
        SALTUS_TRY(saltus_collector_load(into, newest + HEAD_BYTES, (size_t)numbers[1], err));
    }
    out->rows = (int64_t)numbers[0];
done:
    saltus_free(newest);
    return status;
}
