/**
 * Memory: allocation that tests can make fail, and an arena for things that live as long as a
 * model.
 */
#ifndef SALTUS_CORE_MEMORY_H
#define SALTUS_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/** Zeroed memory for n elements; NULL when it ran out or n * size overflows. Never NULL for n = 0.
 */
void *saltus_calloc(size_t n, size_t size);
/** Resize to n elements; the old block stays valid on failure. New bytes are not initialised. */
void *saltus_realloc(void *p, size_t n, size_t size);
/** Free; NULL is allowed. */
void saltus_free(void *p);
/** Copy of a string; NULL when memory ran out. */
char *saltus_strdup(const char *s);

/** Make the n-th allocation from now on (0 is the next) and all later ones fail; a negative n never
 * fails. What an arena hands out counts as well. For tests; applies to the whole process. */
void saltus_fail_allocation(long long n);

/**
 * Grow an array before an element is added: `array` has room for `*capacity` elements of `size`
 * bytes and must have room for n + 1. Returns the array, perhaps moved, or NULL (old one valid).
 */
void *saltus_grow(void *array, size_t n, size_t *capacity, size_t size);

/** Many small allocations that are freed together. Zero-initialise; not for several threads. */
typedef struct saltus_arena {
    struct saltus_arena_page *page;
    size_t used;
} saltus_arena;

/** Zeroed, aligned for any type; NULL when memory ran out. */
void *saltus_arena_alloc(saltus_arena *arena, size_t size);
/** A place in an arena, to which it can be rewound: what was allocated since is free again, for the
 * arena. */
typedef struct saltus_arena_mark {
    struct saltus_arena_page *page;
    size_t used;
} saltus_arena_mark;
saltus_arena_mark saltus_arena_here(const saltus_arena *arena);
void saltus_arena_rewind(saltus_arena *arena, saltus_arena_mark mark);
/** A copy of the first n characters of s, ended by a zero. */
char *saltus_arena_strndup(saltus_arena *arena, const char *s, size_t n);
void saltus_arena_free(saltus_arena *arena);

/** A map from strings to ints, open addressing. Zero-initialise. Keys are not copied. */
typedef struct saltus_map {
    struct saltus_map_entry *entries;
    size_t n, capacity;
} saltus_map;

/** The value of key, or -1. */
int saltus_map_get(const saltus_map *map, const char *key);
/** Set key to value >= 0; returns 0, or -1 when memory ran out. */
int saltus_map_put(saltus_map *map, const char *key, int value);
void saltus_map_free(saltus_map *map);

/** Where strings stand in an array of records of `size` bytes, each of which begins with a pointer
 * to its own: a map in 8 to 16 bytes each, whatever the strings. Zero-initialise. */
typedef struct saltus_index {
    int *slots; /**< 1 + a record's number; 0: none */
    size_t n, capacity;
} saltus_index;

/** The number of the record with that string, or -1. */
int saltus_index_find(const saltus_index *index, const void *records, size_t size, const char *key);
/** Add record index->n, whose string is new. Returns 0, or -1 when memory ran out. */
int saltus_index_add(saltus_index *index, const void *records, size_t size);
void saltus_index_free(saltus_index *index);

#endif
