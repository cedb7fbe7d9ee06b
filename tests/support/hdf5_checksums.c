#include "hdf5_checksums.h"

#include <stdint.h>
#include <string.h>

/* libhdf5 exports it, but no header of those installed tells of it. */
uint32_t H5_checksum_metadata(const void *data, size_t size, uint32_t start);

static uint32_t checksum_after(const unsigned char *data, checked_block b)
{
    uint32_t stored;
    memcpy(&stored, data + b.start + b.length, sizeof stored); /* little-endian, as we are */
    return stored;
}

static uint32_t checksum_of(const unsigned char *data, checked_block b)
{
    return H5_checksum_metadata(data + b.start, b.length, 0);
}

static int begins_block(const unsigned char *at)
{
    static const char signatures[][5] = {
        "\211HDF", "OHDR", "OCHK", "BTHD", "BTIN", "BTLF", "FRHP", "FHDB", "FHIB", "FSHD",
        "FSSE",    "EAHD", "EAIB", "EASB", "EADB", "FAHD", "FADB", "SMTB", "SMLI",
    };
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; ++i) {
        if (memcmp(at, signatures[i], 4) == 0) {
            return 1;
        }
    }
    return 0;
}

size_t find_checked_blocks(const unsigned char *data, size_t size, checked_block *blocks,
                           size_t most)
{
    enum { LONGEST = 8192 };
    size_t n = 0;
    for (size_t at = 0; at + 8 < size && n < most; ++at) {
        checked_block b = {at, 4};
        if (!begins_block(data + at)) {
            continue;
        }
        while (b.length < LONGEST && at + b.length + 4 <= size &&
               checksum_of(data, b) != checksum_after(data, b)) {
            ++b.length;
        }
        if (b.length < LONGEST && at + b.length + 4 <= size) {
            blocks[n++] = b;
        }
    }
    return n;
}

void repair_checksums(unsigned char *data, const checked_block *blocks, size_t n_blocks)
{
    for (size_t i = 0; i < n_blocks; ++i) {
        const uint32_t sum = checksum_of(data, blocks[i]);
        memcpy(data + blocks[i].start + blocks[i].length, &sum, sizeof sum);
    }
}
