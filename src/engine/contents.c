#include "engine/contents.h"

#include "core/memory.h"

saltus_status saltus_contents_reserve(saltus_contents *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (n <= c->capacity) {
        goto done;
    }
    const int64_t twice = c->capacity > 0 ? 2 * c->capacity : 1024;
    const size_t capacity = (size_t)(n > twice ? n : twice);
    int64_t *site = saltus_realloc(c->site, capacity, sizeof *site);
    c->site = site ? site : c->site;
    SALTUS_NEED(site);
    uint16_t *species = saltus_realloc(c->species, capacity, sizeof *species);
    c->species = species ? species : c->species;
    SALTUS_NEED(species);
    int32_t *count = saltus_realloc(c->count, capacity, sizeof *count);
    c->count = count ? count : c->count;
    SALTUS_NEED(count);
    c->capacity = (int64_t)capacity;
done:
    return status;
}

saltus_status saltus_contents_add(saltus_contents *c, int64_t site, int species, int32_t count,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_contents_reserve(c, c->n + 1, err));
    c->site[c->n] = site;
    c->species[c->n] = (uint16_t)species;
    c->count[c->n++] = count;
done:
    return status;
}

void saltus_contents_clear(saltus_contents *c)
{
    c->n = 0;
}

void saltus_contents_free(saltus_contents *c)
{
    saltus_free(c->site);
    saltus_free(c->species);
    saltus_free(c->count);
    *c = (saltus_contents){0};
}
