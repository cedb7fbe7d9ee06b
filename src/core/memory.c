#include "core/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Only tests set this; it is the one variable of the library that is not on a handle, because the
 * allocator has no handle. */
static _Atomic long long allocations_left = -1;

static int must_fail(void)
{
    long long left = atomic_load_explicit(&allocations_left, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak(&allocations_left, &left, left - 1)) {
    }
    return left == 0;
}

void saltus_fail_allocation(long long n)
{
    atomic_store(&allocations_left, n);
}

enum { LARGE = 4 << 20, TOO_LARGE = 256 << 20, LARGE_PAGE = 2 << 20 };

/* Arrays of lattices and of large networks are read here and there: in large pages, where the
 * kernel has any, an access seldom waits for its translation. Of the largest few pages may ever be
 * needed, as of a lattice with few particles, and large ones would have to be cleared. It is
 * advice, which may be refused. */
static void *in_large_pages(void *p, size_t size)
{
    if (p && size >= LARGE && size < TOO_LARGE) {
        const size_t skipped = -(uintptr_t)p % LARGE_PAGE;
        (void)madvise((char *)p + skipped, (size - skipped) / LARGE_PAGE * LARGE_PAGE,
                      MADV_HUGEPAGE);
    }
    return p;
}

void *saltus_calloc(size_t n, size_t size)
{
    if (must_fail()) {
        return NULL;
    }
    return in_large_pages(calloc(n ? n : 1, size ? size : 1), n * size);
}

void *saltus_realloc(void *p, size_t n, size_t size)
{
    if (must_fail() || (size && n > SIZE_MAX / size)) {
        return NULL;
    }
    return realloc(p, n > 0 && size > 0 ? n * size : 1);
}

void saltus_free(void *p)
{
    free(p);
}

char *saltus_strdup(const char *s)
{
    const size_t n = strlen(s) + 1;
    char *copy = saltus_calloc(n, 1);
    if (copy) {
        memcpy(copy, s, n);
    }
    return copy;
}

void *saltus_grow(void *array, size_t n, size_t *capacity, size_t size)
{
    if (array && n < *capacity) {
        return array;
    }
    const size_t wanted = *capacity ? *capacity * 2 : 16;
    void *grown = saltus_realloc(array, wanted, size);
    if (grown) {
        *capacity = wanted;
    }
    return grown;
}

enum { PAGE = 64 * 1024 - 64, ALIGNMENT = 16 };

struct saltus_arena_page {
    struct saltus_arena_page *next;
    size_t size;
    _Alignas(ALIGNMENT) unsigned char data[];
};

void *saltus_arena_alloc(saltus_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2 || must_fail()) {
        return NULL;
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->page || arena->page->size - arena->used < size) {
        const size_t page_size = size > PAGE ? size : PAGE;
        struct saltus_arena_page *page =
            saltus_calloc(1, sizeof(struct saltus_arena_page) + page_size);
        if (!page) {
            return NULL;
        }
        page->size = page_size;
        page->next = arena->page;
        arena->page = page;
        arena->used = 0;
    }
    void *p = arena->page->data + arena->used;
    arena->used += size;
    return p;
}

saltus_arena_mark saltus_arena_here(const saltus_arena *arena)
{
    return (saltus_arena_mark){arena->page, arena->used};
}

/* Where pages were added, the first of them stays, empty: else rewinding again and again near the
 * end of a page would allocate one each time. */
void saltus_arena_rewind(saltus_arena *arena, saltus_arena_mark mark)
{
    size_t end = arena->used, begin = mark.used;
    while (arena->page != mark.page) {
        struct saltus_arena_page *next = arena->page->next;
        begin = 0;
        if (next == mark.page) {
            break;
        }
        saltus_free(arena->page);
        arena->page = next;
        end = next->size;
    }
    if (arena->page) { /* what is handed out is zero */
        memset(arena->page->data + begin, 0, end - begin);
    }
    arena->used = begin;
}

char *saltus_arena_strndup(saltus_arena *arena, const char *s, size_t n)
{
    char *copy = saltus_arena_alloc(arena, n + 1);
    if (copy) {
        memcpy(copy, s, n);
    }
    return copy;
}

void saltus_arena_free(saltus_arena *arena)
{
    struct saltus_arena_page *page = arena->page;
    while (page) {
        struct saltus_arena_page *next = page->next;
        saltus_free(page);
        page = next;
    }
    arena->page = NULL;
    arena->used = 0;
}

struct saltus_map_entry {
    const char *key;
    int value;
};

static size_t hash_string(const char *s) /* FNV-1a */
{
    uint64_t h = 14695981039346656037u;
    for (; *s; ++s) {
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    }
    return (size_t)(h ^ (h >> 32));
}

static struct saltus_map_entry *find_slot(struct saltus_map_entry *entries, size_t capacity,
                                          const char *key)
{
    size_t i = hash_string(key) & (capacity - 1);
    while (entries[i].key && strcmp(entries[i].key, key) != 0) {
        i = (i + 1) & (capacity - 1);
    }
    return &entries[i];
}

int saltus_map_get(const saltus_map *map, const char *key)
{
    if (map->n == 0) {
        return -1;
    }
    const struct saltus_map_entry *e = find_slot(map->entries, map->capacity, key);
    return e->key ? e->value : -1;
}

int saltus_map_put(saltus_map *map, const char *key, int value)
{
    if (2 * (map->n + 1) > map->capacity) {
        const size_t capacity = map->capacity ? 2 * map->capacity : 64;
        struct saltus_map_entry *entries = saltus_calloc(capacity, sizeof *entries);
        if (!entries) {
            return -1;
        }
        for (size_t i = 0; i < map->capacity; ++i) {
            if (map->entries[i].key) {
                *find_slot(entries, capacity, map->entries[i].key) = map->entries[i];
            }
        }
        saltus_free(map->entries);
        map->entries = entries;
        map->capacity = capacity;
    }
    struct saltus_map_entry *e = find_slot(map->entries, map->capacity, key);
    map->n += e->key == NULL;
    e->key = key;
    e->value = value;
    return 0;
}

void saltus_map_free(saltus_map *map)
{
    saltus_free(map->entries);
    map->entries = NULL;
    map->n = map->capacity = 0;
}

static const char *string_of(const void *records, size_t size, size_t number)
{
    return *(const char *const *)((const char *)records + number * size);
}

static int *find_number(int *slots, size_t capacity, const void *records, size_t size,
                        const char *key)
{
    size_t i = hash_string(key) & (capacity - 1);
    while (slots[i] != 0 && strcmp(string_of(records, size, (size_t)slots[i] - 1), key) != 0) {
        i = (i + 1) & (capacity - 1);
    }
    return &slots[i];
}

int saltus_index_find(const saltus_index *index, const void *records, size_t size, const char *key)
{
    return index->n > 0 ? *find_number(index->slots, index->capacity, records, size, key) - 1 : -1;
}

int saltus_index_add(saltus_index *index, const void *records, size_t size)
{
    if (2 * (index->n + 1) > index->capacity) {
        const size_t capacity = index->capacity ? 2 * index->capacity : 64;
        int *slots = saltus_calloc(capacity, sizeof *slots);
        if (!slots) {
            return -1;
        }
        for (size_t i = 0; i < index->n; ++i) {
            *find_number(slots, capacity, records, size, string_of(records, size, i)) = (int)i + 1;
        }
        saltus_free(index->slots);
        index->slots = slots;
        index->capacity = capacity;
    }
    const char *key = string_of(records, size, index->n);
    *find_number(index->slots, index->capacity, records, size, key) = (int)index->n + 1;
    ++index->n;
    return 0;
}

void saltus_index_free(saltus_index *index)
{
    saltus_free(index->slots);
    *index = (saltus_index){0};
}
