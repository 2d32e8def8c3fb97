/* Passes over the whole heap that hold the interpreter's lock from beginning to end.

   Rules of this file.  No Python code runs between the first object met and the last.  No reference count is written
   while objects are met, so no page that a forked child shares is copied and no tuple under construction is seen twice.
   Memory comes from malloc, and every failure to get it ends the pass with MemoryError.  What is met is remembered by
   address; references are taken, where a caller is to see an object, after the last object was met and before anything
   is allocated in Python's heap.

   The same walk in Python is reference.py; the tests hold one against the other. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#ifdef Py_GIL_DISABLED
#error "the pass relies on the interpreter's lock; on a free-threaded build the Python pass is used"
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Of functions that do nothing but prefetch: gcc takes them to have no effect, and leaves calls of them out. */
#define PREFETCHING inline __attribute__((always_inline))
#else
#define PREFETCH(address) ((void)(address))
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define PREFETCHING inline
#endif

#ifdef PHASEPROF_FAILING_MALLOC
/* For the tests: the n-th request for memory from now on fails, and all that follow. */
static long requests_left = -1;

static int
is_refused(void)
{
    return requests_left == 0 || (requests_left > 0 && --requests_left == 0);
}

static void *
refusing_malloc(size_t bytes)
{
    return is_refused() ? NULL : malloc(bytes);
}

static void *
refusing_calloc(size_t n, size_t bytes)
{
    return is_refused() ? NULL : calloc(n, bytes);
}

static void *
refusing_realloc(void *memory, size_t bytes)
{
    return is_refused() ? NULL : realloc(memory, bytes);
}

#define malloc refusing_malloc
#define calloc refusing_calloc
#define realloc refusing_realloc
#endif

/* ------------------------------------------------------------------------------------------------------------------ */
/* What the interpreter lays out, where no header that extensions may use says it.  layout.py has the same numbers, and
   checks them on an object before the extension is used. */

typedef struct {
    uintptr_t next, prev;
} Link; /* PyGC_Head: lies before each object that the collector knows; low bits of both are flags */

typedef struct {
    Link head;
    int threshold, count;
} Generation; /* struct gc_generation */

#define LINK_FLAGS ((uintptr_t)3)
#define N_GENERATIONS 3
#define OBJECT_OF(link) ((PyObject *)((char *)(link) + sizeof(Link)))
#define LINK_OF(object) ((Link *)((char *)(object) - sizeof(Link)))
#define NEXT(link) ((Link *)((link)->next & ~LINK_FLAGS))
#define PREV(link) ((Link *)((link)->prev & ~LINK_FLAGS))

#if PY_VERSION_HEX >= 0x030B0000
#define HAS_MANAGED_DICT (1UL << 4) /* Py_TPFLAGS_MANAGED_DICT */
#define HAS_INLINE_VALUES (1UL << 2) /* Py_TPFLAGS_INLINE_VALUES, 3.13 and later */
#define IS_CELL 0x40
#define IS_FREE 0x80
#define FRAME_DATA 24 /* struct _frame.f_frame */
#if PY_VERSION_HEX >= 0x030C0000
#define CODE_IN_DATA 0 /* _PyInterpreterFrame.f_code, .f_executable */
#define OBJECT_IN_DATA 48 /* _PyInterpreterFrame.frame_obj */
#else
#define CODE_IN_DATA 32
#define OBJECT_IN_DATA 40
#endif
#define IS_CLEARED 4 /* enum _framestate */
#if PY_VERSION_HEX >= 0x030E0000
#define LOCALS_IN_DATA 80 /* _PyInterpreterFrame.localsplus */
#define LOCAL_FLAGS ((uintptr_t)3)
#else
#define LOCALS_IN_DATA 72
#define LOCAL_FLAGS ((uintptr_t)0)
#endif
#else
#define HAS_MANAGED_DICT 0UL
#endif
#if PY_VERSION_HEX >= 0x030C0000
#define HAS_MANAGED_WEAKREF (1UL << 3)
#else
#define HAS_MANAGED_WEAKREF 0UL
#endif

/* struct _dictkeysobject; of 3.11 and later */
#define KEYS_LOG2_INDEX_BYTES 9
#define KEYS_KIND 10 /* 0: each entry begins with the key's hash */
#define KEYS_USABLE 16
#define KEYS_ENTRIES 24
#define KEYS_INDICES 32

#if PY_VERSION_HEX >= 0x030C0000
#define IS_READY(text) 1
#else
#define IS_READY(text) (PyUnicode_IS_READY(text))
#endif

#define FIELD(type, object, offset) (*(type *)((char *)(object) + (offset)))

/* PyArrayObject and PyArray_Descr, whose heads are part of numpy's binary interface; checked by places.py */
#define ARRAY_DATA 16
#define ARRAY_N_DIMENSIONS 24
#define ARRAY_DIMENSIONS 32
#define ARRAY_BASE 48
#define ARRAY_DTYPE 56
#define DTYPE_NUMBER 28
#define NUMBER_OF_OBJECT 17
#define NUMBER_OF_VOID 20

PyAPI_FUNC(Py_ssize_t) _PyDict_SizeOf(PyDictObject *);

/* ------------------------------------------------------------------------------------------------------------------ */
/* Sets of addresses, and numbers by address. */

/* Zeroed memory.  Tables of some size are on large pages where the system has them: they are read at random, and with
   small pages half of the time goes into finding where a page lies. */
typedef struct {
    void *at, *base;
    size_t bytes; /* of the mapping; 0 where it is from calloc */
} Zeroed;

#define LARGE_PAGE ((size_t)1 << 21)
#define MAPPED_FROM ((size_t)1 << 17) /* what is freed goes back to the system, and stays with no one */

#ifdef __linux__
static int
zeroed_map(Zeroed *memory, size_t bytes)
{
#ifdef PHASEPROF_FAILING_MALLOC
    if (is_refused()) {
        return -1;
    }
#endif
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return -1;
    }
    *memory = (Zeroed){base, base, bytes};
    return 0;
}
#endif

static int
zeroed_make(Zeroed *memory, size_t bytes)
{
#ifdef __linux__
    if (bytes >= MAPPED_FROM) {
        size_t margin = bytes >= LARGE_PAGE ? LARGE_PAGE : 0;
        if (zeroed_map(memory, bytes + margin) < 0) {
            return -1;
        }
#ifdef MADV_HUGEPAGE
        if (margin) {
            memory->at = (void *)(((uintptr_t)memory->base + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1));
            (void)madvise(memory->at, bytes, MADV_HUGEPAGE);
        }
#endif
        return 0;
    }
#endif
    memory->bytes = 0;
    memory->base = memory->at = calloc(bytes, 1);
    return memory->at == NULL ? -1 : 0;
}

static void
zeroed_free(Zeroed *memory)
{
#ifdef __linux__
    if (memory->bytes) {
        munmap(memory->base, memory->bytes);
        memory->base = memory->at = NULL;
        return;
    }
#endif
    free(memory->base);
    memory->base = memory->at = NULL;
}

/* Zeroed things of one size, got a number at a time: a few first, then as many as fill a mapping. */
typedef struct Slab {
    struct Slab *next;
    Zeroed memory;
    uint64_t words[];
} Slab;

typedef struct {
    Slab *slabs;
    size_t n_free; /* things of the newest slab that nobody has yet */
} Pool;

#define POOLED_AT_FIRST 8

static void *
pool_get(Pool *pool, size_t bytes)
{
    if (pool->n_free == 0) {
        size_t n = pool->slabs == NULL ? POOLED_AT_FIRST : MAPPED_FROM / bytes;
        Zeroed memory;
        if (zeroed_make(&memory, sizeof(Slab) + n * bytes) < 0) {
            return NULL;
        }
        Slab *slab = memory.at;
        slab->memory = memory;
        slab->next = pool->slabs;
        pool->slabs = slab;
        pool->n_free = n;
    }
    return (char *)pool->slabs->words + --pool->n_free * bytes;
}

static void
pool_free(Pool *pool)
{
    while (pool->slabs != NULL) {
        Slab *slab = pool->slabs;
        Zeroed memory = slab->memory; /* the slab lies in it */
        pool->slabs = slab->next;
        zeroed_free(&memory);
    }
}

/* A set of addresses is a bitmap for each stretch of 64 KiB in which one of them lies, found by hash.  The heap of a program
   beside torch takes 1 MB of bitmaps so, which stay in the cache; a table of the addresses takes eight, and does not. */
#define STRETCH_BITS 16
#define STRETCH_WORDS ((size_t)1 << (STRETCH_BITS - 4 - 6)) /* a bit for each 16 bytes */

typedef struct {
    uint64_t key; /* 0 is none */
    uint64_t *words;
} Stretch;

typedef struct {
    Stretch *stretches;
    size_t mask, n_stretches, n_addresses;
    Pool bitmaps;
} Set;

/* Objects lie 16 bytes apart; the few that do not begin at a multiple of that have a bitmap of their own. */
static inline uint64_t
stretch_key(uintptr_t address)
{
    return ((uint64_t)(address >> STRETCH_BITS) << 1 | (address >> 3 & 1)) + 1;
}

static inline size_t
bit_of(uintptr_t address)
{
    return (size_t)(address >> 4) & (STRETCH_WORDS * 64 - 1);
}

static inline Stretch *
stretch_at(const Set *set, uint64_t key)
{
    size_t at = (size_t)(key * 0x9E3779B97F4A7C15ull >> 32) & set->mask;
    while (set->stretches[at].key && set->stretches[at].key != key) {
        at = (at + 1) & set->mask;
    }
    return &set->stretches[at];
}

static int
set_make(Set *set)
{
    *set = (Set){.mask = 15};
    set->stretches = calloc(set->mask + 1, sizeof(Stretch));
    return set->stretches == NULL ? -1 : 0;
}

static void
set_free(Set *set)
{
    pool_free(&set->bitmaps);
    free(set->stretches);
    set->stretches = NULL;
}

static int
set_grow(Set *set)
{
    Set larger = {.mask = set->mask * 2 + 1};
    larger.stretches = calloc(larger.mask + 1, sizeof(Stretch));
    if (larger.stretches == NULL) {
        return -1;
    }
    for (size_t i = 0; i <= set->mask; i++) {
        if (set->stretches[i].key) {
            *stretch_at(&larger, set->stretches[i].key) = set->stretches[i];
        }
    }
    free(set->stretches);
    set->stretches = larger.stretches;
    set->mask = larger.mask;
    return 0;
}

static Stretch *
add_stretch(Set *set, uint64_t key)
{
    if (set->n_stretches * 2 > set->mask && set_grow(set) < 0) {
        return NULL;
    }
    uint64_t *words = pool_get(&set->bitmaps, STRETCH_WORDS * sizeof(uint64_t));
    if (words == NULL) {
        return NULL;
    }
    Stretch *stretch = stretch_at(set, key);
    *stretch = (Stretch){key, words};
    set->n_stretches++;
    return stretch;
}

static inline int
set_has(const Set *set, uintptr_t address)
{
    const Stretch *stretch = stretch_at(set, stretch_key(address));
    size_t bit = bit_of(address);
    return stretch->key && stretch->words[bit / 64] >> bit % 64 & 1;
}

static void
set_remove(Set *set, uintptr_t address)
{
    Stretch *stretch = stretch_at(set, stretch_key(address));
    size_t bit = bit_of(address);
    if (stretch->key && stretch->words[bit / 64] >> bit % 64 & 1) {
        stretch->words[bit / 64] ^= (uint64_t)1 << bit % 64;
        set->n_addresses--;
    }
}

/* Return 1 where the address is new, 0 where it was there, -1 where there is no memory. */
static inline int
set_add(Set *set, uintptr_t address)
{
    uint64_t key = stretch_key(address);
    Stretch *stretch = stretch_at(set, key);
    if (UNLIKELY(!stretch->key)) {
        stretch = add_stretch(set, key);
        if (stretch == NULL) {
            return -1;
        }
    }
    size_t bit = bit_of(address);
    uint64_t *word = &stretch->words[bit / 64], mark = (uint64_t)1 << bit % 64;
    if (*word & mark) {
        return 0;
    }
    *word |= mark;
    set->n_addresses++;
    return 1;
}

typedef struct {
    uint64_t key;
    uint32_t value;
} Entry;

typedef struct {
    Entry *entries;
    size_t mask, used;
    Zeroed memory;
} Map; /* 64-bit keys, 0 is none */

static int
map_make(Map *map, size_t capacity)
{
    if (zeroed_make(&map->memory, capacity * sizeof(Entry)) < 0) {
        map->entries = NULL;
        return -1;
    }
    map->entries = map->memory.at;
    map->mask = capacity - 1;
    map->used = 0;
    return 0;
}

static void
map_free(Map *map)
{
    zeroed_free(&map->memory);
    map->entries = NULL;
}

static inline Entry *
map_slot(const Map *map, uint64_t key)
{
    return &map->entries[(size_t)((key ^ key >> 29) * 0x9E3779B97F4A7C15ull >> 24) & map->mask];
}

/* Return the entry of a key, or the empty one where it belongs. */
static inline Entry *
map_find(const Map *map, uint64_t key)
{
    size_t at = (size_t)(map_slot(map, key) - map->entries);
    while (map->entries[at].key && map->entries[at].key != key) {
        at = (at + 1) & map->mask;
    }
    return &map->entries[at];
}

static int
map_grow(Map *map)
{
    Map larger;
    if (map_make(&larger, (map->mask + 1) * 2) < 0) {
        return -1;
    }
    for (size_t i = 0; i <= map->mask; i++) {
        if (map->entries[i].key) {
            *map_find(&larger, map->entries[i].key) = map->entries[i];
        }
    }
    larger.used = map->used;
    map_free(map);
    *map = larger;
    return 0;
}

static int
map_put(Map *map, uint64_t key, uint32_t value)
{
    if (map->used * 2 > map->mask && map_grow(map) < 0) {
        return -1;
    }
    Entry *entry = map_find(map, key);
    if (!entry->key) {
        entry->key = key;
        map->used++;
    }
    entry->value = value;
    return 0;
}

/* Free an array that make_room has grown. */
static void
free_room(void *array, size_t bytes)
{
#ifdef __linux__
    if (bytes >= MAPPED_FROM) {
        munmap(array, bytes);
        return;
    }
#endif
    free(array);
}

#define FREE_ROOM(array, room) free_room(array, (room) * sizeof *(array))

/* Large arrays are mapped: in the gaps between the program's own blocks they would write pages that a forked child
   shares. */
static void *
resize(void *array, size_t bytes, size_t larger)
{
#ifdef __linux__
    if (larger >= MAPPED_FROM) {
        Zeroed memory;
        if (zeroed_map(&memory, larger) < 0) {
            return NULL;
        }
        if (bytes) {
            memcpy(memory.at, array, bytes);
            free_room(array, bytes);
        }
        return memory.at;
    }
#endif
    return realloc(array, larger);
}

/* Make room for one more in an array. */
static int
make_room(void *array, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity) {
        return 0;
    }
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *moved = resize(*(void **)array, *capacity * item_bytes, larger * item_bytes);
    if (moved == NULL) {
        return -1;
    }
    *(void **)array = moved;
    *capacity = larger;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* The collector's lists. */

/* Find the lists without asking where the interpreter keeps them: what was tracked last ends the youngest, and the others
   lie behind it.  Return -1 where this interpreter does it otherwise. */
static int
find_generations(Generation **young)
{
    PyObject *probe = PyList_New(0);
    if (probe == NULL) {
        return -1;
    }
    Generation *found = (Generation *)NEXT(LINK_OF(probe));
    Py_DECREF(probe);
    for (int i = 0; i < N_GENERATIONS; i++) {
        Link *head = &found[i].head;
        if (head->next == 0 || head->prev == 0 || PREV(NEXT(head)) != head || NEXT(PREV(head)) != head) {
            PyErr_SetString(PyExc_RuntimeError, "the collector's lists are not where they are expected");
            return -1;
        }
    }
    *young = found;
    return 0;
}

/* Return the list of what gc.freeze put aside, which lies behind the others and a pointer to the youngest; NULL where it
   does not, or where it is empty. */
static Generation *
find_frozen(Generation *young)
{
    Generation *frozen = (Generation *)((void **)(young + N_GENERATIONS) + 1);
    Link *head = &frozen->head;
    if (((void **)(young + N_GENERATIONS))[0] != (void *)young || head->next == 0 || head->prev == 0 ||
        PREV(NEXT(head)) != head || NEXT(PREV(head)) != head || NEXT(head) == head) {
        return NULL;
    }
    return frozen;
}

typedef struct {
    PyObject **objects;
    size_t n, room;
} Objects;

static int
put_object(Objects *to, PyObject *object)
{
    if (make_room(&to->objects, to->n, &to->room, sizeof(PyObject *)) < 0) {
        return -1;
    }
    to->objects[to->n++] = object;
    return 0;
}

static void
reverse(PyObject **objects, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        PyObject *object = objects[i];
        objects[i] = objects[n - 1 - i];
        objects[n - 1 - i] = object;
    }
}

typedef int (*choice)(const void *arg, PyObject *object);

#define MARKS 96

/* Some tracked objects that were met, spread over the walk. */
typedef struct {
    Link *links[MARKS];
    size_t n, next, step; /* the numbers of the next object that is marked, and from one to the next */
} Marks;

static void
mark(Marks *marks, PyObject *object)
{
    if (!PyObject_IS_GC(object) || !PyObject_GC_IsTracked(object)) {
        return; /* the next one, then */
    }
    if (marks->n == MARKS) {
        for (size_t i = 0; i < MARKS / 2; i++) {
            marks->links[i] = marks->links[2 * i];
        }
        marks->n = MARKS / 2;
        marks->step *= 2;
    }
    marks->links[marks->n++] = LINK_OF(object);
    marks->next += marks->step;
}

/* A stretch of the collector's lists, from a head or a marked object to the next of either. */
typedef struct {
    Link *begin, *at;
    size_t end; /* number of the stretch that begins where it ends */
    Objects found;
} Span;

typedef struct {
    Span spans[N_GENERATIONS + MARKS];
    size_t n;
    uint8_t sieve[1 << 12]; /* by address: whether a stretch may begin there */
} Spans;

static inline uint8_t *
sieve_at(const Spans *spans, const Link *link)
{
    return (uint8_t *)&spans->sieve[(uintptr_t)link >> 4 & (sizeof spans->sieve - 1)];
}

/* Return the number of the stretch that begins at a link, that of all stretches if none does. */
static inline size_t
span_at(const Spans *spans, const Link *link)
{
    size_t i = UNLIKELY(*sieve_at(spans, link)) ? 0 : spans->n;
    while (i < spans->n && spans->spans[i].begin != link) {
        i++;
    }
    return i;
}

static void
add_span(Spans *spans, Link *begin)
{
    spans->spans[spans->n++] = (Span){.begin = begin, .at = NEXT(begin)};
    *sieve_at(spans, begin) = 1;
}

/* Add the objects of all generations that are not among some, in order.  A list that is read from one end waits for
   memory at each step; so it is read from where the marked objects are, too, all at a time.  Marked objects in other
   lists than these, such as that of frozen objects, do no harm: no stretch leads there from a head. */
static int
find_others(Generation *generations, const Marks *marks, const Set *known, Objects *found)
{
    Spans spans = {.n = 0};
    for (int i = 0; i < N_GENERATIONS; i++) {
        add_span(&spans, &generations[i].head);
    }
    for (size_t i = 0; i < marks->n; i++) {
        add_span(&spans, marks->links[i]);
    }
    Span *open[N_GENERATIONS + MARKS];
    size_t n_open = 0;
    int failed = 0;
    for (size_t i = 0; i < spans.n; i++) {
        open[n_open++] = &spans.spans[i];
    }
    while (n_open && !failed) {
        for (size_t i = 0; i < n_open && !failed; i++) {
            Link *at = open[i]->at;
            size_t next = span_at(&spans, at);
            if (UNLIKELY(next < spans.n)) {
                open[i]->end = next;
                open[i--] = open[--n_open];
                continue;
            }
            if (UNLIKELY(!set_has(known, (uintptr_t)OBJECT_OF(at)))) {
                failed = put_object(&open[i]->found, OBJECT_OF(at)) < 0;
            }
            open[i]->at = NEXT(at);
            PREFETCH(open[i]->at);
        }
    }
    for (size_t head = 0; head < N_GENERATIONS && !failed; head++) {
        size_t at = head;
        do {
            Objects *some = &spans.spans[at].found;
            for (size_t i = 0; i < some->n && !failed; i++) {
                failed = put_object(found, some->objects[i]) < 0;
            }
            at = spans.spans[at].end;
        } while (at >= N_GENERATIONS && !failed);
    }
    for (size_t i = 0; i < spans.n; i++) {
        FREE_ROOM(spans.spans[i].found.objects, spans.spans[i].found.room);
    }
    return failed ? -1 : 0;
}

/* Add the objects of a generation that are chosen, in order.  It is read from both ends, so that two reads of memory are
   under way at a time. */
static inline int
choose(Generation *generation, choice is_chosen, const void *arg, Objects *found)
{
    Objects tail = {0};
    Link *head = &generation->head, *front = NEXT(head), *back = PREV(head);
    int is_over = front == head, failed = 0;
    while (!is_over && !failed) {
        Link *next = NEXT(front), *previous = PREV(back);
        if (is_chosen(arg, OBJECT_OF(front))) {
            failed = put_object(found, OBJECT_OF(front)) < 0;
        }
        is_over = front == back;
        if (!is_over && is_chosen(arg, OBJECT_OF(back))) {
            failed |= put_object(&tail, OBJECT_OF(back)) < 0;
        }
        is_over |= next == back;
        front = next;
        back = previous;
    }
    reverse(tail.objects, tail.n);
    for (size_t i = 0; i < tail.n && !failed; i++) {
        failed = put_object(found, tail.objects[i]) < 0;
    }
    FREE_ROOM(tail.objects, tail.room);
    return failed ? -1 : 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Kinds: what is done with the objects of a type. */

enum { NOTHING, SMALL, TEXT, MODULE, CLASS, DICT, MANY, ARRAY, PLAIN };
enum { SIZE_PLAIN, SIZE_LIST, SIZE_DICT, SIZE_SET, SIZE_TEXT, SIZE_INT, SIZE_CODE, SIZE_ASKED };

typedef struct {
    PyTypeObject *type;
    uint64_t hash;
    PyObject *sizeof_method; /* of a class that the type refers to */
    Py_ssize_t basic, item, header;
    uint32_t number; /* among the kinds of a walk */
    uint8_t treatment, size_by;
    uint8_t is_merged, is_container, has_attributes, is_followed, is_measured, is_left_out, is_deque;
} Kind;

typedef struct {
    PyTypeObject *deque, *ordered_dict, *default_dict, *array;
    PyObject *measured; /* tuple of base types */
    PyObject *left_out; /* tuple of base types that own nothing, for sizes */
    PyObject *trusted; /* tuple of names of packages whose __sizeof__ may be asked */
    int enters_classes;
    PyObject *leaves; /* names of packages whose classes are put off, NULL for none */
} Types;

static uint64_t
hash_points(uint64_t hash, PyObject *text)
{
    if (!IS_READY(text)) {
        return hash;
    }
    int width = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t i = 0; i < length; i++) {
        hash = (hash ^ PyUnicode_READ(width, data, i)) * 0x100000001B3ull;
    }
    return hash;
}

static uint64_t
hash_bytes(uint64_t hash, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        uint32_t point = *at++;
        int more = point >= 0xF0 ? 3 : point >= 0xE0 ? 2 : point >= 0xC0 ? 1 : 0;
        if (more) {
            point &= 0x3Fu >> more;
        }
        while (more-- && *at) {
            point = point << 6 | (*at++ & 0x3Fu);
        }
        hash = (hash ^ point) * 0x100000001B3ull;
    }
    return hash;
}

static PyObject *
module_of_class(PyTypeObject *type)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (type->tp_dict && PyDict_Next(type->tp_dict, &at, &key, &value)) {
        if (PyUnicode_CheckExact(key) && PyUnicode_CompareWithASCIIString(key, "__module__") == 0) {
            return PyUnicode_CheckExact(value) && PyUnicode_CompareWithASCIIString(value, "builtins") ? value : NULL;
        }
    }
    return NULL;
}

/* Of the name of a module, the characters of the package. */
static Py_ssize_t
length_of_top(PyObject *name)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(name), at = 0;
    while (at < length && PyUnicode_READ_CHAR(name, at) != '.') {
        at++;
    }
    return at;
}

#define LONGEST_NAME 1000 /* typeinfo.LONGEST_NAME */
#define HASH_START 0xCBF29CE484222325ull

static uint64_t
hash_name(PyTypeObject *type)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        return hash_bytes(HASH_START, strncmp(type->tp_name, "builtins.", 9) ? type->tp_name : type->tp_name + 9);
    }
    PyObject *module = module_of_class(type);
    uint64_t hash = HASH_START;
    if (module != NULL) {
        hash = (hash_points(hash, module) ^ '.') * 0x100000001B3ull;
    }
    return hash_points(hash, ((PyHeapTypeObject *)type)->ht_qualname);
}

/* A name as a plain string of bounded length, as typeinfo.plain_text makes it; a new reference. */
static PyObject *
cut_name(PyObject *name)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(name);
    return PyUnicode_Substring(name, 0, length < LONGEST_NAME ? length : LONGEST_NAME);
}

/* The name that hash_name hashes, a plain string: its class may be the program's.  A new reference. */
static PyObject *
name_of(PyTypeObject *type)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        return PyUnicode_FromString(strncmp(type->tp_name, "builtins.", 9) ? type->tp_name : type->tp_name + 9);
    }
    PyObject *module = module_of_class(type), *name = cut_name(((PyHeapTypeObject *)type)->ht_qualname);
    if (module == NULL || name == NULL) {
        return name;
    }
    module = cut_name(module);
    PyObject *whole = module == NULL ? NULL : PyUnicode_FromFormat("%U.%U", module, name);
    Py_XDECREF(module);
    Py_DECREF(name);
    return whole;
}

static int
is_derived(PyTypeObject *type, PyTypeObject *base)
{
    PyObject *mro = type->tp_mro;
    if (mro == NULL) {
        return type == base;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
        if (PyTuple_GET_ITEM(mro, i) == (PyObject *)base) {
            return 1;
        }
    }
    return 0;
}

static int
is_derived_of_any(PyTypeObject *type, PyObject *bases)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); i++) {
        if (is_derived(type, (PyTypeObject *)PyTuple_GET_ITEM(bases, i))) {
            return 1;
        }
    }
    return 0;
}

static int
treatment_of(const Types *types, PyTypeObject *type)
{
    if (type == Py_TYPE(Py_None) || type == &PyBool_Type || type == Py_TYPE(Py_Ellipsis) ||
        type == Py_TYPE(Py_NotImplemented)) {
        return NOTHING;
    }
    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyComplex_Type || type == &PyCode_Type) {
        return SMALL;
    }
    if (type == &PyUnicode_Type || type == &PyBytes_Type) {
        return TEXT;
    }
    if (is_derived(type, &PyModule_Type)) {
        return types->enters_classes ? MODULE : NOTHING;
    }
    if (is_derived(type, &PyType_Type)) {
        return types->enters_classes ? CLASS : NOTHING;
    }
    if (is_derived(type, &PyDict_Type)) {
        return DICT;
    }
    if (is_derived(type, &PyList_Type) || is_derived(type, &PyTuple_Type) || is_derived(type, &PySet_Type) ||
        is_derived(type, &PyFrozenSet_Type) || is_derived(type, types->deque)) {
        return MANY;
    }
    return types->array != NULL && is_derived(type, types->array) ? ARRAY : PLAIN;
}

static int
is_trusted(const Types *types, const char *name)
{
    size_t length = strcspn(name, ".");
    if (name[length] == '\0') {
        return 1; /* of the builtins */
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types->trusted); i++) {
        Py_ssize_t size;
        const char *trusted = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(types->trusted, i), &size);
        if (trusted != NULL && (size_t)size == length && memcmp(trusted, name, length) == 0) {
            return 1;
        }
    }
    return 0;
}

static PyObject *
own_sizeof(PyTypeObject *type)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type); /* of the builtins it is not in tp_dict */
    Py_XDECREF(dict); /* the type holds it */
#else
    PyObject *dict = type->tp_dict;
#endif
    while (dict && PyDict_Next(dict, &at, &key, &value)) {
        if (PyUnicode_CheckExact(key) && PyUnicode_CompareWithASCIIString(key, "__sizeof__") == 0) {
            return value;
        }
    }
    return NULL;
}

/* Find the nearest __sizeof__ in C, as typeinfo.c_sizeof does, that the interpreter or a package trusted with it has. */
static void
set_size(const Types *types, Kind *kind)
{
    PyObject *mro = kind->type->tp_mro;
    kind->size_by = SIZE_PLAIN;
    for (Py_ssize_t i = 0; mro != NULL && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        PyObject *method = PyType_Check((PyObject *)base) ? own_sizeof(base) : NULL;
        if (method == NULL || !Py_IS_TYPE(method, &PyMethodDescr_Type)) {
            continue;
        }
        PyTypeObject *owner = PyDescr_TYPE(method);
        if (owner == &PyBaseObject_Type || !is_trusted(types, owner->tp_name)) {
            return;
        }
        kind->size_by = owner == &PyList_Type ? SIZE_LIST
                        : owner == &PyDict_Type ? SIZE_DICT
                        : owner == &PySet_Type || owner == &PyFrozenSet_Type ? SIZE_SET
                        : kind->type == &PyUnicode_Type ? SIZE_TEXT
                        : kind->type == &PyLong_Type ? SIZE_INT
                        : kind->type == &PyCode_Type ? SIZE_CODE
                        : SIZE_ASKED;
        kind->sizeof_method = method;
        return;
    }
}

static int
is_ours(PyTypeObject *type)
{
    PyObject *module = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? module_of_class(type) : NULL;
    if (module == NULL || !IS_READY(module)) {
        return 0;
    }
    static const char ours[] = "phaseprof", studied[] = "phaseprof.demo";
    Py_ssize_t length = PyUnicode_GET_LENGTH(module);
    if (!PyUnicode_IS_ASCII(module) || length < 9) {
        return 0;
    }
    const char *text = (const char *)PyUnicode_1BYTE_DATA(module);
    return memcmp(text, ours, 9) == 0 && (length == 9 || text[9] == '.') &&
           !(length >= 14 && memcmp(text, studied, 14) == 0 && (length == 14 || text[14] == '.'));
}

static void
make_kind(const Types *types, Kind *kind, PyTypeObject *type)
{
    memset(kind, 0, sizeof *kind);
    kind->type = type;
    kind->hash = hash_name(type);
    kind->basic = type->tp_basicsize;
    kind->item = type->tp_itemsize;
    kind->treatment = (uint8_t)treatment_of(types, type);
    kind->is_followed = PyType_IS_GC(type) && type->tp_traverse != NULL;
    kind->is_merged = kind->treatment == CLASS || type == &PyCFunction_Type || type->tp_descr_get != NULL;
    /* A class that a class has in a registry is no link of a chain. */
    kind->is_container = kind->treatment == CLASS || type == &PyList_Type || type == &PyTuple_Type || type == &PySet_Type ||
                         type == &PyFrozenSet_Type || type == types->deque || type == &PyDict_Type ||
                         type == types->ordered_dict || type == types->default_dict;
    kind->has_attributes = kind->treatment != MODULE && kind->treatment != CLASS &&
                           ((type->tp_flags & HAS_MANAGED_DICT) || type->tp_dictoffset != 0);
    kind->is_measured = is_derived_of_any(type, types->measured) != 0;
    kind->is_deque = type == types->deque;
    kind->is_left_out = is_derived_of_any(type, types->left_out) || is_ours(type);
    kind->header = (PyType_IS_GC(type) ? (Py_ssize_t)sizeof(Link) : 0) +
                   (type->tp_flags & (HAS_MANAGED_DICT | HAS_MANAGED_WEAKREF) ? 2 * (Py_ssize_t)sizeof(void *) : 0);
    set_size(types, kind);
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* A walk. */

#define RING 32
#define AHEAD 16 /* of what is handled now, the objects that are fetched */
#define PLACING_RING 8
#define NODES_IN_BLOCK 16384
#define PLACES_AT_MOST (1u << 18)
#define LONGEST_PERIOD 4
#define LAST_ORDINAL 32
#define SHORT 256
#define ATTRIBUTES_AT_MOST 1000
#define CLOCK_EVERY 1024
#define MARK_EVERY 1024
#define NONE UINT32_MAX

typedef struct {
    PyObject *object;
    uint64_t position;
    uint32_t row, node;
} Edge;

typedef struct {
    Edge edge;
    const Kind *kind;
    uint64_t place;
} Placing; /* an object that was met for the first time, whose row is being fetched */

typedef struct Block {
    struct Block *next;
    Zeroed memory;
    PyObject *objects[NODES_IN_BLOCK];
    uint32_t rows[NODES_IN_BLOCK];
    uint32_t parents[]; /* where paths are wanted */
} Block;

typedef struct {
    uint64_t place, position, hash;
    uint32_t parent, kind; /* kind: NONE for a root */
} Row;

typedef struct {
    int64_t n_objects, own_bytes;
} Sum; /* of a row, apart from it: these are written for each object */

typedef struct {
    int64_t bytes;
    uint32_t node; /* the one with most own bytes, NONE where there is none yet */
    uint32_t wanted; /* 1 + the number of the wanted place that the row is, or lies below where members are listed */
} Example;

typedef struct {
    uint64_t n_met;
    size_t n_listed;
    uint32_t mask; /* listed are objects whose address has no such bits when it is mixed */
} Sample; /* of a wanted place, where members are listed */

typedef struct {
    PyObject *object;
    Py_ssize_t extra;
    uint32_t row, node;
} Asked; /* an object whose own bytes are asked for when all were met */

typedef struct {
    PyDictObject *dict;
    PyObject **values;
    PyObject *frame; /* a generator's own */
    char *keys;
    Py_ssize_t n, bytes;
    int is_shown_by_dict;
} Attributes;

typedef struct {
    Types types;
    int is_for_sizes, keeps_paths, keeps_sizes, failed, is_partial;
    Set seen;
    Edge ring[RING];
    unsigned ring_at, ring_used;
    Placing placing[PLACING_RING];
    unsigned placing_at, placing_used;
    Block *spare;
    Block *first, *last; /* the queue: nodes not yet expanded; all nodes where paths are wanted */
    Block **blocks;
    size_t n_blocks, blocks_room;
    size_t taken, given; /* numbers of nodes expanded and queued */
    Pool kind_pool;
    Kind **kinds;
    size_t n_kinds, kinds_room;
    Map kind_of;
    PyTypeObject *last_type;
    Kind *last_kind;
    Row *rows;
    Sum *sums;
    Example *examples; /* where paths or members are wanted */
    size_t n_rows, rows_room, sums_room, examples_room;
    Map row_of;
    Marks marks;
    uint64_t memo_position;
    uint32_t memo_parent, memo_kind, memo_row;
    Asked *asked;
    size_t n_asked, asked_room;
    Asked *measured;
    size_t n_measured, measured_room;
    Edge *put_off; /* classes of libraries, and from where they were reached first */
    size_t n_put_off, put_off_room;
    Objects foreign; /* arrays that look at what is no array */
    uintptr_t *sizes; /* address and bytes in turn */
    size_t n_sizes, sizes_room;
    uint64_t n_met;
    double end; /* of the time allowed, 0 for no limit */
    clockid_t clock;
    Py_ssize_t widest; /* own bytes of the largest container that is looked into; -1: any */
    const Set *known; /* what earlier parts of a sizing have met, NULL for none */
    Map wanted;
    Objects members; /* what lies at the wanted places and below */
    uint32_t *member_of; /* of each, the number of the wanted place */
    size_t member_room, members_at_most; /* of one place; 0: none is listed */
    uint32_t outside; /* the row of what C alone holds, plus one: a tuple there may be one that is being built */
    Sample *samples; /* of each wanted place */
    size_t n_samples, samples_room;
    /* of the object that is being expanded */
    uint32_t row, node, ordinal, is_many;
    Attributes held;
    Py_ssize_t cursor;
    PyObject *apart[2];
} Walk;

static void
block_free(Block *block)
{
    Zeroed memory = block->memory; /* the block lies in it */
    zeroed_free(&memory);
}

static double
read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
walk_free(Walk *walk)
{
    set_free(&walk->seen);
    while (walk->first != NULL) {
        Block *next = walk->first->next;
        block_free(walk->first);
        walk->first = next;
    }
    if (walk->spare != NULL) {
        block_free(walk->spare);
    }
    pool_free(&walk->kind_pool);
    FREE_ROOM(walk->kinds, walk->kinds_room);
    FREE_ROOM(walk->blocks, walk->blocks_room);
    map_free(&walk->kind_of);
    FREE_ROOM(walk->rows, walk->rows_room);
    FREE_ROOM(walk->sums, walk->sums_room);
    FREE_ROOM(walk->examples, walk->examples_room);
    map_free(&walk->row_of);
    FREE_ROOM(walk->asked, walk->asked_room);
    FREE_ROOM(walk->measured, walk->measured_room);
    FREE_ROOM(walk->put_off, walk->put_off_room);
    FREE_ROOM(walk->foreign.objects, walk->foreign.room);
    FREE_ROOM(walk->sizes, walk->sizes_room);
    map_free(&walk->wanted);
    FREE_ROOM(walk->members.objects, walk->members.room);
    FREE_ROOM(walk->member_of, walk->member_room);
    FREE_ROOM(walk->samples, walk->samples_room);
    free(walk);
}

static Walk *
walk_make(size_t n_places)
{
    Walk *walk = calloc(1, sizeof(Walk));
    size_t capacity = 1 << 12;
    while (capacity < 2 * n_places + 2) {
        capacity *= 2;
    }
    if (walk == NULL || set_make(&walk->seen) < 0 || map_make(&walk->kind_of, 1 << 10) < 0 ||
        map_make(&walk->row_of, capacity) < 0 || map_make(&walk->wanted, 1 << 6) < 0) {
        if (walk != NULL) {
            walk_free(walk);
        }
        PyErr_NoMemory();
        return NULL;
    }
    walk->memo_parent = NONE;
    walk->marks.step = MARK_EVERY;
    walk->widest = -1;
    walk->clock = CLOCK_MONOTONIC;
    return walk;
}

static Kind *
kind_at(Walk *walk, PyTypeObject *type)
{
    if (LIKELY(type == walk->last_type)) {
        return walk->last_kind;
    }
    const Entry *entry = map_find(&walk->kind_of, (uint64_t)(uintptr_t)type);
    Kind *kind;
    if (LIKELY(entry->key != 0)) {
        kind = walk->kinds[entry->value];
    }
    else {
        kind = pool_get(&walk->kind_pool, sizeof(Kind));
        if (kind == NULL || make_room(&walk->kinds, walk->n_kinds, &walk->kinds_room, sizeof(Kind *)) < 0 ||
            map_put(&walk->kind_of, (uint64_t)(uintptr_t)type, (uint32_t)walk->n_kinds) < 0) {
            walk->failed = 1;
            return NULL;
        }
        make_kind(&walk->types, kind, type);
        kind->number = (uint32_t)walk->n_kinds;
        walk->kinds[walk->n_kinds++] = kind;
    }
    walk->last_type = type;
    walk->last_kind = kind;
    return kind;
}

static inline uint64_t
mixed(uint64_t value)
{
    value = (value ^ value >> 29) * 0x9E3779B97F4A7C15ull;
    return value ^ value >> 32;
}

/* Return which wanted place a new row is; where members are listed, what lies below one belongs to the nearest. */
static uint32_t
wanted_number(const Walk *walk, uint64_t place, uint32_t parent)
{
    const Entry *entry = map_find(&walk->wanted, place);
    if (entry->key) {
        return entry->value;
    }
    return walk->members_at_most && parent != NONE ? walk->examples[parent].wanted : 0;
}

/* Whether an object is among those of its place that are listed, of which its address decides: no rhythm does. */
static int
is_sampled(const Sample *sample, const PyObject *object)
{
    return !(mixed((uint64_t)(uintptr_t)object >> 3) & sample->mask);
}

/* List about half as many objects of a place from here on, also of those that were met before. */
static void
thin_out(Walk *walk, uint32_t number)
{
    Sample *sample = &walk->samples[number];
    sample->mask = 2 * sample->mask + 1;
    size_t n = 0;
    for (size_t i = 0; i < walk->members.n; i++) {
        if (walk->member_of[i] == number && !is_sampled(sample, walk->members.objects[i])) {
            sample->n_listed--;
            continue;
        }
        walk->member_of[n] = walk->member_of[i];
        walk->members.objects[n++] = walk->members.objects[i];
    }
    walk->members.n = n;
}

static void
list_member(Walk *walk, PyObject *object, uint32_t row)
{
    uint32_t number = walk->examples[row].wanted;
    if (!number) {
        return;
    }
    Sample *sample = &walk->samples[number - 1];
    sample->n_met++;
    if (!is_sampled(sample, object)) {
        return;
    }
    if (make_room(&walk->member_of, walk->members.n, &walk->member_room, sizeof(uint32_t)) < 0 ||
        put_object(&walk->members, object) < 0) {
        walk->failed = 1;
        return;
    }
    walk->member_of[walk->members.n - 1] = number - 1;
    if (++sample->n_listed > walk->members_at_most && sample->mask < UINT32_MAX) {
        thin_out(walk, number - 1);
    }
}

static uint32_t
add_row(Walk *walk, uint64_t place, uint32_t parent, uint64_t position, uint64_t hash, uint32_t kind)
{
    if (make_room(&walk->rows, walk->n_rows, &walk->rows_room, sizeof(Row)) < 0 ||
        make_room(&walk->sums, walk->n_rows, &walk->sums_room, sizeof(Sum)) < 0 ||
        ((walk->keeps_paths || walk->members_at_most) &&
         make_room(&walk->examples, walk->n_rows, &walk->examples_room, sizeof(Example)) < 0)) {
        walk->failed = 1;
        return NONE;
    }
    walk->rows[walk->n_rows] = (Row){place, position, hash, parent, kind};
    walk->sums[walk->n_rows] = (Sum){0, 0};
    if (walk->keeps_paths || walk->members_at_most) {
        walk->examples[walk->n_rows] = (Example){-1, NONE, wanted_number(walk, place, parent)};
    }
    return (uint32_t)walk->n_rows++;
}

static uint32_t
root_row(Walk *walk, uint64_t place)
{
    const Entry *entry = map_find(&walk->row_of, place);
    if (entry->key) {
        return entry->value;
    }
    uint32_t row = add_row(walk, place, NONE, 0, 0, NONE);
    if (row == NONE || map_put(&walk->row_of, place, row) < 0) {
        walk->failed = 1;
        return NONE;
    }
    return row;
}

static int
is_like(const Walk *walk, uint32_t row, uint64_t position, uint64_t hash)
{
    const Row *found = &walk->rows[row];
    return found->kind != NONE && found->hash == hash && found->position == position;
}

/* Return the row above that a chain goes on from, NONE if there is none. */
static uint32_t
chain_row(const Walk *walk, uint32_t parent, uint64_t position, const Kind *kind)
{
    uint32_t above = parent;
    for (int period = 1; period <= LONGEST_PERIOD; period++) {
        if (walk->rows[above].kind == NONE) {
            return NONE;
        }
        if (is_like(walk, above, position, kind->hash)) {
            uint32_t again = above;
            for (int step = 0; kind->is_container && step < period && again != NONE; step++) {
                again = walk->rows[again].parent;
            }
            if (again != NONE && is_like(walk, again, position, kind->hash)) {
                return above;
            }
        }
        above = walk->rows[above].parent;
    }
    return NONE;
}

static inline uint64_t
child_place(const Walk *walk, uint32_t parent, uint64_t position, const Kind *kind)
{
    return mixed(walk->rows[parent].place * 0xC2B2AE3D27D4EB4Full + position * 0x165667B19E3779F9ull + kind->hash);
}

static uint32_t
child_row(Walk *walk, uint64_t place, uint32_t parent, uint64_t position, const Kind *kind)
{
    if (parent == walk->memo_parent && position == walk->memo_position && kind->number == walk->memo_kind) {
        return walk->memo_row;
    }
    const Entry *entry = map_find(&walk->row_of, place);
    uint32_t row;
    if (entry->key) {
        row = entry->value;
    }
    else {
        row = chain_row(walk, parent, position, kind);
        if (row == NONE) {
            row = walk->n_rows < PLACES_AT_MOST ? add_row(walk, place, parent, position, kind->hash, kind->number)
                                                : parent;
        }
        if (row == NONE || map_put(&walk->row_of, place, row) < 0) {
            walk->failed = 1;
            return NONE;
        }
    }
    walk->memo_parent = parent;
    walk->memo_position = position;
    walk->memo_kind = kind->number;
    walk->memo_row = row;
    return row;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Own bytes. */

static Py_ssize_t
text_bytes(PyObject *text)
{
#if PY_VERSION_HEX < 0x030C0000
    if (((PyASCIIObject *)text)->wstr != NULL) {
        return -1;
    }
#endif
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        return (Py_ssize_t)sizeof(PyASCIIObject) + PyUnicode_GET_LENGTH(text) + 1;
    }
    return -1;
}

static Py_ssize_t
int_bytes(PyObject *number)
{
#if PY_VERSION_HEX >= 0x030C0000
    Py_ssize_t n = (Py_ssize_t)(((PyLongObject *)number)->long_value.lv_tag >> 3);
    return (Py_ssize_t)offsetof(PyLongObject, long_value.ob_digit) + (n ? n : 1) * (Py_ssize_t)sizeof(digit);
#else
    Py_ssize_t n = Py_SIZE(number) < 0 ? -Py_SIZE(number) : Py_SIZE(number);
    Py_ssize_t least = PY_VERSION_HEX >= 0x030B0000 ? 1 : 0;
    return (Py_ssize_t)offsetof(PyLongObject, ob_digit) + (n > least ? n : least) * (Py_ssize_t)sizeof(digit);
#endif
}

/* Return an object's own bytes without its header, -1 where its type has to be asked. */
static inline Py_ssize_t
plain_bytes(const Kind *kind, PyObject *object)
{
    switch (kind->size_by) {
    case SIZE_PLAIN: {
        Py_ssize_t length = kind->item ? Py_SIZE(object) : 0;
        return kind->basic + (length > 0 ? length * kind->item : 0);
    }
    case SIZE_LIST:
        return kind->basic + ((PyListObject *)object)->allocated * (Py_ssize_t)sizeof(void *);
    case SIZE_DICT:
        return _PyDict_SizeOf((PyDictObject *)object);
    case SIZE_SET: {
        PySetObject *set = (PySetObject *)object;
        return kind->basic + (set->table == set->smalltable ? 0 : (set->mask + 1) * (Py_ssize_t)sizeof(setentry));
    }
    case SIZE_TEXT:
        return text_bytes(object);
    case SIZE_INT:
        return int_bytes(object);
    default:
        return -1;
    }
}

static void
put_bytes(Walk *walk, PyObject *object, Py_ssize_t bytes, uint32_t row, uint32_t node)
{
    walk->sums[row].own_bytes += bytes;
    if (UNLIKELY(walk->keeps_paths) && node != NONE) {
        Example *example = &walk->examples[row];
        if (example->wanted && bytes > example->bytes) {
            example->bytes = bytes;
            example->node = node;
        }
    }
    if (UNLIKELY(walk->keeps_sizes)) {
        if (make_room(&walk->sizes, walk->n_sizes + 1, &walk->sizes_room, sizeof(uintptr_t)) < 0) {
            walk->failed = 1;
            return;
        }
        walk->sizes[walk->n_sizes++] = (uintptr_t)object;
        walk->sizes[walk->n_sizes++] = (uintptr_t)bytes;
    }
}

/* Add an object's own bytes, and `extra`, to a row: at once, or when all objects were met.  `node` is NONE for what is
   part of another object. */
static inline void
count_bytes(Walk *walk, const Kind *kind, PyObject *object, Py_ssize_t extra, uint32_t row, uint32_t node)
{
    Py_ssize_t bytes = plain_bytes(kind, object);
    extra += kind->header;
    if (LIKELY(bytes >= 0)) {
        put_bytes(walk, object, bytes + extra, row, node);
        return;
    }
    if (make_room(&walk->asked, walk->n_asked, &walk->asked_room, sizeof(Asked)) < 0) {
        walk->failed = 1;
        return;
    }
    walk->asked[walk->n_asked++] = (Asked){object, extra, row, node};
}

/* Ask a type for an object's own bytes; its method in C makes a number, and nothing else. */
static Py_ssize_t
asked_bytes(const Kind *kind, PyObject *object)
{
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000
    if (kind->size_by == SIZE_CODE && ((PyCodeObject *)object)->co_extra == NULL) { /* by far the most of what is asked */
        return (kind->basic + Py_SIZE(object) * kind->item + 7) / 8 * 8;
    }
#endif
    PyMethodDef *def = ((PyMethodDescrObject *)kind->sizeof_method)->d_method;
    PyObject *answer = def->ml_flags == METH_NOARGS ? def->ml_meth(object, NULL)
                                                    : PyObject_CallOneArg(kind->sizeof_method, object);
    Py_ssize_t bytes = answer == NULL ? 0 : PyLong_AsSsize_t(answer);
    Py_XDECREF(answer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        bytes = 0;
    }
    return bytes;
}

/* Add the bytes of what was left until all objects were met. */
static void
ask_for_bytes(Walk *walk)
{
    for (size_t i = 0; i < walk->n_asked; i++) {
        Asked *asked = &walk->asked[i];
        if (i + AHEAD < walk->n_asked) {
            PyObject *ahead = asked[AHEAD].object;
            PREFETCH(ahead);
            PREFETCH(&((PyCodeObject *)ahead)->co_extra);
        }
        const Kind *kind = kind_at(walk, Py_TYPE(asked->object));
        put_bytes(walk, asked->object, asked_bytes(kind, asked->object) + asked->extra, asked->row, asked->node);
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* From an edge to a node. */

/* Keep a block that was worked through for what is queued next, or free it. */
static void
keep_block(Walk *walk, Block *block)
{
    if (walk->spare != NULL) {
        block_free(block);
        return;
    }
    block->next = NULL;
    walk->spare = block;
}

static Block *
new_block(Walk *walk)
{
    Block *block = walk->spare;
    if (block != NULL) {
        walk->spare = NULL;
        return block;
    }
    Zeroed memory;
    if (zeroed_make(&memory, sizeof(Block) + (walk->keeps_paths ? NODES_IN_BLOCK * sizeof(uint32_t) : 0)) < 0) {
        return NULL;
    }
    block = memory.at;
    block->memory = memory;
    return block;
}

static void
queue_node(Walk *walk, PyObject *object, uint32_t row, uint32_t parent)
{
    size_t at = walk->given % NODES_IN_BLOCK;
    if (at == 0) {
        Block *block = new_block(walk);
        if (block == NULL) {
            walk->failed = 1;
            return;
        }
        if (walk->keeps_paths &&
            make_room(&walk->blocks, walk->n_blocks, &walk->blocks_room, sizeof(Block *)) < 0) {
            block_free(block);
            walk->failed = 1;
            return;
        }
        if (walk->last != NULL) {
            walk->last->next = block;
        }
        else {
            walk->first = block;
        }
        walk->last = block;
        if (walk->keeps_paths) {
            walk->blocks[walk->n_blocks++] = block;
        }
    }
    walk->last->objects[at] = object;
    walk->last->rows[at] = row;
    if (walk->keeps_paths) {
        walk->last->parents[at] = parent;
    }
    walk->given++;
}

static int
is_inner_function(PyObject *function)
{
    static const char inner[] = "<locals>";
    PyObject *name = ((PyFunctionObject *)function)->func_qualname;
    if (name == NULL || !IS_READY(name)) {
        return 0;
    }
    int width = PyUnicode_KIND(name);
    const void *data = PyUnicode_DATA(name);
    Py_ssize_t length = PyUnicode_GET_LENGTH(name);
    for (Py_ssize_t i = 0; i + 8 <= length; i++) {
        Py_ssize_t k = 0;
        while (k < 8 && PyUnicode_READ(width, data, i + k) == (Py_UCS4)inner[k]) {
            k++;
        }
        if (k == 8) {
            return 1;
        }
    }
    return 0;
}

/* Give an object that was met for the first time its row, and queue it. */
static void
place_object(Walk *walk, const Placing *placing)
{
    const Edge *edge = &placing->edge;
    uint32_t row = child_row(walk, placing->place, edge->row, edge->position, placing->kind);
    if (LIKELY(row != NONE)) {
        walk->sums[row].n_objects++;
        /* Nobody but its builder may hold a tuple that is being built. */
        if (UNLIKELY(walk->members_at_most) && !(edge->row + 1 == walk->outside && PyTuple_CheckExact(edge->object))) {
            list_member(walk, edge->object, row);
        }
        queue_node(walk, edge->object, row, edge->node);
    }
}

static inline void
place_soon(Walk *walk, const Edge *edge, const Kind *kind)
{
    uint64_t position = kind->is_merged ? 0 : edge->position;
    uint64_t place = child_place(walk, edge->row, position, kind);
    PREFETCH(map_slot(&walk->row_of, place));
    Placing *placing = &walk->placing[walk->placing_at];
    if (walk->placing_used == PLACING_RING) {
        place_object(walk, placing);
    }
    else {
        walk->placing_used++;
    }
    *placing = (Placing){{edge->object, position, edge->row, edge->node}, kind, place};
    walk->placing_at = (walk->placing_at + 1) % PLACING_RING;
}

static int
is_of_library(const Walk *walk, PyTypeObject *type)
{
    PyObject *module = module_of_class(type);
    if (module == NULL || !IS_READY(module)) {
        return 1;
    }
    PyObject *top = PyUnicode_Substring(module, 0, length_of_top(module));
    int is_leaf = top == NULL ? -1 : PySet_Contains(walk->types.leaves, top);
    Py_XDECREF(top);
    if (is_leaf < 0) {
        PyErr_Clear();
    }
    return is_leaf > 0;
}

/* Say whether an object is none of those that a walk by place is about. */
static inline int
has_no_place(const Kind *kind, PyObject *object)
{
    return kind->treatment == NOTHING ||
           (kind->treatment == CLASS && !(((PyTypeObject *)object)->tp_flags & Py_TPFLAGS_HEAPTYPE));
}

/* Put off what the program shares with libraries; return whether that was done. */
static int
put_off(Walk *walk, const Edge *edge)
{
    if (!is_of_library(walk, (PyTypeObject *)edge->object)) {
        return 0;
    }
    if (make_room(&walk->put_off, walk->n_put_off, &walk->put_off_room, sizeof(Edge)) < 0) {
        walk->failed = 1;
        return 1;
    }
    walk->put_off[walk->n_put_off++] = *edge;
    return 1;
}

/* Say whether an object is none of those that a walk for sizes is about. */
static int
has_no_size(const Walk *walk, const Kind *kind, PyObject *object)
{
    return kind->is_left_out || (kind->type == &PyFunction_Type && !is_inner_function(object)) ||
           (walk->known != NULL && set_has(walk->known, (uintptr_t)object));
}

/* Say whether an object's bytes count with what holds it. */
static inline int
is_part_of_holder(const Walk *walk, const Kind *kind, PyObject *object)
{
    if (walk->is_for_sizes) {
        return !kind->is_followed && kind->treatment != ARRAY && !kind->is_measured;
    }
    return kind->treatment == SMALL || (kind->treatment == TEXT && (kind->type == &PyBytes_Type
                                                                            ? PyBytes_GET_SIZE(object)
                                                                            : PyUnicode_GET_LENGTH(object)) < SHORT);
}

/* Ask the clock at some of the steps that are counted: of the objects that were met, and of those gone through. */
static inline int
is_time_over(Walk *walk, uint64_t step)
{
    if (step % CLOCK_EVERY == 0 && walk->end != 0 && read_clock(walk->clock) > walk->end) {
        walk->is_partial = 1;
    }
    return walk->is_partial;
}

static void
meet(Walk *walk, const Edge *edge)
{
    PyObject *object = edge->object;
    Kind *kind = kind_at(walk, Py_TYPE(object));
    if (UNLIKELY(kind == NULL) || (walk->is_for_sizes && has_no_size(walk, kind, object))) {
        return;
    }
    int is_new = set_add(&walk->seen, (uintptr_t)object);
    if (is_new <= 0) {
        walk->failed |= is_new < 0;
        return;
    }
    if (!walk->is_for_sizes && has_no_place(kind, object)) {
        return;
    }
    if (kind->treatment == CLASS && walk->types.leaves != NULL && put_off(walk, edge)) {
        return;
    }
    (void)is_time_over(walk, ++walk->n_met); /* one container may hold millions */
    if (is_part_of_holder(walk, kind, object)) {
        if (UNLIKELY(walk->members_at_most)) {
            list_member(walk, object, edge->row);
        }
        count_bytes(walk, kind, object, 0, edge->row, NONE);
    }
    else if (walk->is_for_sizes) {
        queue_node(walk, object, edge->row, NONE);
    }
    else {
        place_soon(walk, edge, kind);
    }
}

/* Send an edge to an object that was not met before through the ring: by the time it comes out, the object is in the
   cache. */
static inline void
send(Walk *walk, PyObject *object, uint64_t position)
{
    if (object == NULL || object == Py_None || object == Py_True || object == Py_False ||
        set_has(&walk->seen, (uintptr_t)object)) {
        return;
    }
    PREFETCH(object);
    PREFETCH((char *)object + 40);
    Edge *edge = &walk->ring[walk->ring_at];
    if (walk->ring_used == RING) {
        meet(walk, edge);
    }
    else {
        walk->ring_used++;
    }
    *edge = (Edge){object, position, walk->row, walk->node};
    walk->ring_at = (walk->ring_at + 1) % RING;
}

static void
drain(Walk *walk)
{
    unsigned at = (walk->ring_at + RING - walk->ring_used) % RING;
    while (walk->ring_used) {
        meet(walk, &walk->ring[at]);
        at = (at + 1) % RING;
        walk->ring_used--;
    }
    at = (walk->placing_at + PLACING_RING - walk->placing_used) % PLACING_RING;
    while (walk->placing_used) {
        place_object(walk, &walk->placing[at]);
        at = (at + 1) % PLACING_RING;
        walk->placing_used--;
    }
}

static int
is_on_its_way(const Walk *walk, PyObject *object)
{
    for (unsigned i = 0; i < walk->ring_used; i++) {
        if (walk->ring[(walk->ring_at + RING - 1 - i) % RING].object == object) {
            return 1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* From a node to its edges. */

static inline uint64_t
position_of_name(PyObject *name)
{
    if (!PyUnicode_CheckExact(name)) {
        return 0;
    }
    Py_hash_t hash = ((PyASCIIObject *)name)->hash;
    return (uint64_t)(int64_t)(hash != -1 ? hash : PyObject_Hash(name));
}

/* Find an instance's attributes; makes no dict. */
static void
find_attributes(PyObject *object, PyTypeObject *type, Attributes *found)
{
    PyObject *dict = NULL;
#if PY_VERSION_HEX >= 0x030B0000
    if (type->tp_flags & HAS_MANAGED_DICT) {
        char *values = NULL;
#if PY_VERSION_HEX >= 0x030D0000
        /* The row goes on being shown beside a dict that was made of it. */
        dict = FIELD(PyObject *, object, -24);
        if ((type->tp_flags & HAS_INLINE_VALUES) && FIELD(uint8_t, object, sizeof(PyObject) + 3)) {
            values = (char *)object + sizeof(PyObject) + 8;
        }
#elif PY_VERSION_HEX >= 0x030C0000
        uintptr_t either = FIELD(uintptr_t, object, -24);
        if (either & 1) {
            values = (char *)(either + 1);
        }
        else {
            dict = (PyObject *)either;
        }
#else
        values = FIELD(char *, object, -32);
        dict = FIELD(PyObject *, object, -24);
#endif
        if (values != NULL) {
            char *keys = (char *)((PyHeapTypeObject *)type)->ht_cached_keys;
            Py_ssize_t room = FIELD(Py_ssize_t, keys, KEYS_USABLE) + FIELD(Py_ssize_t, keys, KEYS_ENTRIES);
            found->values = (PyObject **)values;
            found->n = FIELD(Py_ssize_t, keys, KEYS_ENTRIES);
            found->keys = keys + KEYS_INDICES + ((Py_ssize_t)1 << FIELD(uint8_t, keys, KEYS_LOG2_INDEX_BYTES));
#if PY_VERSION_HEX >= 0x030D0000
            found->bytes = (room + 7) / 8 * 8 + (room + 1) * 8;
#else
            Py_ssize_t prefix = FIELD(uint8_t, values, -1);
            found->bytes = prefix + 8 * (room > prefix - 9 ? room : prefix - 9);
#endif
        }
    }
    else
#endif
    {
        PyObject **at = _PyObject_GetDictPtr(object);
        dict = at == NULL ? NULL : *at;
    }
    if (dict != NULL && PyDict_Check(dict)) {
        found->dict = (PyDictObject *)dict;
        found->is_shown_by_dict = 1;
        found->bytes = 0; /* its size includes the row */
    }
}

/* The entries of a dict, one after the other.  PyDict_Next does the same at three times the cost, and cannot look ahead. */
typedef struct {
    PyObject *dict;
    Py_ssize_t next; /* for PyDict_Next */
    char *at, *end;
    Py_ssize_t step, key; /* bytes of an entry, and where in it the key is */
} Entries;

static int knows_entries; /* set when the module is made, if its own dicts are read rightly */

static inline Entries
entries_of(PyObject *dict)
{
    Entries entries = {.dict = dict};
#if PY_VERSION_HEX >= 0x030B0000
    char *keys = (char *)((PyDictObject *)dict)->ma_keys;
    if (LIKELY(knows_entries) && ((PyDictObject *)dict)->ma_values == NULL) {
        entries.step = FIELD(uint8_t, keys, KEYS_KIND) ? 16 : 24;
        entries.key = entries.step - 16;
        entries.at = keys + KEYS_INDICES + ((Py_ssize_t)1 << FIELD(uint8_t, keys, KEYS_LOG2_INDEX_BYTES));
        entries.end = entries.at + entries.step * FIELD(Py_ssize_t, keys, KEYS_ENTRIES);
    }
#endif
    return entries;
}

static inline int
next_entry(Entries *entries, PyObject **key, PyObject **value)
{
    if (UNLIKELY(entries->step == 0)) {
        return PyDict_Next(entries->dict, &entries->next, key, value);
    }
    while (entries->at < entries->end) {
        *key = FIELD(PyObject *, entries->at, entries->key);
        *value = FIELD(PyObject *, entries->at, entries->key + 8);
        entries->at += entries->step;
        if (*value != NULL) {
            return 1;
        }
    }
    return 0;
}

#define NAMES_AHEAD 6

/* Fetch a key that comes later, whose hash will be read. */
static PREFETCHING void
prefetch_name(const Entries *entries)
{
    const char *at = entries->at + NAMES_AHEAD * entries->step;
    if (at < entries->end) {
        const char *key = FIELD(const char *, at, entries->key);
        PREFETCH(key);
        PREFETCH(key + offsetof(PyASCIIObject, hash));
    }
}

/* Say whether entries are read as PyDict_Next reads them: of a dict of names, and of one that has other keys. */
static int
are_entries_known(void)
{
    PyObject *dict = PyDict_New(), *number = PyLong_FromLong(1000);
    int is_known = dict != NULL && number != NULL && PyDict_SetItemString(dict, "first", Py_None) == 0 &&
                   PyDict_SetItemString(dict, "second", number) == 0 && PyDict_DelItemString(dict, "first") == 0;
    knows_entries = 1;
    for (int i = 0; i < 2 && is_known; i++) {
        Entries entries = entries_of(dict);
        Py_ssize_t at = 0;
        PyObject *key, *value, *same_key, *same_value;
        while (is_known && PyDict_Next(dict, &at, &key, &value)) {
            is_known = next_entry(&entries, &same_key, &same_value) && same_key == key && same_value == value;
        }
        is_known = is_known && !next_entry(&entries, &same_key, &same_value) && PyDict_SetItem(dict, number, number) == 0;
    }
    Py_XDECREF(dict);
    Py_XDECREF(number);
    PyErr_Clear();
    return is_known;
}

static void
send_entries(Walk *walk, PyObject *dict, int is_named)
{
    Entries entries = entries_of(dict);
    PyObject *key, *value;
    while (!walk->is_partial && next_entry(&entries, &key, &value)) {
        if (is_named) {
            prefetch_name(&entries);
        }
        send(walk, key, 0);
        send(walk, value, is_named ? position_of_name(key) : 0);
    }
}

/* Say whether a dict holds the variables of code that was run, which put its own name or the builtins first. */
static int
is_namespace(PyObject *dict)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    return PyDict_Next(dict, &at, &key, &value) && PyUnicode_CheckExact(key) &&
           (PyUnicode_CompareWithASCIIString(key, "__name__") == 0 ||
            PyUnicode_CompareWithASCIIString(key, "__builtins__") == 0);
}

static void
send_attributes(Walk *walk, int treatment)
{
    Attributes *held = &walk->held;
    if (held->dict != NULL) {
        int is_named = PyDict_GET_SIZE(held->dict) <= ATTRIBUTES_AT_MOST || treatment == MODULE || treatment == CLASS;
        send_entries(walk, (PyObject *)held->dict, is_named);
    }
    for (Py_ssize_t i = 0; i < held->n && !held->is_shown_by_dict; i++) {
        if (held->values[i] != NULL) {
            PyObject *name = FIELD(PyObject *, held->keys, i * 16);
            send(walk, held->values[i], position_of_name(name));
        }
    }
}

static void
send_behind_array(Walk *walk, PyObject *array)
{
    PyObject *base = FIELD(PyObject *, array, ARRAY_BASE);
    if (base != NULL) {
        send(walk, base, 1);
    }
    else if (FIELD(int, FIELD(PyObject *, array, ARRAY_DTYPE), DTYPE_NUMBER) == NUMBER_OF_OBJECT) {
        PyObject **items = FIELD(PyObject **, array, ARRAY_DATA);
        Py_ssize_t n = 1;
        for (int i = 0; i < FIELD(int, array, ARRAY_N_DIMENSIONS); i++) {
            n *= FIELD(Py_ssize_t *, array, ARRAY_DIMENSIONS)[i];
        }
        for (Py_ssize_t i = 0; items != NULL && i < n && !walk->is_partial; i++) {
            send(walk, items[i], 0);
        }
    }
}

static int
visit(PyObject *object, void *arg)
{
    Walk *walk = arg;
    const Attributes *held = &walk->held;
    if (object == NULL || object == (PyObject *)held->dict || object == held->frame) {
        return 0;
    }
    if (held->n) {
        /* The row of values is shown in order, so the next one is nearly always the one. */
        while (walk->cursor < held->n && held->values[walk->cursor] == NULL) {
            walk->cursor++;
        }
        if (walk->cursor < held->n && held->values[walk->cursor] == object) {
            walk->cursor++;
            return 0;
        }
        for (Py_ssize_t i = 0; i < held->n; i++) {
            if (held->values[i] == object) {
                return 0;
            }
        }
    }
    if (walk->ordinal < LAST_ORDINAL) {
        walk->ordinal++;
    }
    send(walk, object, walk->is_many ? 0 : walk->ordinal);
    return walk->is_partial;
}

static int
visit_for_size(PyObject *object, void *arg)
{
    Walk *walk = arg;
    if (object != NULL && object != walk->apart[0] && object != walk->apart[1]) {
        send(walk, object, 0);
    }
    return walk->is_partial;
}

static PyObject **
locals_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX < 0x030B0000
    return frame->f_localsplus;
#else
    return &FIELD(PyObject *, FIELD(char *, frame, FRAME_DATA), LOCALS_IN_DATA);
#endif
}

typedef void (*local_action)(void *arg, PyObject *name, PyObject *value);

/* Call `action` with each local of a function that has a value, of the row of values that its frame has. */
static void
each_value(PyCodeObject *code, PyObject **values, local_action action, void *arg)
{
#if PY_VERSION_HEX < 0x030B0000
    PyObject *names[3] = {code->co_varnames, code->co_cellvars, code->co_freevars};
    for (int group = 0; group < 3; group++) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names[group]); i++, values++) {
            PyObject *value = group && *values != NULL && PyCell_Check(*values) ? PyCell_GET(*values) : *values;
            if (value != NULL) {
                action(arg, PyTuple_GET_ITEM(names[group], i), value);
            }
        }
    }
#else
    const char *kinds = PyBytes_AS_STRING(code->co_localspluskinds);
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        PyObject *value = (PyObject *)((uintptr_t)values[i] & ~LOCAL_FLAGS);
        if (value != NULL && (kinds[i] & (IS_CELL | IS_FREE)) && PyCell_Check(value)) {
            value = PyCell_GET(value);
        }
        if (value != NULL) {
            action(arg, PyTuple_GET_ITEM(code->co_localsplusnames, i), value);
        }
    }
#endif
}

/* Call `action` with each local that has a value; nothing is written to the frame. */
static void
each_local(PyFrameObject *frame, local_action action, void *arg)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    if (code->co_flags & CO_OPTIMIZED) {
        each_value(code, locals_of(frame), action, arg);
    }
    Py_DECREF(code);
}

static void
send_local(void *arg, PyObject *name, PyObject *value)
{
    send(arg, value, position_of_name(name));
}

static inline int
is_generator(PyTypeObject *type)
{
    return type == &PyGen_Type || type == &PyCoro_Type || type == &PyAsyncGen_Type;
}

/* Send what the locals of a generator or coroutine hold, by their names: which of them have values, and what lies on the
   stack above them, changes from one moment to the next.  Its frame object, where somebody asked for it, is part of it. */
static void
send_suspended(Walk *walk, PyObject *generator)
{
    PyGenObject *suspended = (PyGenObject *)generator;
#if PY_VERSION_HEX < 0x030B0000
    if (suspended->gi_frame != NULL) {
        each_local(suspended->gi_frame, send_local, walk);
    }
#elif PY_VERSION_HEX < 0x030E0000
    if (suspended->gi_frame_state >= IS_CLEARED) {
        return;
    }
    char *frame = (char *)suspended->gi_iframe;
    PyCodeObject *code = FIELD(PyCodeObject *, frame, CODE_IN_DATA);
    PyObject **values = &FIELD(PyObject *, frame, LOCALS_IN_DATA), *object = FIELD(PyObject *, frame, OBJECT_IN_DATA);
    each_value(code, values, send_local, walk);
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        if (values[i] != NULL && PyCell_Check(values[i])) {
            send(walk, values[i], 0);
        }
    }
    if (object != NULL && set_add(&walk->seen, (uintptr_t)object) < 0) {
        walk->failed = 1;
    }
    walk->held.frame = object;
    walk->held.values = values; /* met above: what is visited next leaves them out */
    walk->held.n = code->co_nlocalsplus;
#else
    (void)walk;
    (void)suspended;
#endif
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Running functions. */

static int
starts_with(PyObject *text, PyObject *prefix)
{
    return PyUnicode_Tailmatch(text, prefix, 0, PY_SSIZE_T_MAX, -1) == 1;
}

/* Say whether a frame runs code of ours: of the first folder, but not of the second. */
static int
is_own_frame(PyFrameObject *frame, PyObject *folders)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *name = code->co_filename;
    int is_own = starts_with(name, PyTuple_GET_ITEM(folders, 0)) && !starts_with(name, PyTuple_GET_ITEM(folders, 1));
    Py_DECREF(code);
    return is_own;
}

#define FAILED_AT_MOST 1000

typedef struct {
    Objects program, own; /* each thread's frames from the outermost on; what is put here is referred to */
} Frames;

static int
list_frames_of(Frames *frames, PyThreadState *thread, PyObject *folders)
{
    size_t first = frames->program.n;
    PyFrameObject *frame = PyThreadState_GetFrame(thread);
    while (frame != NULL) {
        Objects *objects = is_own_frame(frame, folders) ? &frames->own : &frames->program;
        if (put_object(objects, (PyObject *)frame) < 0) {
            Py_DECREF(frame);
            return -1;
        }
        frame = PyFrame_GetBack(frame);
    }
    reverse(frames->program.objects + first, frames->program.n - first);
    return 0;
}

/* List the frames that the interpreter keeps of an exception which ended the program. */
static int
list_frames_of_failure(Frames *frames, PyObject *folders)
{
    PyObject *traceback = PySys_GetObject("last_traceback");
    for (int n = 0; traceback != NULL && PyTraceBack_Check(traceback) && n < FAILED_AT_MOST; n++) {
        PyFrameObject *frame = ((PyTracebackObject *)traceback)->tb_frame;
        Objects *objects = is_own_frame(frame, folders) ? &frames->own : &frames->program;
        Py_INCREF(frame);
        if (put_object(objects, (PyObject *)frame) < 0) {
            Py_DECREF(frame);
            return -1;
        }
        traceback = (PyObject *)((PyTracebackObject *)traceback)->tb_next;
    }
    return 0;
}

/* List the frames of all threads, the oldest thread first, and those of a failure.  No collection may begin, since
   frames are made. */
static int
list_frames(Frames *frames, PyObject *folders)
{
    PyThreadState *newest = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    size_t n = 0, i = 0;
    for (PyThreadState *thread = newest; thread != NULL; thread = PyThreadState_Next(thread)) {
        n++;
    }
    PyThreadState **threads = malloc((n + 1) * sizeof(PyThreadState *));
    if (threads == NULL) {
        return -1;
    }
    for (PyThreadState *thread = newest; thread != NULL && i < n; thread = PyThreadState_Next(thread)) {
        threads[i++] = thread;
    }
    int failed = 0;
    while (i-- > 0 && !failed) {
        failed = list_frames_of(frames, threads[i], folders) < 0;
    }
    free(threads);
    return failed ? -1 : list_frames_of_failure(frames, folders);
}

static void
frames_free(Frames *frames)
{
    for (size_t i = 0; i < frames->program.n; i++) {
        Py_DECREF(frames->program.objects[i]);
    }
    for (size_t i = 0; i < frames->own.n; i++) {
        Py_DECREF(frames->own.objects[i]);
    }
    FREE_ROOM(frames->program.objects, frames->program.room);
    FREE_ROOM(frames->own.objects, frames->own.room);
}

static PyObject *
name_of_function(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
    return code->co_qualname;
#else
    return code->co_name;
#endif
}

/* Return where the last part of a path begins. */
static Py_ssize_t
base_of(PyObject *path)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(path), at = length;
    while (at > 0 && PyUnicode_READ_CHAR(path, at - 1) != '/') {
        at--;
    }
    return at;
}

/* Return the name of a running function as a root, `file.py function()`: a new reference. */
static PyObject *
name_of_frame(PyObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *path = code->co_filename;
    PyObject *file = PyUnicode_Substring(path, base_of(path), PyUnicode_GET_LENGTH(path));
    PyObject *name = file == NULL ? NULL : PyUnicode_FromFormat("%U %U()", file, name_of_function(code));
    Py_XDECREF(file);
    Py_DECREF(code);
    return name;
}

static inline int
can_be_followed(const Kind *kind, PyObject *object)
{
    return kind->is_followed && (kind->type->tp_is_gc == NULL || kind->type->tp_is_gc(object));
}

static void
note_measured(Walk *walk, PyObject *object, uint32_t row)
{
    if (make_room(&walk->measured, walk->n_measured, &walk->measured_room, sizeof(Asked)) < 0) {
        walk->failed = 1;
        return;
    }
    walk->measured[walk->n_measured++] = (Asked){object, 0, row, NONE};
}

static void
find_held(Walk *walk, const Kind *kind, PyObject *object)
{
    Attributes *held = &walk->held;
    *held = (Attributes){0};
    if (kind->treatment == MODULE) {
        held->dict = (PyDictObject *)PyModule_GetDict(object);
    }
    else if (kind->treatment == CLASS) {
        held->dict = (PyDictObject *)((PyTypeObject *)object)->tp_dict;
    }
    else if (kind->has_attributes) {
        find_attributes(object, kind->type, held);
    }
    /* A dict that was met before is not part of the object any more. */
    if (held->dict != NULL &&
        (set_has(&walk->seen, (uintptr_t)held->dict) || is_on_its_way(walk, (PyObject *)held->dict))) {
        held->dict = NULL;
    }
}

static void
expand(Walk *walk, PyObject *object, uint32_t row, uint32_t node)
{
    walk->row = row;
    walk->node = node;
    if (walk->rows[row].kind == NONE && PyFrame_Check(object)) {
        put_bytes(walk, object, 0, row, node);
        each_local((PyFrameObject *)object, send_local, walk);
        return;
    }
    Kind *kind = kind_at(walk, Py_TYPE(object));
    if (UNLIKELY(kind == NULL)) {
        return;
    }
    if (kind->is_measured) {
        note_measured(walk, object, row);
    }
    find_held(walk, kind, object);
    Py_ssize_t extra = walk->held.bytes;
    if (walk->held.dict != NULL) {
        PyObject *dict = (PyObject *)walk->held.dict;
        Kind *kind_of_dict = kind_at(walk, Py_TYPE(dict));
        if (kind_of_dict == NULL || set_add(&walk->seen, (uintptr_t)dict) < 0) {
            walk->failed = 1;
            return;
        }
        walk->n_met++;
        Py_ssize_t bytes = plain_bytes(kind_of_dict, dict);
        if (bytes >= 0) {
            extra += bytes + kind_of_dict->header;
        }
        else {
            count_bytes(walk, kind_of_dict, dict, 0, row, NONE);
        }
    }
    count_bytes(walk, kind, object, extra, row, node);
    send_attributes(walk, kind->treatment);
    if (kind->treatment == DICT) {
        send_entries(walk, object, kind->type == &PyDict_Type && is_namespace(object));
    }
    else if (kind->treatment == ARRAY) {
        send_behind_array(walk, object);
    }
    else if (is_generator(kind->type)) {
        send_suspended(walk, object);
    }
    if (kind->treatment != MODULE && kind->type != &PyDict_Type && can_be_followed(kind, object)) {
        walk->ordinal = 0;
        walk->cursor = 0;
        walk->is_many = kind->treatment == DICT || kind->treatment == MANY;
        kind->type->tp_traverse(object, visit, walk);
    }
}

/* Return about how many bytes the table of a container takes, from which the number of its items follows. */
static Py_ssize_t
table_bytes(const Kind *kind, PyObject *object)
{
    Py_ssize_t bytes = plain_bytes(kind, object);
    if (bytes >= 0) {
        return bytes;
    }
    if (kind->treatment == DICT) {
        return PyDict_GET_SIZE(object) * 3 * (Py_ssize_t)sizeof(void *);
    }
    return kind->is_deque ? Py_SIZE(object) * (Py_ssize_t)sizeof(void *) : 0;
}

static void
expand_for_size(Walk *walk, PyObject *object, uint32_t row)
{
    Kind *kind = kind_at(walk, Py_TYPE(object));
    if (UNLIKELY(kind == NULL)) {
        return;
    }
    walk->row = row;
    walk->node = NONE;
    walk->apart[0] = walk->apart[1] = NULL;
    Attributes held = {0};
    if (kind->has_attributes) {
        find_attributes(object, kind->type, &held);
    }
    count_bytes(walk, kind, object, held.bytes, row, NONE);
    if (kind->is_measured) {
        note_measured(walk, object, row);
    }
    if (walk->widest >= 0 && kind->is_followed && table_bytes(kind, object) > walk->widest) {
        walk->is_partial = 1;
        return;
    }
    if (kind->treatment == ARRAY) {
        PyObject *base = FIELD(PyObject *, object, ARRAY_BASE);
        int number = FIELD(int, FIELD(PyObject *, object, ARRAY_DTYPE), DTYPE_NUMBER);
        if (number == NUMBER_OF_VOID || (base != NULL && !is_derived(Py_TYPE(base), walk->types.array))) {
            if (put_object(&walk->foreign, object) < 0) {
                walk->failed = 1;
                return;
            }
        }
        send_behind_array(walk, object);
    }
    if (kind->treatment == DICT) {
        send_entries(walk, object, 0);
    }
    if (kind->type == &PyFunction_Type) {
        walk->apart[0] = ((PyFunctionObject *)object)->func_globals;
#if PY_VERSION_HEX >= 0x030A0000
        walk->apart[1] = ((PyFunctionObject *)object)->func_builtins;
#endif
    }
    int is_weak = PyType_IsSubtype(kind->type, &_PyWeakref_RefType);
    if (kind->type != &PyDict_Type && !is_weak && can_be_followed(kind, object)) {
        kind->type->tp_traverse(object, visit_for_size, walk);
    }
}

/* Fetch what is read next of an object whose head is in the cache. */
static PREFETCHING void
prefetch_behind(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyDict_Type) {
        char *keys = (char *)((PyDictObject *)object)->ma_keys;
        PREFETCH(keys);
        PREFETCH(keys + 64);
    }
    else if (type == &PyList_Type) {
        PREFETCH(((PyListObject *)object)->ob_item);
    }
    else if (PyType_HasFeature(type, Py_TPFLAGS_TYPE_SUBCLASS)) {
        PREFETCH(&((PyTypeObject *)object)->tp_dict);
        PREFETCH(&((PyTypeObject *)object)->tp_mro);
        PREFETCH(&((PyHeapTypeObject *)object)->ht_cached_keys);
    }
    else if (type == &PyFunction_Type) {
        PREFETCH((char *)object + 104);
    }
    else {
        PREFETCH(type);
    }
}

static inline PyDictObject *
dict_of_class(PyObject *object)
{
    int is_class = PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_TYPE_SUBCLASS);
    return is_class ? (PyDictObject *)((PyTypeObject *)object)->tp_dict : NULL;
}

/* Fetch what the next objects of the queue are read from, step by step: the farther, the less of them is known. */
static PREFETCHING void
prefetch_queue(const Walk *walk, const Block *block, size_t at)
{
    if (at + AHEAD >= NODES_IN_BLOCK || walk->taken + AHEAD >= walk->given) {
        return;
    }
    const char *head = (const char *)block->objects[at + AHEAD];
    PREFETCH(head - 24);
    PREFETCH(head + 40);
    PREFETCH(&walk->sums[block->rows[at + AHEAD]]);
    prefetch_behind(block->objects[at + AHEAD / 2]);
    PyDictObject *far = dict_of_class(block->objects[at + AHEAD / 4]), *near = dict_of_class(block->objects[at + 2]);
    if (far != NULL) {
        PREFETCH(far);
    }
    if (near != NULL) {
        PREFETCH(near->ma_keys);
    }
}

/* Expand what is queued until nothing is left. */
static void
follow(Walk *walk)
{
    if (walk->end != 0 && read_clock(walk->clock) > walk->end) {
        walk->is_partial = 1;
    }
    while (!walk->failed && !walk->is_partial) {
        if (walk->taken == walk->given) {
            drain(walk);
            if (walk->taken == walk->given) {
                break;
            }
        }
        size_t at = walk->taken % NODES_IN_BLOCK;
        Block *block = walk->keeps_paths ? walk->blocks[walk->taken / NODES_IN_BLOCK] : walk->first;
        prefetch_queue(walk, block, at);
        PyObject *object = block->objects[at];
        uint32_t row = block->rows[at], node = (uint32_t)walk->taken;
        if (walk->taken >= walk->marks.next) {
            mark(&walk->marks, object);
        }
        walk->taken++;
        if (at == NODES_IN_BLOCK - 1 && !walk->keeps_paths) {
            walk->first = block->next;
            if (walk->last == block) {
                walk->last = NULL;
            }
            keep_block(walk, block);
        }
        if (walk->is_for_sizes) {
            expand_for_size(walk, object, row);
        }
        else {
            expand(walk, object, row, node);
        }
        if (is_time_over(walk, walk->taken)) {
            break;
        }
    }
    drain(walk);
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* What no root reaches. */

typedef struct {
    Objects all;
    Map index;
    uint32_t *inner; /* references from others of the list */
} Left;

static int
count_inner(PyObject *object, void *arg)
{
    Left *left = arg;
    const Entry *entry = map_find(&left->index, (uint64_t)(uintptr_t)object);
    if (entry->key) {
        left->inner[entry->value]++;
    }
    return 0;
}

static int
find_left(const Walk *walk, Generation *generations, Left *left)
{
    if (find_others(generations, &walk->marks, &walk->seen, &left->all) < 0) {
        return -1;
    }
    if (map_make(&left->index, 1 << 10) < 0) {
        return -1;
    }
    left->inner = calloc(left->all.n + 1, sizeof(uint32_t));
    for (size_t i = 0; i < left->all.n; i++) {
        if (left->inner == NULL || map_put(&left->index, (uint64_t)(uintptr_t)left->all.objects[i], (uint32_t)i) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < left->all.n; i++) {
        PyObject *object = left->all.objects[i];
        if (PyModule_Check(object)) {
            count_inner(PyModule_GetDict(object), left);
        }
        else if (Py_TYPE(object)->tp_traverse != NULL) {
            Py_TYPE(object)->tp_traverse(object, count_inner, left);
        }
    }
    return 0;
}

static void
walk_left(Walk *walk, Generation *generations, uint64_t outside, uint64_t unreachable)
{
    Left left = {0};
    if (find_left(walk, generations, &left) < 0) {
        walk->failed = 1;
    }
    walk->node = NONE;
    walk->row = walk->failed ? NONE : root_row(walk, outside);
    walk->outside = walk->row + 1;
    for (size_t i = 0; !walk->failed && i < left.all.n; i++) {
        if (Py_REFCNT(left.all.objects[i]) > (Py_ssize_t)left.inner[i]) {
            send(walk, left.all.objects[i], 0);
        }
    }
    follow(walk);
    uint32_t row = walk->failed ? NONE : root_row(walk, unreachable);
    for (size_t i = 0; !walk->failed && !walk->is_partial && i < left.all.n; i++) {
        if (!set_has(&walk->seen, (uintptr_t)left.all.objects[i])) {
            walk->node = NONE;
            walk->row = row;
            send(walk, left.all.objects[i], 0);
            follow(walk);
        }
    }
    FREE_ROOM(left.all.objects, left.all.room);
    free(left.inner);
    map_free(&left.index);
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Answers.  References are taken by `take` before anything is allocated in Python's heap. */

static void
take(Asked *asked, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        Py_INCREF(asked[i].object);
    }
}

/* Append to a list an item that was made for it; after a failure, of either, the list is NULL. */
static void
append(PyObject **list, PyObject *item)
{
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0)) {
        Py_CLEAR(*list);
    }
    Py_XDECREF(item);
}

/* Return objects as a list, which takes over their references.  They lie `stride` bytes apart. */
static PyObject *
list_of(const void *objects, size_t n, size_t stride)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *object = *(PyObject *const *)((const char *)objects + i * stride);
        if (list != NULL) {
            PyList_SET_ITEM(list, (Py_ssize_t)i, object);
        }
        else {
            Py_DECREF(object);
        }
    }
    return list;
}

/* References to what is handed out are taken before anything is allocated in Python's heap. */
static void
take_objects(const Objects *objects)
{
    for (size_t i = 0; i < objects->n; i++) {
        Py_INCREF(objects->objects[i]);
    }
}

/* Return the objects as a list, which takes over their references. */
static PyObject *
list_objects(const Objects *objects)
{
    return list_of(objects->objects, objects->n, sizeof(PyObject *));
}

static PyObject *
rows_of(const Asked *asked, size_t n)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(uint32_t)));
    if (bytes != NULL) {
        for (size_t i = 0; i < n; i++) {
            memcpy(PyBytes_AS_STRING(bytes) + i * sizeof(uint32_t), &asked[i].row, sizeof(uint32_t));
        }
    }
    return bytes;
}

/* Write the names of all kinds while the types are sure to live: making text starts no collection, as making a list may.
   No reference to a type is taken for it, since types lie on a thousand pages.  NULL with an exception set if it fails. */
static PyObject **
write_names(const Walk *walk)
{
    PyObject **names = malloc((walk->n_kinds + 1) * sizeof(PyObject *));
    if (names == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < walk->n_kinds; i++) {
        names[i] = name_of(walk->kinds[i]->type);
        if (names[i] == NULL) {
            while (i-- > 0) {
                Py_DECREF(names[i]);
            }
            free(names);
            return NULL;
        }
    }
    return names;
}

/* Return the names as a list, which takes over their references, and free the array. */
static PyObject *
list_names(PyObject **names, size_t n)
{
    PyObject *list = list_of(names, n, sizeof(PyObject *));
    free(names);
    return list;
}

enum { OF_PLACE, OF_PARENT, OF_KIND, OF_NUMBER, OF_BYTES };

static int64_t
value_of(const Walk *walk, size_t at, int column)
{
    const Row *row = &walk->rows[at];
    switch (column) {
    case OF_PLACE:
        return (int64_t)row->place;
    case OF_PARENT:
        return row->parent == NONE ? 0 : (int64_t)walk->rows[row->parent].place;
    case OF_KIND:
        return row->kind == NONE ? -1 : (int64_t)row->kind;
    case OF_NUMBER:
        return walk->sums[at].n_objects;
    default:
        return walk->sums[at].own_bytes;
    }
}

static PyObject *
column_of(const Walk *walk, int column)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(walk->n_rows * sizeof(int64_t)));
    for (size_t i = 0; bytes != NULL && i < walk->n_rows; i++) {
        int64_t value = value_of(walk, i, column);
        memcpy(PyBytes_AS_STRING(bytes) + i * sizeof(int64_t), &value, sizeof value);
    }
    return bytes;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Paths. */

typedef struct {
    uint64_t place;
    size_t first, n; /* links in Paths.links, two objects each */
} Path;

typedef struct {
    Path *paths;
    size_t n, room;
    Objects links;
} Paths;

static PyObject *
node_object(const Walk *walk, uint32_t node)
{
    return walk->blocks[node / NODES_IN_BLOCK]->objects[node % NODES_IN_BLOCK];
}

static uint32_t
node_row(const Walk *walk, uint32_t node)
{
    return walk->blocks[node / NODES_IN_BLOCK]->rows[node % NODES_IN_BLOCK];
}

static uint32_t
node_parent(const Walk *walk, uint32_t node)
{
    return walk->blocks[node / NODES_IN_BLOCK]->parents[node % NODES_IN_BLOCK];
}

/* An object that may be shown: not a tuple which a function in C may be about to fill. */
static PyObject *
shown(PyObject *object, int is_held_by_c)
{
    return object != NULL && is_held_by_c && PyTuple_CheckExact(object) ? NULL : object;
}

/* Add the links of one path, each as holder and held.  Where the path comes back to a place it is cut short. */
static int
add_path(const Walk *walk, Paths *paths, uint64_t place, uint32_t node)
{
    size_t n = 0;
    for (uint32_t at = node; at != NONE; at = node_parent(walk, at)) {
        n++;
    }
    uint32_t *nodes = malloc((n + 1) * sizeof(uint32_t)), *rows = malloc((n + 1) * sizeof(uint32_t));
    PyObject **holder = malloc((n + 1) * sizeof(PyObject *)), **held = malloc((n + 1) * sizeof(PyObject *));
    PyObject **goes_on = malloc((n + 1) * sizeof(PyObject *));
    int failed = nodes == NULL || rows == NULL || holder == NULL || held == NULL || goes_on == NULL;
    size_t depth = 0;
    if (!failed) {
        size_t left = n;
        for (uint32_t at = node; at != NONE; at = node_parent(walk, at)) {
            nodes[--left] = at;
        }
        /* What hangs on a root that is no object has its row as parent, and a first link of its own. */
        uint32_t first = node_row(walk, nodes[0]);
        int is_rootless = walk->rows[first].kind != NONE;
        uint32_t root = first;
        while (walk->rows[root].parent != NONE) {
            root = walk->rows[root].parent;
        }
        if (is_rootless) {
            rows[depth] = root;
            holder[depth] = held[depth] = goes_on[depth] = NULL;
            depth++;
        }
        for (size_t i = 0; i < n; i++) {
            uint32_t row = node_row(walk, nodes[i]);
            PyObject *object = shown(node_object(walk, nodes[i]), is_rootless && i == 0);
            size_t at = depth;
            while (at > 0 && rows[at - 1] != row) {
                at--;
            }
            if (at > 0) {
                depth = at;
                goes_on[depth - 1] = object;
            }
            else {
                rows[depth] = row;
                holder[depth] = depth ? goes_on[depth - 1] : NULL;
                held[depth] = goes_on[depth] = object;
                depth++;
            }
        }
        failed = make_room(&paths->paths, paths->n, &paths->room, sizeof(Path)) < 0;
        Path path = {place, paths->links.n, depth};
        for (size_t i = 0; !failed && i < depth; i++) {
            failed = put_object(&paths->links, holder[i]) < 0 || put_object(&paths->links, held[i]) < 0;
        }
        if (!failed) {
            paths->paths[paths->n++] = path;
        }
    }
    free(nodes);
    free(rows);
    free(holder);
    free(held);
    free(goes_on);
    return failed ? -1 : 0;
}

static uint64_t
root_place(const Walk *walk, uint32_t row)
{
    while (walk->rows[row].parent != NONE) {
        row = walk->rows[row].parent;
    }
    return walk->rows[row].place;
}

/* Return [(place, place of the root, [(holder, held), ...]), ...]. */
static PyObject *
answer_paths(const Walk *walk, const Paths *paths)
{
    PyObject *answer = PyList_New(0);
    for (size_t i = 0; answer != NULL && i < paths->n; i++) {
        const Path *path = &paths->paths[i];
        PyObject *links = PyList_New(0);
        for (size_t k = 0; links != NULL && k < path->n; k++) {
            PyObject **link = &paths->links.objects[path->first + 2 * k];
            append(&links, PyTuple_Pack(2, link[0] ? link[0] : Py_None, link[1] ? link[1] : Py_None));
        }
        uint64_t root = root_place(walk, map_find(&walk->row_of, path->place)->value);
        append(&answer, links == NULL ? NULL
                                      : Py_BuildValue("(KKN)", (unsigned long long)path->place,
                                                      (unsigned long long)root, links));
    }
    return answer;
}

static PyObject *
finish_paths(Walk *walk)
{
    Paths paths = {0};
    int failed = walk->failed;
    for (size_t i = 0; !failed && i < walk->n_rows; i++) {
        if (walk->examples[i].wanted && walk->examples[i].node != NONE) {
            failed = add_path(walk, &paths, walk->rows[i].place, walk->examples[i].node) < 0;
        }
    }
    for (size_t i = 0; !failed && i < paths.links.n; i++) {
        Py_XINCREF(paths.links.objects[i]);
    }
    PyObject *answer = failed ? PyErr_NoMemory() : answer_paths(walk, &paths);
    for (size_t i = 0; !failed && i < paths.links.n; i++) {
        Py_XDECREF(paths.links.objects[i]);
    }
    FREE_ROOM(paths.paths, paths.room);
    FREE_ROOM(paths.links.objects, paths.links.room);
    return answer;
}

/* Return ([object, ...], number of the wanted place of each). */
static PyObject *
finish_members(const Walk *walk)
{
    const Objects *members = &walk->members;
    if (walk->failed) {
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < members->n; i++) {
        Py_INCREF(members->objects[i]);
    }
    PyObject *found = PyList_New((Py_ssize_t)members->n);
    for (size_t i = 0; i < members->n; i++) {
        if (found == NULL) {
            Py_DECREF(members->objects[i]);
        }
        else {
            PyList_SET_ITEM(found, (Py_ssize_t)i, members->objects[i]);
        }
    }
    PyObject *n_met = found == NULL ? NULL : PyList_New((Py_ssize_t)walk->n_samples);
    for (size_t i = 0; n_met != NULL && i < walk->n_samples; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(walk->samples[i].n_met);
        if (number == NULL) {
            Py_CLEAR(n_met);
            break;
        }
        PyList_SET_ITEM(n_met, (Py_ssize_t)i, number);
    }
    if (n_met == NULL) {
        Py_XDECREF(found);
        return NULL;
    }
    return Py_BuildValue("(Ny#N)", found, members->n ? (const char *)walk->member_of : "",
                         (Py_ssize_t)(members->n * sizeof(uint32_t)), n_met);
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* The functions of the module. */

static int
take_tuple(PyObject *value, const char *name)
{
    if (!PyTuple_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a tuple (got %.100s)", name, Py_TYPE(value)->tp_name);
        return -1;
    }
    return 0;
}

static int
read_types(Types *types, PyObject *containers, PyObject *array, PyObject *measured, PyObject *left_out,
           PyObject *trusted)
{
    if (take_tuple(containers, "containers") < 0 || take_tuple(measured, "measured") < 0 ||
        take_tuple(left_out, "left_out") < 0 || take_tuple(trusted, "trusted") < 0) {
        return -1;
    }
    if (PyTuple_GET_SIZE(containers) != 3) {
        PyErr_SetString(PyExc_ValueError, "containers must be deque, OrderedDict and defaultdict");
        return -1;
    }
    types->deque = (PyTypeObject *)PyTuple_GET_ITEM(containers, 0);
    types->ordered_dict = (PyTypeObject *)PyTuple_GET_ITEM(containers, 1);
    types->default_dict = (PyTypeObject *)PyTuple_GET_ITEM(containers, 2);
    types->array = array == Py_None ? NULL : (PyTypeObject *)array;
    types->measured = measured;
    types->left_out = left_out;
    types->trusted = trusted;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(trusted); i++) {
        if (PyUnicode_AsUTF8(PyTuple_GET_ITEM(trusted, i)) == NULL) { /* kept by the text from here on */
            return -1;
        }
    }
    return 0;
}

static int
skip_addresses(Walk *walk, const Py_buffer *addresses)
{
    const uint64_t *at = addresses->buf;
    for (Py_ssize_t i = 0; i < addresses->len / 8; i++) {
        if (set_add(&walk->seen, (uintptr_t)at[i]) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static void
begin_at(Walk *walk, PyObject *object, uint64_t place)
{
    uint32_t row = walk->failed ? NONE : root_row(walk, place);
    int is_new = row == NONE ? 0 : set_add(&walk->seen, (uintptr_t)object);
    if (is_new < 0) {
        walk->failed = 1;
    }
    if (is_new > 0) {
        walk->n_met++;
        walk->sums[row].n_objects++;
        queue_node(walk, object, row, NONE);
    }
}

static void
begin(Walk *walk, PyObject *starts, const uint64_t *places)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(starts); i++) {
        begin_at(walk, PyList_GET_ITEM(starts, i), places[i]);
    }
}

/* Return the place of a running function, as roots.place_of does. */
static uint64_t
place_of_frame(PyObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *path = code->co_filename;
    uint64_t hash = hash_bytes(HASH_START, "frame ");
    for (Py_ssize_t i = base_of(path); i < PyUnicode_GET_LENGTH(path); i++) {
        hash = (hash ^ PyUnicode_READ_CHAR(path, i)) * 0x100000001B3ull;
    }
    hash = hash_bytes(hash_points(hash_bytes(hash, " "), name_of_function(code)), "()");
    Py_DECREF(code);
    return mixed(hash);
}

/* Leave out frames that are met: an exception that is kept leads to those of its callers, but not to their locals. */
static void
leave_out_frames(Walk *walk, const Objects *frames)
{
    for (size_t i = 0; i < frames->n && !walk->failed; i++) {
        walk->failed = set_add(&walk->seen, (uintptr_t)frames->objects[i]) < 0;
    }
}

/* Go through running functions, one after the other: what an outer one holds lies there, whichever runs within it. */
static void
walk_frames(Walk *walk, const Frames *frames)
{
    for (size_t i = 0; i < frames->program.n && !walk->failed && !walk->is_partial; i++) {
        set_remove(&walk->seen, (uintptr_t)frames->program.objects[i]);
        begin_at(walk, frames->program.objects[i], place_of_frame(frames->program.objects[i]));
        follow(walk);
    }
}

/* Modules to begin at, in this order. */
enum { OF_MAIN, OF_PROGRAM, OF_LIBRARY, OF_PROFILER, N_RANKS };

typedef struct {
    PyObject *name, *module;
    int rank;
} Module;

typedef struct {
    Module *modules;
    size_t n, room;
} Modules;

/* Order a module: a path through the program's own says more than one through the interpreter's registries; see
   roots._rank.  -1 with an exception set where there is no memory. */
static int
rank_of(PyObject *name, PyObject *library)
{
    Py_ssize_t length = length_of_top(name);
    if (PyUnicode_CompareWithASCIIString(name, "__main__") == 0) {
        return OF_MAIN;
    }
    if (length == PyUnicode_GET_LENGTH(name) && PyUnicode_CompareWithASCIIString(name, "phaseprof")) {
        int is_library = PySet_Contains(library, name); /* writes no reference count of the name */
        return is_library < 0 ? -1 : is_library ? OF_LIBRARY : OF_PROGRAM;
    }
    PyObject *top = PyUnicode_Substring(name, 0, length);
    if (top == NULL) {
        return -1;
    }
    int is_ours = PyUnicode_CompareWithASCIIString(top, "phaseprof") == 0;
    int is_main = PyUnicode_CompareWithASCIIString(top, "__main__") == 0;
    int is_library = PySet_Contains(library, top);
    Py_DECREF(top);
    return is_library < 0 ? -1 : is_ours ? OF_PROFILER : is_library && !is_main ? OF_LIBRARY : OF_PROGRAM;
}

/* List the modules in the order of sys.modules.  No reference to a name or a module is taken: they lie on a thousand
   pages. */
static int
list_modules(Modules *modules, PyObject *library)
{
    Py_ssize_t at = 0;
    PyObject *name, *module;
    while (PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module)) {
        if (!PyUnicode_CheckExact(name) || !IS_READY(name) || !PyType_IsSubtype(Py_TYPE(module), &PyModule_Type)) {
            continue;
        }
        int rank = rank_of(name, library);
        if (rank < 0) {
            return -1;
        }
        if (make_room(&modules->modules, modules->n, &modules->room, sizeof(Module)) < 0) {
            PyErr_NoMemory();
            return -1;
        }
        modules->modules[modules->n++] = (Module){name, module, rank};
    }
    return 0;
}

/* Return the place of a module, as roots.place_of does. */
static uint64_t
place_of_module(PyObject *name)
{
    return mixed(hash_points(hash_bytes(HASH_START, "module "), name));
}

/* Put off the modules of libraries, and their variables. */
static void
put_off_libraries(Walk *walk, const Modules *modules)
{
    for (size_t i = 0; i < modules->n && !walk->failed; i++) {
        PyObject *module = modules->modules[i].module;
        if (modules->modules[i].rank >= OF_LIBRARY &&
            (set_add(&walk->seen, (uintptr_t)module) < 0 ||
             set_add(&walk->seen, (uintptr_t)PyModule_GetDict(module)) < 0)) {
            walk->failed = 1;
        }
    }
}

static void
take_up_libraries(Walk *walk, const Modules *modules)
{
    walk->types.leaves = NULL;
    for (size_t i = 0; i < modules->n; i++) {
        if (modules->modules[i].rank >= OF_LIBRARY) {
            set_remove(&walk->seen, (uintptr_t)modules->modules[i].module);
            set_remove(&walk->seen, (uintptr_t)PyModule_GetDict(modules->modules[i].module));
        }
    }
    for (size_t i = 0; i < walk->n_put_off; i++) {
        set_remove(&walk->seen, (uintptr_t)walk->put_off[i].object);
    }
}

static void
begin_at_modules(Walk *walk, const Modules *modules, int first, int last)
{
    for (int rank = first; rank <= last; rank++) {
        for (size_t i = 0; i < modules->n; i++) {
            if (modules->modules[i].rank == rank) {
                begin_at(walk, modules->modules[i].module, place_of_module(modules->modules[i].name));
            }
        }
    }
}

/* Walk from the program's modules and then from its running functions, so that what a module holds lies there, whatever
   runs; libraries, if they are wanted, take what is left.  A class of theirs that no module leads to lies where the
   program leads to it. */
static void
walk_whole(Walk *walk, const Modules *modules, const Frames *frames, int are_libraries_wanted)
{
    put_off_libraries(walk, modules);
    leave_out_frames(walk, &frames->program);
    begin_at_modules(walk, modules, OF_MAIN, OF_PROGRAM);
    follow(walk);
    walk_frames(walk, frames);
    if (!are_libraries_wanted || walk->failed || walk->is_partial) {
        return;
    }
    take_up_libraries(walk, modules);
    begin_at_modules(walk, modules, OF_LIBRARY, OF_PROFILER);
    follow(walk);
    for (size_t i = 0; i < walk->n_put_off && !walk->failed && !walk->is_partial; i++) {
        meet(walk, &walk->put_off[i]);
    }
    follow(walk);
}

/* Return (place, name) of each module; the names are copies. */
static PyObject *
roots_of_modules(const Modules *modules, int last)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < modules->n; i++) {
        if (modules->modules[i].rank > last) {
            continue;
        }
        PyObject *name = modules->modules[i].name;
        PyObject *copy = PyUnicode_FromKindAndData(PyUnicode_KIND(name), PyUnicode_DATA(name),
                                                   PyUnicode_GET_LENGTH(name));
        append(&list, copy == NULL ? NULL : Py_BuildValue("(KN)", (unsigned long long)place_of_module(name), copy));
    }
    return list;
}

/* Return (place, name) of each running function. */
static PyObject *
roots_of_frames(const Frames *frames)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < frames->program.n; i++) {
        PyObject *frame = frames->program.objects[i], *name = name_of_frame(frame);
        append(&list, name == NULL ? NULL : Py_BuildValue("(KN)", (unsigned long long)place_of_frame(frame), name));
    }
    return list;
}

static PyObject *
answer_places(Walk *walk)
{
    ask_for_bytes(walk);
    if (walk->failed) {
        return PyErr_NoMemory();
    }
    PyObject **written = write_names(walk);
    if (written == NULL) {
        return NULL;
    }
    take(walk->measured, walk->n_measured);
    PyObject *measured = list_of(walk->measured, walk->n_measured, sizeof(Asked));
    PyObject *names = list_names(written, walk->n_kinds);
    PyObject *columns[5];
    int is_whole = measured != NULL && names != NULL;
    for (int i = 0; i < 5; i++) {
        columns[i] = column_of(walk, i);
        is_whole = is_whole && columns[i] != NULL;
    }
    PyObject *rows = rows_of(walk->measured, walk->n_measured);
    PyObject *answer = NULL;
    if (is_whole && rows != NULL) {
        answer = Py_BuildValue("(OOOOOOOOKi)", columns[0], columns[1], columns[2], columns[3], columns[4], names,
                               measured, rows, (unsigned long long)walk->n_met, walk->is_partial);
    }
    for (int i = 0; i < 5; i++) {
        Py_XDECREF(columns[i]);
    }
    Py_XDECREF(rows);
    Py_XDECREF(names);
    Py_XDECREF(measured);
    return answer;
}

PyDoc_STRVAR(places_doc,
             "places(starts, places, library, is_left_out, folders, skip, containers, array, measured, trusted, ends, limit_s,\n"
             "wanted, members)\n"
             "--\n\n"
             "Walk the heap by place; see in_c.py, which calls it.\n\n"
             "starts: list of objects; places: uint64 numbers of them, as bytes; library: None, or the names of\n"
             "packages: then the walk begins at all modules and running functions instead, those packages' last, and their\n"
             "places and names are returned, too; is_left_out: those are not looked into, nor is what no root reaches;\n"
             "folders: where code of ours is, and what in it is not; skip: uint64 addresses, as bytes; ends: bytes of two\n"
             "numbers, for what C holds and what only rings hold, empty to leave both out; limit_s: of the thread's\n"
             "processor time, 0 for none; wanted: None, or numbers of places, as bytes, to which paths are returned;\n"
             "members: 0, or how many of the objects at each of those places and below are returned instead, with the\n"
             "number of their place, and how many were met at each place: of more a half is left, and of those again.");

/* Keys in the map of places of the last walk from all modules, and of the last from the program's alone; the next one
   will have about as many. */
static size_t n_places_before[2];

static PyObject *
heap_places(PyObject *self, PyObject *args)
{
    PyObject *starts, *library, *folders, *containers, *array, *measured, *trusted, *answer = NULL, *nothing = NULL;
    Py_buffer places, skip, ends, wanted;
    double limit_s;
    int is_left_out;
    Py_ssize_t n_members;
    wanted.obj = NULL;
    if (!PyArg_ParseTuple(args, "O!y*OpO!y*OOOOy*dz*n", &PyList_Type, &starts, &places, &library, &is_left_out,
                          &PyTuple_Type, &folders, &skip, &containers, &array, &measured, &trusted, &ends, &limit_s, &wanted,
                          &n_members)) {
        return NULL;
    }
    Generation *generations = NULL;
    Frames frames = {0};
    Modules modules = {0};
    int is_collecting = PyGC_Disable(), is_whole = library != Py_None;
    Walk *walk = walk_make(is_whole ? n_places_before[is_left_out] : 0);
    nothing = PyTuple_New(0);
    if (walk == NULL || nothing == NULL || read_types(&walk->types, containers, array, measured, nothing, trusted) < 0) {
        goto done;
    }
    if ((is_whole && !PyAnySet_Check(library)) || places.len != PyList_GET_SIZE(starts) * 8 ||
        PyTuple_GET_SIZE(folders) != 2) {
        PyErr_SetString(PyExc_ValueError, "places must have one number for each start, and folders two texts");
        goto done;
    }
    if (find_generations(&generations) < 0) {
        goto done;
    }
    walk->types.enters_classes = is_whole;
    walk->types.leaves = is_whole ? library : NULL;
    walk->clock = CLOCK_THREAD_CPUTIME_ID; /* a look that others kept waiting is no longer one */
    walk->end = limit_s > 0 ? read_clock(walk->clock) + limit_s : 0;
    walk->members_at_most = wanted.buf != NULL && n_members > 0 ? (size_t)n_members : 0;
    walk->keeps_paths = wanted.buf != NULL && !walk->members_at_most;
    for (Py_ssize_t i = 0; wanted.buf != NULL && i < wanted.len / 8; i++) {
        if (map_put(&walk->wanted, ((const uint64_t *)wanted.buf)[i], 1 + (uint32_t)i) < 0) {
            PyErr_NoMemory();
            goto done;
        }
        if (make_room(&walk->samples, walk->n_samples, &walk->samples_room, sizeof(Sample)) < 0) {
            PyErr_NoMemory();
            goto done;
        }
        walk->samples[walk->n_samples++] = (Sample){0, 0, 0};
    }
    if (skip_addresses(walk, &skip) < 0) {
        goto done;
    }
    if (list_frames(&frames, folders) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    leave_out_frames(walk, &frames.own);
    if (is_whole) {
        if (list_modules(&modules, library) < 0) {
            goto done;
        }
        walk_whole(walk, &modules, &frames, !is_left_out);
    }
    else {
        begin(walk, starts, places.buf);
        follow(walk);
    }
    if (ends.len == 16 && !is_left_out && !walk->is_partial && !walk->failed) {
        walk_left(walk, generations, ((const uint64_t *)ends.buf)[0], ((const uint64_t *)ends.buf)[1]);
    }
    if (walk->members_at_most) {
        answer = finish_members(walk);
    }
    else if (walk->keeps_paths) {
        ask_for_bytes(walk);
        answer = finish_paths(walk);
    }
    else {
        answer = answer_places(walk);
    }
    if (answer != NULL && is_whole) {
        n_places_before[is_left_out] = walk->row_of.used;
        answer = Py_BuildValue("(NNN)", answer, roots_of_modules(&modules, is_left_out ? OF_PROGRAM : OF_PROFILER), roots_of_frames(&frames));
    }
done:
    frames_free(&frames);
    FREE_ROOM(modules.modules, modules.room);
    if (is_collecting) {
        PyGC_Enable();
    }
    if (walk != NULL) {
        walk_free(walk);
    }
    Py_XDECREF(nothing);
    PyBuffer_Release(&places);
    PyBuffer_Release(&skip);
    PyBuffer_Release(&ends);
    if (wanted.obj != NULL) {
        PyBuffer_Release(&wanted);
    }
    return answer;
}

PyDoc_STRVAR(known_doc, "known()\n--\n\nReturn an empty set of addresses, for learn() and deep_size().");
PyDoc_STRVAR(learn_doc, "learn(known, addresses)\n--\n\nAdd addresses to a set that known() made.");

static const char known_name[] = "phaseprof.native._heap.known";

static void
known_free(PyObject *capsule)
{
    Set *set = PyCapsule_GetPointer(capsule, known_name);
    set_free(set);
    free(set);
}

static PyObject *
heap_known(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    Set *set = malloc(sizeof(Set));
    if (set == NULL || set_make(set) < 0) {
        free(set);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(set, known_name, known_free);
    if (capsule == NULL) {
        set_free(set);
        free(set);
    }
    return capsule;
}

static PyObject *
heap_learn(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    Py_buffer addresses;
    if (!PyArg_ParseTuple(args, "Oy*", &capsule, &addresses)) {
        return NULL;
    }
    Set *set = PyCapsule_GetPointer(capsule, known_name);
    int failed = set == NULL;
    for (Py_ssize_t i = 0; !failed && i < addresses.len / 8; i++) {
        if (set_add(set, (uintptr_t)((const uint64_t *)addresses.buf)[i]) < 0) {
            PyErr_NoMemory();
            failed = 1;
        }
    }
    PyBuffer_Release(&addresses);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Return the addresses that a walk met, packed. */
static PyObject *
addresses_of(const Set *set)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(set->n_addresses * sizeof(uint64_t)));
    char *to = bytes == NULL ? NULL : PyBytes_AS_STRING(bytes);
    for (size_t i = 0; to != NULL && i <= set->mask; i++) {
        const Stretch *stretch = &set->stretches[i];
        for (size_t bit = 0; stretch->key && bit < STRETCH_WORDS * 64; bit++) {
            if (bit % 64 == 0 && stretch->words[bit / 64] == 0) {
                bit += 63;
            }
            else if (stretch->words[bit / 64] >> bit % 64 & 1) {
                uint64_t address = (stretch->key - 1) >> 1 << STRETCH_BITS | bit << 4 | ((stretch->key - 1) & 1) << 3;
                memcpy(to, &address, sizeof address);
                to += sizeof address;
            }
        }
    }
    return bytes;
}

PyDoc_STRVAR(deep_size_doc,
             "deep_size(objects, containers, array, measured, left_out, trusted, limit_s, keep, widest, known,\n"
             "          is_cpu_time)\n--\n\n"
             "Add up what objects reach; see deep.py, which calls it.");

static PyObject *
answer_sizes(Walk *walk)
{
    ask_for_bytes(walk);
    if (walk->failed) {
        return PyErr_NoMemory();
    }
    take(walk->measured, walk->n_measured);
    take_objects(&walk->foreign);
    PyObject *measured = list_of(walk->measured, walk->n_measured, sizeof(Asked));
    PyObject *foreign = list_objects(&walk->foreign);
    PyObject *sizes = PyBytes_FromStringAndSize((const char *)walk->sizes,
                                                (Py_ssize_t)(walk->n_sizes * sizeof(uintptr_t)));
    PyObject *answer = NULL;
    if (measured != NULL && foreign != NULL && sizes != NULL) {
        PyObject *met = walk->known == NULL ? PyBytes_FromStringAndSize(NULL, 0) : addresses_of(&walk->seen);
        answer = met == NULL ? NULL
                             : Py_BuildValue("(LOOONi)", (long long)walk->sums[0].own_bytes, measured, foreign,
                                             sizes, met, walk->is_partial);
    }
    Py_XDECREF(measured);
    Py_XDECREF(foreign);
    Py_XDECREF(sizes);
    return answer;
}

static PyObject *
heap_deep_size(PyObject *self, PyObject *args)
{
    PyObject *objects, *containers, *array, *measured, *left_out, *trusted, *known, *answer = NULL;
    double limit_s;
    Py_ssize_t widest;
    int keeps_sizes, is_cpu_time;
    if (!PyArg_ParseTuple(args, "O!OOOOOdpnOp", &PyList_Type, &objects, &containers, &array, &measured, &left_out,
                          &trusted, &limit_s, &keeps_sizes, &widest, &known, &is_cpu_time)) {
        return NULL;
    }
    if (known != Py_None && !PyCapsule_IsValid(known, known_name)) {
        return PyErr_Format(PyExc_TypeError, "known must be what known() made (got %.100s)", Py_TYPE(known)->tp_name);
    }
    Walk *walk = walk_make(0);
    if (walk != NULL && read_types(&walk->types, containers, array, measured, left_out, trusted) == 0) {
        walk->is_for_sizes = 1;
        walk->keeps_sizes = keeps_sizes;
        walk->types.enters_classes = 1;
        walk->clock = is_cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        walk->end = limit_s > 0 ? read_clock(walk->clock) + limit_s : 0;
        walk->widest = widest;
        walk->known = known == Py_None ? NULL : PyCapsule_GetPointer(known, known_name);
        walk->row = add_row(walk, 0, NONE, 0, 0, NONE); /* the only one */
        for (Py_ssize_t i = 0; walk->row != NONE && i < PyList_GET_SIZE(objects); i++) {
            send(walk, PyList_GET_ITEM(objects, i), 0);
        }
        follow(walk);
        answer = answer_sizes(walk);
    }
    if (walk != NULL) {
        walk_free(walk);
    }
    return answer;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Counts. */

typedef void (*object_action)(void *arg, PyObject *object);

/* Go through a list from both ends, so that two reads of memory are under way at a time. */
static inline void
each_tracked(Generation *generations, object_action action, void *arg)
{
    for (int i = 0; i < N_GENERATIONS; i++) {
        Link *head = &generations[i].head, *front = NEXT(head), *back = PREV(head);
        while (front != head) {
            action(arg, OBJECT_OF(front));
            if (front == back) {
                break;
            }
            action(arg, OBJECT_OF(back));
            Link *next = NEXT(front);
            if (next == back) {
                break;
            }
            front = next;
            back = PREV(back);
        }
    }
}

#define BATCH 64

/* Go through the lists with a batch ahead, for what reads more of an object than its head. */
static void
each_tracked_ahead(Generation *generations, object_action action, void *arg)
{
    PyObject *batch[BATCH];
    for (int i = 0; i < N_GENERATIONS; i++) {
        Link *head = &generations[i].head, *front = NEXT(head), *back = PREV(head);
        int is_over = front == head;
        while (!is_over) {
            size_t n = 0;
            while (n + 1 < BATCH && !is_over) {
                Link *next = NEXT(front), *previous = PREV(back);
                batch[n++] = OBJECT_OF(front);
                PREFETCH((char *)OBJECT_OF(front) + 48);
                is_over = front == back;
                if (!is_over) {
                    batch[n++] = OBJECT_OF(back);
                    PREFETCH((char *)OBJECT_OF(back) + 48);
                    is_over = next == back;
                }
                front = next;
                back = previous;
            }
            for (size_t k = 0; k < n; k++) {
                prefetch_behind(batch[k]);
            }
            for (size_t k = 0; k < n; k++) {
                action(arg, batch[k]);
            }
        }
    }
}

/* Go through one list from its beginning. */
static inline void
each_in_order(Generation *generation, object_action action, void *arg)
{
    Link *head = &generation->head;
    for (Link *at = NEXT(head); at != head;) {
        Link *next = NEXT(at);
        PREFETCH(next);
        PREFETCH((char *)next + 64);
        action(arg, OBJECT_OF(at));
        at = next;
    }
}

/* Go through all lists, young objects first, and what is frozen last: a frozen trainer holds what leaks, too. */
static void
each_and_frozen(Generation *generations, object_action action, void *arg)
{
    for (int i = 0; i < N_GENERATIONS; i++) {
        each_in_order(&generations[i], action, arg);
    }
    Generation *frozen = find_frozen(generations);
    if (frozen != NULL) {
        each_in_order(frozen, action, arg);
    }
}

typedef struct {
    uintptr_t *types;
    uint64_t *counts;
    size_t mask;
} Tally;

static int
tally_make(Tally *tally, size_t capacity)
{
    tally->types = calloc(capacity, sizeof(uintptr_t));
    tally->counts = calloc(capacity, sizeof(uint64_t));
    tally->mask = capacity - 1;
    if (tally->types == NULL || tally->counts == NULL) {
        free(tally->types);
        free(tally->counts);
        return -1;
    }
    return 0;
}

static inline size_t
tally_slot(const Tally *tally, uintptr_t type)
{
    size_t at = (size_t)(((uint64_t)(type >> 4) * 0x9E3779B97F4A7C15ull) >> 40) & tally->mask;
    while (tally->types[at] && tally->types[at] != type) {
        at = (at + 1) & tally->mask;
    }
    return at;
}

static inline void
tally_known(void *arg, PyObject *object)
{
    Tally *tally = arg;
    size_t at = tally_slot(tally, (uintptr_t)Py_TYPE(object));
    tally->counts[at] += tally->types[at] != 0;
}

PyDoc_STRVAR(count_doc, "count(types)\n--\n\n"
                        "Return the number of tracked objects of each exact type of a tuple.");

static PyObject *
heap_count(PyObject *self, PyObject *types)
{
    Generation *generations;
    Tally tally;
    size_t capacity = 64;
    if (take_tuple(types, "types") < 0 || find_generations(&generations) < 0) {
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(types);
    while (capacity < 4 * (size_t)n) {
        capacity *= 2;
    }
    if (tally_make(&tally, capacity) < 0) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        uintptr_t type = (uintptr_t)PyTuple_GET_ITEM(types, i);
        tally.types[tally_slot(&tally, type)] = type;
    }
    each_tracked(generations, tally_known, &tally);
    PyObject *answer = PyList_New(n);
    for (Py_ssize_t i = 0; answer != NULL && i < n; i++) {
        size_t at = tally_slot(&tally, (uintptr_t)PyTuple_GET_ITEM(types, i));
        PyObject *number = PyLong_FromUnsignedLongLong(tally.counts[at]);
        if (number == NULL) {
            Py_CLEAR(answer);
        }
        else {
            PyList_SET_ITEM(answer, i, number);
        }
    }
    free(tally.types);
    free(tally.counts);
    return answer;
}

PyDoc_STRVAR(local_values_doc, "local_values(frame)\n--\n\n"
                               "Return (name, value) for each local of a function's frame that has a value.");

static void
keep_local(void *arg, PyObject *name, PyObject *value)
{
    PyObject **values = arg;
    append(values, *values == NULL ? NULL : PyTuple_Pack(2, name, value));
}

static PyObject *
heap_local_values(PyObject *self, PyObject *frame)
{
    if (!PyFrame_Check(frame)) {
        return PyErr_Format(PyExc_TypeError, "frame must be a frame (got %.100s)", Py_TYPE(frame)->tp_name);
    }
    PyObject *values = PyList_New(0);
    if (values != NULL) {
        each_local((PyFrameObject *)frame, keep_local, &values);
    }
    return values;
}

/* ------------------------------------------------------------------------------------------------------------------ */
/* Looks: at what the collector tracks, and at what it does not track behind that, in no order and by no path. */

/* What is done with the objects of one exact type. */
enum { IS_COUNTED = 1, IS_RECORDED = 2, IS_HANDED_OUT = 4, IS_ARRAY = 8, IS_DETAILED = 16, HAS_LENGTH = 32, LEADS_ON = 64 };

typedef struct {
    PyTypeObject *type;
    uint8_t action;
    int64_t n;
    Kind kind;
} Interest;

typedef struct {
    uintptr_t type;
    uint64_t count;
    uint32_t interest; /* number of it and one, 0 for none */
    uint32_t is_module;
} Met; /* a type */

typedef struct {
    int64_t interest, address, length, bytes;
} Recorded;

typedef struct {
    PyObject *object;
    uint32_t interest;
} Sized; /* an object whose own bytes are asked for when all were met */

typedef struct {
    int64_t owner, bytes, address, span;
    PyObject *widest;
} Owner; /* of the memory of arrays */

typedef struct {
    Interest *interests;
    size_t n_interests;
    Met *met;
    size_t mask, n_met;
    Types types;
    PyObject *nothing;
    int elsize_at, flags_at;
    int goes_deep, shows_keys, failed;
    Set skipped, seen;
    PyObject *ring[RING];
    unsigned ring_at, ring_used;
    Objects pending, foreign, structured, handed;
    Sized *sized;
    size_t n_sized, sized_room;
    Recorded *records;
    size_t n_records, records_room;
    Owner *owners;
    size_t n_owners, owners_room;
    Map owner_of;
    uint64_t n_arrays;
    Py_ssize_t min_bytes;
} Look;

static void
look_free(Look *look)
{
    free(look->interests);
    free(look->met);
    set_free(&look->skipped);
    set_free(&look->seen);
    FREE_ROOM(look->pending.objects, look->pending.room);
    FREE_ROOM(look->foreign.objects, look->foreign.room);
    FREE_ROOM(look->structured.objects, look->structured.room);
    FREE_ROOM(look->handed.objects, look->handed.room);
    FREE_ROOM(look->sized, look->sized_room);
    FREE_ROOM(look->records, look->records_room);
    FREE_ROOM(look->owners, look->owners_room);
    map_free(&look->owner_of);
    Py_XDECREF(look->nothing);
}

static inline Met *
met_at(const Look *look, uintptr_t type)
{
    size_t at = (size_t)(((uint64_t)(type >> 4) * 0x9E3779B97F4A7C15ull) >> 40) & look->mask;
    while (look->met[at].type && look->met[at].type != type) {
        at = (at + 1) & look->mask;
    }
    return &look->met[at];
}

static int
met_grow(Look *look)
{
    Look larger = *look;
    larger.mask = look->mask * 2 + 1;
    larger.met = calloc(larger.mask + 1, sizeof(Met));
    if (larger.met == NULL) {
        return -1;
    }
    for (size_t i = 0; i <= look->mask; i++) {
        if (look->met[i].type) {
            *met_at(&larger, look->met[i].type) = look->met[i];
        }
    }
    free(look->met);
    look->met = larger.met;
    look->mask = larger.mask;
    return 0;
}

static Met *
met_add(Look *look, uintptr_t type)
{
    Met *met = met_at(look, type);
    if (LIKELY(met->type != 0)) {
        return met;
    }
    if (look->n_met * 2 > look->mask) {
        if (met_grow(look) < 0) {
            look->failed = 1;
            return NULL;
        }
        met = met_at(look, type);
    }
    met->type = type;
    look->n_met++;
    return met;
}

static int
add_interest(Look *look, PyTypeObject *type, uint8_t action)
{
    Met *met = met_add(look, (uintptr_t)type);
    if (met == NULL) {
        return -1;
    }
    if (met->interest) {
        look->interests[met->interest - 1].action |= action;
        return 0;
    }
    Interest *interest = &look->interests[look->n_interests++];
    *interest = (Interest){.type = type, .action = action};
    make_kind(&look->types, &interest->kind, type);
    met->interest = (uint32_t)look->n_interests;
    return 0;
}

static int
is_unfinished(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
            if (PyTuple_GET_ITEM(object, i) == NULL) {
                return 1;
            }
        }
    }
    return 0;
}

static void
keep(Look *look, Objects *objects, PyObject *object)
{
    if (put_object(objects, object) < 0) {
        look->failed = 1;
    }
}

/* Return the number of items, 0 for types of which it is not asked: their method might be the program's. */
static Py_ssize_t
length_of(const Interest *interest, PyObject *object)
{
    PyTypeObject *type = interest->type;
    if (!(interest->action & HAS_LENGTH)) {
        return 0;
    }
    if (PyType_HasFeature(type, Py_TPFLAGS_DICT_SUBCLASS)) {
        return PyDict_GET_SIZE(object);
    }
    return type->tp_as_sequence->sq_length(object);
}

static void
record(Look *look, const Interest *interest, PyObject *object, Py_ssize_t bytes)
{
    if (bytes + interest->kind.header >= look->min_bytes) {
        if (make_room(&look->records, look->n_records, &look->records_room, sizeof(Recorded)) < 0) {
            look->failed = 1;
            return;
        }
        look->records[look->n_records++] = (Recorded){interest - look->interests, (int64_t)(intptr_t)object,
                                                      length_of(interest, object), bytes};
    }
}

/* Every character takes at most four bytes, and what lies before them at most 128. */
#define HEAD_AT_MOST 128

static void
measure_later(Look *look, const Interest *interest, PyObject *object)
{
    if (interest->type == &PyUnicode_Type && 4 * PyUnicode_GET_LENGTH(object) + HEAD_AT_MOST < look->min_bytes) {
        return;
    }
    if (make_room(&look->sized, look->n_sized, &look->sized_room, sizeof(Sized)) < 0) {
        look->failed = 1;
        return;
    }
    look->sized[look->n_sized++] = (Sized){object, (uint32_t)(interest - look->interests)};
}

static void
measure_now(Look *look, const Interest *interest, PyObject *object)
{
    Py_ssize_t bytes = plain_bytes(&interest->kind, object);
    if (bytes < 0) {
        measure_later(look, interest, object);
    }
    else {
        record(look, interest, object, bytes);
    }
}

/* Ask the types of what was left; see ask_for_bytes. */
static void
measure_rest(Look *look)
{
    for (size_t i = 0; i < look->n_sized && !look->failed; i++) {
        const Interest *interest = &look->interests[look->sized[i].interest];
        PyObject *object = look->sized[i].object;
        record(look, interest, object, asked_bytes(&interest->kind, object));
    }
}

static void look_at_referent(Look *look, PyObject *object);

static inline void
look_ahead(Look *look, PyObject *object)
{
    if (object == NULL || object == Py_None) {
        return;
    }
    PREFETCH(object);
    PyObject *due = look->ring[look->ring_at];
    look->ring[look->ring_at] = object;
    look->ring_at = (look->ring_at + 1) % RING;
    if (LIKELY(look->ring_used == RING)) {
        look_at_referent(look, due);
    }
    else {
        look->ring_used++;
    }
}

static void
look_drain(Look *look)
{
    while (look->ring_used) {
        PyObject *due = look->ring[(look->ring_at + RING - look->ring_used) % RING];
        look->ring_used--;
        look_at_referent(look, due);
    }
}

static int64_t
array_bytes(const Look *look, PyObject *array)
{
    PyObject *dtype = FIELD(PyObject *, array, ARRAY_DTYPE);
    int64_t bytes = look->elsize_at == 32 ? FIELD(int32_t, dtype, 32) : FIELD(int64_t, dtype, look->elsize_at);
    for (int i = 0; i < FIELD(int, array, ARRAY_N_DIMENSIONS); i++) {
        bytes *= FIELD(Py_ssize_t *, array, ARRAY_DIMENSIONS)[i];
    }
    return bytes;
}

static int
is_looked_at_as_array(const Look *look, PyObject *object)
{
    const Met *met = met_at(look, (uintptr_t)Py_TYPE(object));
    return met->interest && look->interests[met->interest - 1].action & IS_ARRAY;
}

static Owner *
owner_at(Look *look, PyObject *owner)
{
    const Entry *entry = map_find(&look->owner_of, (uint64_t)(uintptr_t)owner);
    if (entry->key) {
        return &look->owners[entry->value];
    }
    if (make_room(&look->owners, look->n_owners, &look->owners_room, sizeof(Owner)) < 0 ||
        map_put(&look->owner_of, (uint64_t)(uintptr_t)owner, (uint32_t)look->n_owners) < 0) {
        look->failed = 1;
        return NULL;
    }
    Owner *made = &look->owners[look->n_owners++];
    *made = (Owner){.owner = (int64_t)(intptr_t)owner, .bytes = array_bytes(look, owner), .span = -1,
                    .address = (int64_t)(intptr_t)FIELD(char *, owner, ARRAY_DATA)};
    PyObject *dtype = FIELD(PyObject *, owner, ARRAY_DTYPE);
    int number = FIELD(int, dtype, DTYPE_NUMBER);
    if (look->goes_deep && number == NUMBER_OF_OBJECT) {
        keep(look, &look->pending, owner);
    }
    else if (look->goes_deep && number == NUMBER_OF_VOID && FIELD(uint8_t, dtype, look->flags_at) & 1) {
        keep(look, &look->structured, owner);
    }
    return made;
}

static void
look_at_array(Look *look, PyObject *array)
{
    PyObject *last = array, *base;
    while ((base = FIELD(PyObject *, last, ARRAY_BASE)) != NULL && is_looked_at_as_array(look, base)) {
        last = base;
    }
    look->n_arrays++;
    if (base != NULL) {
        keep(look, &look->foreign, array);
        return;
    }
    Owner *owner = set_has(&look->skipped, (uintptr_t)last) ? NULL : owner_at(look, last);
    if (owner == NULL) {
        return;
    }
    int64_t span = last == array ? owner->bytes : array_bytes(look, array);
    if (span > owner->span) {
        owner->span = span;
        owner->widest = array;
    }
}

/* Do what is wanted with one object, which is met once. */
static void
take_note(Look *look, Interest *interest, PyObject *object)
{
    if (set_has(&look->skipped, (uintptr_t)object)) {
        return;
    }
    interest->n++;
    if (interest->action & IS_RECORDED) {
        measure_now(look, interest, object);
    }
    if (interest->action & IS_HANDED_OUT && !is_unfinished(object)) {
        keep(look, &look->handed, object);
    }
    if (interest->action & IS_ARRAY) {
        look_at_array(look, object);
    }
}

static void
look_at_referent(Look *look, PyObject *object)
{
    const Met *met = met_at(look, (uintptr_t)Py_TYPE(object));
    if (LIKELY(!met->interest) || PyObject_GC_IsTracked(object)) {
        return; /* what is tracked is in the collector's list */
    }
    int is_new = set_add(&look->seen, (uintptr_t)object);
    if (is_new < 0) {
        look->failed = 1;
    }
    if (is_new <= 0) {
        return;
    }
    Interest *interest = &look->interests[met->interest - 1];
    take_note(look, interest, object);
    if (interest->action & LEADS_ON) {
        keep(look, &look->pending, object);
    }
}

static int
visit_referent(PyObject *object, void *arg)
{
    look_ahead(arg, object);
    return 0;
}

/* Look at the items of an array of objects that owns its memory, where they lie side by side. */
static void
look_at_items(Look *look, PyObject *array)
{
    PyObject **items = FIELD(PyObject **, array, ARRAY_DATA);
    int64_t n = array_bytes(look, array) / (int64_t)sizeof(PyObject *);
    for (int64_t i = 0; items != NULL && i < n; i++) {
        look_ahead(look, items[i]);
    }
}

static void
look_behind(Look *look, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_traverse != NULL && (type->tp_is_gc == NULL || type->tp_is_gc(object))) {
        type->tp_traverse(object, visit_referent, look);
    }
    if (look->shows_keys && type == &PyDict_Type) {
        Entries entries = entries_of(object);
        PyObject *key, *value;
        while (next_entry(&entries, &key, &value)) {
            look_ahead(look, key);
        }
    }
}

static void
look_behind_hidden(Look *look, PyObject *object)
{
    if (!is_looked_at_as_array(look, object)) {
        look_behind(look, object);
    }
    else if (FIELD(PyObject *, object, ARRAY_BASE) == NULL &&
             FIELD(int, FIELD(PyObject *, object, ARRAY_DTYPE), DTYPE_NUMBER) == NUMBER_OF_OBJECT) {
        look_at_items(look, object);
    }
}

static void
look_behind_pending(Look *look)
{
    do {
        while (look->pending.n && !look->failed) {
            look_behind_hidden(look, look->pending.objects[--look->pending.n]);
        }
        look_drain(look);
    } while (look->pending.n && !look->failed);
}

static void
look_at_tracked(void *arg, PyObject *object)
{
    Look *look = arg;
    if (UNLIKELY(look->failed)) {
        return;
    }
    Met *met = met_add(look, (uintptr_t)Py_TYPE(object));
    if (UNLIKELY(met == NULL)) {
        return;
    }
    if (met->count++ == 0) {
        met->is_module = (uint32_t)PyType_IsSubtype(Py_TYPE(object), &PyModule_Type);
    }
    int is_module = (int)met->is_module;
    if (met->interest && look->interests[met->interest - 1].action != LEADS_ON) {
        take_note(look, &look->interests[met->interest - 1], object);
    }
    if (look->goes_deep) {
        if (is_module) { /* what C keeps in a module's state is not safe to ask for */
            look_ahead(look, PyModule_GetDict(object));
        }
        else {
            look_behind(look, object);
        }
        if (UNLIKELY(look->pending.n > RING)) {
            look_behind_pending(look);
        }
    }
}

static void
look_at_local(void *arg, PyObject *name, PyObject *value)
{
    look_ahead(arg, value);
}

static void
look_at_locals(Look *look, PyObject *folders)
{
    Frames frames = {0};
    if (list_frames(&frames, folders) < 0) {
        look->failed = 1;
    }
    for (size_t i = 0; i < frames.program.n; i++) {
        each_local((PyFrameObject *)frames.program.objects[i], look_at_local, look);
    }
    look_drain(look);
    frames_free(&frames);
}

static int
look_make(Look *look, PyObject *types, const Py_buffer *actions, const Py_buffer *skip)
{
    Py_ssize_t n = PyTuple_GET_SIZE(types);
    look->mask = (1 << 12) - 1;
    look->met = calloc(look->mask + 1, sizeof(Met));
    look->interests = calloc((size_t)n + 2, sizeof(Interest));
    look->nothing = PyTuple_New(0);
    if (look->met == NULL || look->interests == NULL || look->nothing == NULL || set_make(&look->skipped) < 0 ||
        set_make(&look->seen) < 0 || map_make(&look->owner_of, 1 << 6) < 0) {
        return -1;
    }
    look->types = (Types){.deque = &PyList_Type, .ordered_dict = &PyDict_Type, .default_dict = &PyDict_Type,
                          .measured = look->nothing, .left_out = look->nothing, .trusted = look->types.trusted};
    for (Py_ssize_t i = 0; i < n; i++) {
        if (add_interest(look, (PyTypeObject *)PyTuple_GET_ITEM(types, i), ((const uint8_t *)actions->buf)[i]) < 0) {
            return -1;
        }
    }
    if (look->goes_deep && (add_interest(look, &PyTuple_Type, LEADS_ON) < 0 ||
                            add_interest(look, &PyDict_Type, LEADS_ON) < 0)) {
        return -1;
    }
    const uint64_t *at = skip->buf;
    for (Py_ssize_t i = 0; i < skip->len / 8; i++) {
        if (set_add(&look->skipped, (uintptr_t)at[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
list_tally(const Look *look)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i <= look->mask; i++) {
        const Met *met = &look->met[i];
        if (met->count) {
            append(&list, Py_BuildValue("(OK)", (PyObject *)met->type, (unsigned long long)met->count));
        }
    }
    return list;
}

static PyObject *
bytes_of(const void *items, size_t bytes)
{
    return PyBytes_FromStringAndSize(items, (Py_ssize_t)bytes);
}

static PyObject *
shape_of(PyObject *array)
{
    int n = FIELD(int, array, ARRAY_N_DIMENSIONS);
    PyObject *shape = PyTuple_New(n);
    for (int i = 0; shape != NULL && i < n; i++) {
        PyObject *length = PyLong_FromSsize_t(FIELD(Py_ssize_t *, array, ARRAY_DIMENSIONS)[i]);
        if (length == NULL) {
            Py_CLEAR(shape);
            break;
        }
        PyTuple_SET_ITEM(shape, i, length);
    }
    return shape;
}

/* Return (owner, type, dtype, shape, span) of the widest array on each large buffer: what describes it, not the array. */
static PyObject *
list_details(const Look *look, int are_wanted)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; are_wanted && list != NULL && i < look->n_owners; i++) {
        const Owner *owner = &look->owners[i];
        if (owner->bytes < look->min_bytes) {
            continue;
        }
        PyObject *shape = shape_of(owner->widest);
        append(&list, shape == NULL ? NULL
                                    : Py_BuildValue("(LLOONL)", (long long)owner->owner,
                                                    (long long)(intptr_t)owner->widest, Py_TYPE(owner->widest),
                                                    FIELD(PyObject *, owner->widest, ARRAY_DTYPE), shape,
                                                    (long long)owner->span));
    }
    return list;
}

static PyObject *
counts_of(const Look *look, Py_ssize_t n)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++) {
        append(&list, PyLong_FromLongLong(look->interests[i].n));
    }
    return list;
}

static PyObject *
answer_look(Look *look, Py_ssize_t n_types, int are_details_wanted)
{
    for (size_t i = 0; i <= look->mask; i++) {
        Py_XINCREF((PyObject *)look->met[i].type);
    }
    take_objects(&look->foreign);
    take_objects(&look->structured);
    take_objects(&look->handed);
    PyObject *parts[] = {
        list_details(look, are_details_wanted),
        list_tally(look),
        counts_of(look, n_types),
        bytes_of(look->records, look->n_records * sizeof(Recorded)),
        bytes_of(look->owners, look->n_owners * sizeof(Owner)),
        list_objects(&look->foreign),
        list_objects(&look->structured),
        list_objects(&look->handed),
    };
    size_t n = sizeof parts / sizeof *parts;
    PyObject *answer = PyTuple_New((Py_ssize_t)n + 1);
    int is_whole = answer != NULL;
    for (size_t i = 0; i < n; i++) {
        is_whole = is_whole && parts[i] != NULL;
        if (answer != NULL) {
            PyTuple_SET_ITEM(answer, (Py_ssize_t)i, parts[i]);
        }
        else {
            Py_XDECREF(parts[i]);
        }
    }
    if (answer != NULL) {
        PyTuple_SET_ITEM(answer, (Py_ssize_t)n, PyLong_FromUnsignedLongLong(look->n_arrays));
    }
    for (size_t i = 0; i <= look->mask; i++) {
        Py_XDECREF((PyObject *)look->met[i].type);
    }
    if (!is_whole) {
        Py_CLEAR(answer);
    }
    return answer;
}

PyDoc_STRVAR(look_doc,
             "look(types, ours, actions, dtype_layout, skip, starts, folders, trusted, goes_deep, shows_keys,\n"
             "     min_bytes)\n--\n\n"
             "Look at what is tracked, and behind it; see looking.py, which calls it.");

static void
leave_out_of_tally(Look *look, PyObject *object)
{
    Met *met = met_at(look, (uintptr_t)Py_TYPE(object));
    if (met->count && PyObject_GC_IsTracked(object)) {
        met->count--;
    }
}

static PyObject *
heap_look(PyObject *self, PyObject *args)
{
    PyObject *types, *ours, *starts, *folders, *trusted, *answer = NULL;
    Py_buffer actions, skip;
    Look look = {0};
    Generation *generations;
    if (!PyArg_ParseTuple(args, "O!O!y*(ii)y*O!O!O!ppn", &PyTuple_Type, &types, &PyTuple_Type, &ours, &actions,
                          &look.elsize_at, &look.flags_at, &skip, &PyList_Type, &starts, &PyTuple_Type, &folders,
                          &PyTuple_Type, &trusted, &look.goes_deep, &look.shows_keys, &look.min_bytes)) {
        return NULL;
    }
    Py_ssize_t n_types = PyTuple_GET_SIZE(types);
    int is_collecting = PyGC_Disable();
    look.types.trusted = trusted;
    if (actions.len != n_types || PyTuple_GET_SIZE(folders) != 2) {
        PyErr_SetString(PyExc_ValueError, "actions must have one byte for each type, and folders two texts");
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(trusted); i++) {
        if (PyUnicode_AsUTF8(PyTuple_GET_ITEM(trusted, i)) == NULL) {
            goto done;
        }
    }
    if (find_generations(&generations) < 0) {
        goto done;
    }
    if (look_make(&look, types, &actions, &skip) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    each_tracked_ahead(generations, look_at_tracked, &look);
    if (look.goes_deep) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(starts); i++) {
            look_ahead(&look, PyList_GET_ITEM(starts, i));
        }
        look_at_locals(&look, folders);
        look_behind_pending(&look);
    }
    measure_rest(&look);
    leave_out_of_tally(&look, args);
    leave_out_of_tally(&look, ours);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ours); i++) {
        leave_out_of_tally(&look, PyTuple_GET_ITEM(ours, i));
    }
    int are_details_wanted = 0;
    for (Py_ssize_t i = 0; i < n_types; i++) {
        are_details_wanted |= look.interests[i].action & IS_DETAILED;
    }
    answer = look.failed ? PyErr_NoMemory() : answer_look(&look, n_types, are_details_wanted);
done:
    look_free(&look);
    if (is_collecting) {
        PyGC_Enable();
    }
    PyBuffer_Release(&actions);
    PyBuffer_Release(&skip);
    return answer;
}

PyDoc_STRVAR(pick_doc, "pick(types, first_generation, last_generation)\n--\n\n"
                       "Return the tracked objects of exact types, oldest first; no tuple that is not filled.");

typedef struct {
    Tally tally;
    const PyObject *own;
} Picking;

static int
is_picked(const void *arg, PyObject *object)
{
    const Picking *picking = arg;
    return picking->tally.types[tally_slot(&picking->tally, (uintptr_t)Py_TYPE(object))] && object != picking->own &&
           !is_unfinished(object);
}

static PyObject *
heap_pick(PyObject *self, PyObject *args)
{
    PyObject *types, *answer = NULL;
    Generation *generations;
    Picking picking = {.own = args};
    Objects found = {0};
    int first, last, failed = 0;
    if (!PyArg_ParseTuple(args, "O!ii", &PyTuple_Type, &types, &first, &last) || find_generations(&generations) < 0) {
        return NULL;
    }
    size_t capacity = 64;
    while (capacity < 4 * (size_t)PyTuple_GET_SIZE(types)) {
        capacity *= 2;
    }
    if (first < 0 || last >= N_GENERATIONS || tally_make(&picking.tally, capacity) < 0) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        uintptr_t type = (uintptr_t)PyTuple_GET_ITEM(types, i);
        picking.tally.types[tally_slot(&picking.tally, type)] = type;
    }
    int is_collecting = PyGC_Disable();
    for (int i = last; i >= first && !failed; i--) {
        failed = choose(&generations[i], is_picked, &picking, &found) < 0;
    }
    if (failed) {
        PyErr_NoMemory();
    }
    else {
        take_objects(&found);
        answer = list_objects(&found);
    }
    if (is_collecting) {
        PyGC_Enable();
    }
    free(picking.tally.types);
    free(picking.tally.counts);
    FREE_ROOM(found.objects, found.room);
    return answer;
}

PyDoc_STRVAR(tracked_at_doc, "tracked_at(addresses)\n--\n\n"
                             "Return the tracked objects that lie at some addresses, packed; no tuple that is not filled.");

typedef struct {
    Set addresses;
    const PyObject *own;
} Places;

static int
is_at(const void *arg, PyObject *object)
{
    const Places *places = arg;
    return set_has(&places->addresses, (uintptr_t)object) && object != places->own && !is_unfinished(object);
}

/* Return 0, or -1 where there is no memory. */
static int
choose_at(Generation *generations, const Places *places, Objects *found)
{
    for (int i = N_GENERATIONS - 1; i >= 0; i--) {
        if (choose(&generations[i], is_at, places, found) < 0) {
            return -1;
        }
    }
    Generation *frozen = find_frozen(generations);
    return frozen == NULL ? 0 : choose(frozen, is_at, places, found);
}

static PyObject *
heap_tracked_at(PyObject *self, PyObject *args)
{
    Py_buffer addresses;
    PyObject *answer = NULL;
    Generation *generations;
    Places places = {.own = args};
    Objects found = {0};
    if (!PyArg_ParseTuple(args, "y*", &addresses)) {
        return NULL;
    }
    int failed = set_make(&places.addresses) < 0;
    for (Py_ssize_t i = 0; i < addresses.len / (Py_ssize_t)sizeof(uintptr_t) && !failed; i++) {
        failed = set_add(&places.addresses, ((const uintptr_t *)addresses.buf)[i]) < 0;
    }
    PyBuffer_Release(&addresses);
    int is_collecting = PyGC_Disable();
    if (failed || (find_generations(&generations) == 0 && choose_at(generations, &places, &found) < 0)) {
        PyErr_NoMemory();
    }
    else if (!PyErr_Occurred()) {
        take_objects(&found);
        answer = list_objects(&found);
    }
    if (is_collecting) {
        PyGC_Enable();
    }
    set_free(&places.addresses);
    FREE_ROOM(found.objects, found.room);
    return answer;
}

PyDoc_STRVAR(referrers_doc, "referrers(targets)\n--\n\n"
                            "Return the tracked objects that refer to one of a tuple's items, young ones first; neither the\n"
                            "tuple itself nor one that is not filled.");

typedef struct {
    Set targets;
    Objects found;
    PyObject *own;
    int failed;
} Referring;

static int
is_target(PyObject *object, void *targets)
{
    return object != NULL && set_has(targets, (uintptr_t)object);
}

static void
keep_referrer(void *arg, PyObject *object)
{
    Referring *referring = arg;
    PyTypeObject *type = Py_TYPE(object);
    if (type->tp_traverse != NULL && type->tp_traverse(object, is_target, &referring->targets) &&
        object != referring->own && !is_unfinished(object) &&
        put_object(&referring->found, object) < 0) {
        referring->failed = 1;
    }
}

static PyObject *
heap_referrers(PyObject *self, PyObject *targets)
{
    Generation *generations;
    Referring referring = {.own = targets};
    PyObject *answer = NULL;
    if (take_tuple(targets, "targets") < 0 || find_generations(&generations) < 0) {
        return NULL;
    }
    int is_collecting = PyGC_Disable();
    referring.failed = set_make(&referring.targets) < 0;
    for (Py_ssize_t i = 0; !referring.failed && i < PyTuple_GET_SIZE(targets); i++) {
        referring.failed = set_add(&referring.targets, (uintptr_t)PyTuple_GET_ITEM(targets, i)) < 0;
    }
    if (!referring.failed) {
        each_and_frozen(generations, keep_referrer, &referring);
    }
    if (referring.failed) {
        PyErr_NoMemory();
    }
    else {
        take_objects(&referring.found);
        answer = list_objects(&referring.found);
    }
    if (is_collecting) {
        PyGC_Enable();
    }
    set_free(&referring.targets);
    FREE_ROOM(referring.found.objects, referring.found.room);
    return answer;
}

PyDoc_STRVAR(holders_doc, "holders(addresses)\n--\n\n"
                          "Return (address, type of a holder, its address) for some holders of each object, young ones first.");

#define HOLDERS_AT_MOST 16

typedef struct {
    Map found; /* number of holders of each address, from 1 on */
    Recorded *links; /* interest: unused */
    size_t n, room;
    PyObject *holder;
    int failed;
} Holding;

static int
visit_held(PyObject *object, void *arg)
{
    Holding *holding = arg;
    Entry *entry = object == NULL ? NULL : map_find(&holding->found, (uint64_t)(uintptr_t)object);
    if (entry == NULL || !entry->key || entry->value > HOLDERS_AT_MOST) {
        return 0;
    }
    if (make_room(&holding->links, holding->n, &holding->room, sizeof(Recorded)) < 0) {
        holding->failed = 1;
        return 0;
    }
    entry->value++;
    holding->links[holding->n++] = (Recorded){0, (int64_t)(intptr_t)object, (int64_t)(intptr_t)Py_TYPE(holding->holder),
                                              (int64_t)(intptr_t)holding->holder};
    return 0;
}

static void
visit_holder(void *arg, PyObject *object)
{
    Holding *holding = arg;
    holding->holder = object;
    if (Py_TYPE(object)->tp_traverse != NULL) {
        Py_TYPE(object)->tp_traverse(object, visit_held, holding);
    }
}

static PyObject *
heap_holders(PyObject *self, PyObject *args)
{
    Py_buffer addresses;
    Generation *generations;
    Holding holding = {0};
    PyObject *answer = NULL;
    if (!PyArg_ParseTuple(args, "y*", &addresses)) {
        return NULL;
    }
    int is_collecting = PyGC_Disable();
    if (find_generations(&generations) == 0) {
        holding.failed = map_make(&holding.found, 1 << 8) < 0;
        for (Py_ssize_t i = 0; !holding.failed && i < addresses.len / 8; i++) {
            holding.failed = map_put(&holding.found, ((const uint64_t *)addresses.buf)[i], 1) < 0;
        }
        if (!holding.failed) {
            each_and_frozen(generations, visit_holder, &holding);
        }
        answer = holding.failed ? PyErr_NoMemory() : PyList_New(0);
    }
    for (size_t i = 0; answer != NULL && i < holding.n; i++) {
        const Recorded *link = &holding.links[i];
        append(&answer, Py_BuildValue("(LOL)", (long long)link->address, (PyObject *)(intptr_t)link->length,
                                      (long long)link->bytes));
    }
    if (is_collecting) {
        PyGC_Enable();
    }
    map_free(&holding.found);
    FREE_ROOM(holding.links, holding.room);
    PyBuffer_Release(&addresses);
    return answer;
}

PyDoc_STRVAR(hidden_parents_doc,
             "hidden_parents(targets, arrays)\n--\n\n"
             "Return (parent, child) for each tuple, dict and array that is not tracked and leads to one of the targets.");

typedef struct {
    PyObject *parent, *child;
} Leading;

typedef struct {
    Set targets, seen, kinds;
    Objects pending;
    Leading *links;
    size_t n_links, links_room;
    PyTypeObject *array;
    PyObject *parent; /* NULL while tracked objects are gone through */
    int failed;
} Hiding;

static int
visit_hidden(PyObject *object, void *arg)
{
    Hiding *hiding = arg;
    if (object == NULL) {
        return 0;
    }
    int is_hidden = set_has(&hiding->kinds, (uintptr_t)Py_TYPE(object)) && !PyObject_GC_IsTracked(object);
    if (hiding->parent != NULL && (is_hidden || set_has(&hiding->targets, (uintptr_t)object))) {
        if (make_room(&hiding->links, hiding->n_links, &hiding->links_room, sizeof(Leading)) < 0) {
            hiding->failed = 1;
            return 0;
        }
        hiding->links[hiding->n_links++] = (Leading){hiding->parent, object};
    }
    if (is_hidden) {
        int is_new = set_add(&hiding->seen, (uintptr_t)object);
        if (is_new < 0 ||
            (is_new && put_object(&hiding->pending, object) < 0)) {
            hiding->failed = 1;
        }
    }
    return 0;
}

static void
visit_from_tracked(void *arg, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyType_IsSubtype(type, &PyModule_Type)) {
        visit_hidden(PyModule_GetDict(object), arg);
    }
    else if (type->tp_traverse != NULL) {
        type->tp_traverse(object, visit_hidden, arg);
    }
}

static void
visit_behind_hidden(Hiding *hiding, PyObject *object)
{
    hiding->parent = object;
    if (hiding->array == NULL || !PyType_IsSubtype(Py_TYPE(object), hiding->array)) {
        Py_TYPE(object)->tp_traverse(object, visit_hidden, hiding);
        return;
    }
    PyObject *base = FIELD(PyObject *, object, ARRAY_BASE);
    PyObject *dtype = FIELD(PyObject *, object, ARRAY_DTYPE);
    if (base != NULL) {
        visit_hidden(base, hiding);
    }
    else if (FIELD(int, dtype, DTYPE_NUMBER) == NUMBER_OF_OBJECT) {
        PyObject **items = FIELD(PyObject **, object, ARRAY_DATA);
        int64_t n = 1;
        for (int i = 0; i < FIELD(int, object, ARRAY_N_DIMENSIONS); i++) {
            n *= FIELD(Py_ssize_t *, object, ARRAY_DIMENSIONS)[i];
        }
        for (int64_t i = 0; items != NULL && i < n; i++) {
            visit_hidden(items[i], hiding);
        }
    }
}

/* Keep the links that lead to a target, by going back from the targets until nothing is new. */
static int
keep_leading(Hiding *hiding, Objects *pairs)
{
    int is_new = 1;
    while (is_new) {
        is_new = 0;
        for (size_t i = hiding->n_links; i-- > 0;) {
            Leading *link = &hiding->links[i];
            if (link->child == NULL || !set_has(&hiding->targets, (uintptr_t)link->child)) {
                continue;
            }
            if (set_add(&hiding->targets, (uintptr_t)link->parent) < 0 ||
                put_object(pairs, link->parent) < 0 ||
                put_object(pairs, link->child) < 0) {
                return -1;
            }
            link->child = NULL;
            is_new = 1;
        }
    }
    return 0;
}

static PyObject *
list_pairs(const Objects *pairs)
{
    take_objects(pairs);
    PyObject *answer = PyList_New(0);
    for (size_t i = 0; answer != NULL && i < pairs->n; i += 2) {
        append(&answer, PyTuple_Pack(2, pairs->objects[i], pairs->objects[i + 1]));
    }
    for (size_t i = 0; i < pairs->n; i++) {
        Py_DECREF(pairs->objects[i]);
    }
    return answer;
}

static PyObject *
heap_hidden_parents(PyObject *self, PyObject *args)
{
    Py_buffer targets;
    PyObject *arrays, *answer = NULL;
    Generation *generations;
    Hiding hiding = {0};
    Objects pairs = {0};
    if (!PyArg_ParseTuple(args, "y*O!", &targets, &PyTuple_Type, &arrays)) {
        return NULL;
    }
    int is_collecting = PyGC_Disable();
    if (find_generations(&generations) < 0) {
        goto done;
    }
    hiding.failed = set_make(&hiding.targets) < 0 || set_make(&hiding.seen) < 0 ||
                    set_make(&hiding.kinds) < 0 || set_add(&hiding.kinds, (uintptr_t)&PyTuple_Type) < 0 ||
                    set_add(&hiding.kinds, (uintptr_t)&PyDict_Type) < 0;
    for (Py_ssize_t i = 0; !hiding.failed && i < PyTuple_GET_SIZE(arrays); i++) {
        hiding.array = (PyTypeObject *)PyTuple_GET_ITEM(arrays, 0);
        hiding.failed = set_add(&hiding.kinds, (uintptr_t)PyTuple_GET_ITEM(arrays, i)) < 0;
    }
    for (Py_ssize_t i = 0; !hiding.failed && i < targets.len / 8; i++) {
        hiding.failed = set_add(&hiding.targets, (uintptr_t)((const uint64_t *)targets.buf)[i]) < 0;
    }
    if (!hiding.failed) {
        each_tracked(generations, visit_from_tracked, &hiding);
    }
    while (hiding.pending.n && !hiding.failed) {
        visit_behind_hidden(&hiding, hiding.pending.objects[--hiding.pending.n]);
    }
    answer = hiding.failed || keep_leading(&hiding, &pairs) < 0 ? PyErr_NoMemory() : list_pairs(&pairs);
done:
    if (is_collecting) {
        PyGC_Enable();
    }
    set_free(&hiding.targets);
    set_free(&hiding.seen);
    set_free(&hiding.kinds);
    FREE_ROOM(hiding.pending.objects, hiding.pending.room);
    FREE_ROOM(hiding.links, hiding.links_room);
    FREE_ROOM(pairs.objects, pairs.room);
    PyBuffer_Release(&targets);
    return answer;
}

#ifdef PHASEPROF_FAILING_MALLOC
static PyObject *
heap_fail_after(PyObject *self, PyObject *number)
{
    requests_left = PyLong_AsLong(number);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(requests_left > 0);
}
#endif

/* ------------------------------------------------------------------------------------------------------------------ */
/* What is ours. */

enum { NOT_OURS, LEAF, FOLLOWED };
#define RECENT_TYPES 64

/* What some objects of ours hold: through instances of our types and plain containers, each object once. */
typedef struct {
    Objects met;
    Set seen;
    PyObject *plain; /* tuple of exact types */
    Py_ssize_t n_followed;
    PyTypeObject *types[RECENT_TYPES];
    uint8_t ways[RECENT_TYPES];
    size_t most;
} Own;

static Py_ssize_t
index_in(PyObject *types, PyTypeObject *type)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        if (PyTuple_GET_ITEM(types, i) == (PyObject *)type) {
            return i;
        }
    }
    return -1;
}

static int
way_of(Own *own, PyTypeObject *type)
{
    size_t at = (size_t)((uintptr_t)type >> 4) % RECENT_TYPES;
    if (own->types[at] != type) {
        Py_ssize_t index = index_in(own->plain, type);
        own->types[at] = type;
        own->ways[at] = index >= own->n_followed ? LEAF : index >= 0 || is_ours(type) ? FOLLOWED : NOT_OURS;
    }
    return own->ways[at];
}

/* Meet an object that one of ours holds; 0, or -1 where there is no memory. */
static int
meet_own(PyObject *object, void *arg)
{
    Own *own = arg;
    if (own->met.n >= own->most || way_of(own, Py_TYPE(object)) == NOT_OURS) {
        return 0;
    }
    int is_new = set_add(&own->seen, (uintptr_t)object);
    return is_new > 0 ? put_object(&own->met, object) : is_new;
}

static int
meet_all_own(Own *own, PyObject *roots)
{
    int failed = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots) && !failed; i++) {
        failed = meet_own(PyList_GET_ITEM(roots, i), own);
    }
    for (size_t i = 0; i < own->met.n && !failed; i++) {
        PyObject *object = own->met.objects[i];
        PyTypeObject *type = Py_TYPE(object);
        if (way_of(own, type) == FOLLOWED && PyObject_IS_GC(object) && type->tp_traverse != NULL) {
            failed = type->tp_traverse(object, meet_own, own);
        }
    }
    return failed;
}

/* For each plain type, how many were met that the collector tracks. */
static PyObject *
count_own(const Own *own)
{
    Py_ssize_t n_types = PyTuple_GET_SIZE(own->plain);
    long long counts[16] = {0};
    for (size_t i = 0; i < own->met.n; i++) {
        Py_ssize_t at = index_in(own->plain, Py_TYPE(own->met.objects[i]));
        if (at >= 0) {
            counts[at] += PyObject_GC_IsTracked(own->met.objects[i]);
        }
    }
    PyObject *answer = PyTuple_New(n_types);
    for (Py_ssize_t at = 0; answer != NULL && at < n_types; at++) {
        PyObject *count = PyLong_FromLongLong(counts[at]);
        if (count == NULL) {
            Py_CLEAR(answer);
        }
        else {
            PyTuple_SET_ITEM(answer, at, count);
        }
    }
    return answer;
}

PyDoc_STRVAR(own_doc,
             "own(roots, plain, n_followed, most)\n--\n\n"
             "Follow what objects of ours hold, through instances of our types and plain containers.\n\n"
             "Args:\n"
             "    roots: list of objects of ours.\n"
             "    plain: tuple of at most 16 exact types that are ours where one of ours holds them.\n"
             "    n_followed: of the first so many of them, what they hold is, too.\n"
             "    most: how many objects are met at most.\n\n"
             "Returns:\n"
             "    Bytes of the addresses met, 64 bits each, and for each plain type how many of them the collector tracks.");

static PyObject *
heap_own(PyObject *self, PyObject *args)
{
    PyObject *roots, *counts = NULL, *addresses = NULL;
    Own own = {{0}};
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "O!O!nn", &PyList_Type, &roots, &PyTuple_Type, &own.plain, &own.n_followed, &most)) {
        return NULL;
    }
    if (most < 0 || own.n_followed < 0 || PyTuple_GET_SIZE(own.plain) > 16) {
        PyErr_SetString(PyExc_ValueError, "own takes at most 16 plain types, and no negative number");
        return NULL;
    }
    own.most = (size_t)most;
    if (set_make(&own.seen) < 0) {
        return PyErr_NoMemory();
    }
    if (meet_all_own(&own, roots) < 0) {
        PyErr_NoMemory();
    }
    else {
        counts = count_own(&own); /* first: what is made after it may run the collector */
        addresses = counts == NULL ? NULL
                                   : PyBytes_FromStringAndSize((const char *)own.met.objects,
                                                               (Py_ssize_t)(own.met.n * sizeof(PyObject *)));
    }
    free_room(own.met.objects, own.met.room * sizeof(PyObject *));
    set_free(&own.seen);
    PyObject *answer = addresses == NULL ? NULL : PyTuple_Pack(2, addresses, counts);
    Py_XDECREF(addresses);
    Py_XDECREF(counts);
    return answer;
}

static PyMethodDef methods[] = {
#ifdef PHASEPROF_FAILING_MALLOC
    {"fail_after", heap_fail_after, METH_O, "Refuse the n-th request for memory; -1: none."},
#endif
    {"places", heap_places, METH_VARARGS, places_doc},
    {"deep_size", heap_deep_size, METH_VARARGS, deep_size_doc},
    {"known", heap_known, METH_NOARGS, known_doc},
    {"learn", heap_learn, METH_VARARGS, learn_doc},
    {"count", heap_count, METH_O, count_doc},
    {"local_values", heap_local_values, METH_O, local_values_doc},
    {"look", heap_look, METH_VARARGS, look_doc},
    {"own", heap_own, METH_VARARGS, own_doc},
    {"pick", heap_pick, METH_VARARGS, pick_doc},
    {"tracked_at", heap_tracked_at, METH_VARARGS, tracked_at_doc},
    {"referrers", heap_referrers, METH_O, referrers_doc},
    {"holders", heap_holders, METH_VARARGS, holders_doc},
    {"hidden_parents", heap_hidden_parents, METH_VARARGS, hidden_parents_doc},
    {NULL, NULL, 0, NULL},
};

/* To be raised, here and in extension.py, with each change of what a function takes or returns. */
#define INTERFACE 12

static int
fill_module(PyObject *module)
{
    knows_entries = are_entries_known();
    return PyModule_AddIntConstant(module, "interface", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_heap", "Passes over the whole heap that hold the interpreter's lock.", 0, methods,
    slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__heap(void)
{
    return PyModuleDef_Init(&module);
}
