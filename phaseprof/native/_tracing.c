/* Traces some of what Python's allocators hand out, by the interpreter's own tracer (tracemalloc).

   To note the calls that led to a block takes that tracer 1 µs and more for each call, so that a loop of small steps
   would take 20 to 60 times as long.  So of each size the first blocks are traced, and then ever fewer, chosen at
   random; each trace stands for as many blocks as were passed over for it.  All others come from the allocator beneath.

   What is allocated without the interpreter's lock is not traced at all: a thread that waits for the lock there when
   tracing stops would end the process (python/cpython#128679).  So all that is here happens under that lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#ifdef Py_GIL_DISABLED
#error "tracing relies on the interpreter's lock"
#endif

/* Of each size so many are traced before half as many are, and so on. */
#define OF_A_SIZE 512
#define MOST_PASSED_OVER (1u << 16)
/* Sizes up to 512 bytes, which are Python's own allocator's, by eight bytes, and those above by powers of two. */
#define N_SMALL 65
#define N_SIZES (N_SMALL + 32)
/* Traces at most, and the places for them in a table that is three quarters full then. */
#define N_PLACES (1u << 15)
#define MOST_TRACED (N_PLACES / 4 * 3)

typedef struct {
    uintptr_t block;
    uint64_t weight; /* the number of blocks that its trace stands for; 0: the place is free */
} Traced;

typedef struct {
    uint32_t n_traced;
    uint32_t left;  /* to be passed over before the next is traced */
    uint32_t every; /* one in so many is traced; 0 stands for 1 */
} Size;

/* Python's allocators of objects, without the tracer, with it, and with what is here before it. */
typedef struct {
    PyMemAllocatorDomain name;
    PyMemAllocatorEx plain, tracer, ours;
} Domain;

static Domain domains[] = {{.name = PYMEM_DOMAIN_MEM}, {.name = PYMEM_DOMAIN_OBJ}};
#define N_DOMAINS (sizeof domains / sizeof *domains)

static Traced *traced; /* NULL while nothing is traced */
static uint32_t n_traced;
static Size sizes[N_SIZES];
static int is_paused; /* what is traced stays known, and nothing more is traced */
static uint64_t random_state;
static PyInterpreterState *interpreter; /* one that has a lock of its own has its own blocks, and is not traced */

static uint32_t
random_below(uint32_t end)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % end;
}

static uint32_t
number_of_size(size_t bytes)
{
    if (bytes <= 512) {
        return (uint32_t)(bytes + 7) / 8;
    }
    uint32_t number = N_SMALL;
    for (bytes >>= 10; bytes && number < N_SIZES - 1; bytes >>= 1) {
        number++;
    }
    return number;
}

/* The interpreter of the calling thread; NULL where one that does not hold the lock asks for memory by mistake. */
static PyInterpreterState *
current_interpreter(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyThreadState *thread = PyThreadState_GetUnchecked();
#else
    PyThreadState *thread = _PyThreadState_UncheckedGet();
#endif
    return thread == NULL ? NULL : PyThreadState_GetInterpreter(thread);
}

/* Return for how many blocks the next one of a size stands, 0 if it is passed over. */
static uint32_t
weight_of_next(size_t bytes)
{
    if (is_paused) {
        return 0;
    }
    Size *size = &sizes[number_of_size(bytes)];
    if (size->left) {
        size->left--;
        return 0;
    }
    if (n_traced >= MOST_TRACED || current_interpreter() != interpreter) {
        return 0;
    }
    uint32_t weight = size->every ? size->every : 1;
    if (++size->n_traced % OF_A_SIZE == 0 && weight < MOST_PASSED_OVER) {
        size->every = 2 * weight;
    }
    if (size->every > 1) {
        size->left = random_below(2 * size->every - 1); /* every - 1 on average */
    }
    return weight;
}

/* --- the blocks that are traced ---------------------------------------------------------------------------------- */

static uint32_t
home_of(uintptr_t block)
{
    return (uint32_t)((uint64_t)(block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 49) & (N_PLACES - 1);
}

static Traced *
find(uintptr_t block)
{
    uint32_t at = home_of(block);
    while (traced[at].weight && traced[at].block != block) {
        at = (at + 1) & (N_PLACES - 1);
    }
    return &traced[at];
}

static void
remember(void *block, uint64_t weight)
{
    if (block == NULL) {
        return;
    }
    Traced *place = find((uintptr_t)block);
    n_traced += !place->weight;
    *place = (Traced){(uintptr_t)block, weight};
}

/* Forget a block; return its weight, 0 if it was not traced.  Those that stood further on for its sake move up. */
static uint64_t
forget(void *block)
{
    Traced *place = find((uintptr_t)block);
    uint64_t weight = place->weight;
    if (!weight) {
        return 0;
    }
    uint32_t hole = (uint32_t)(place - traced);
    for (uint32_t at = (hole + 1) & (N_PLACES - 1); traced[at].weight; at = (at + 1) & (N_PLACES - 1)) {
        uint32_t from_home = (at - home_of(traced[at].block)) & (N_PLACES - 1);
        if (from_home >= ((at - hole) & (N_PLACES - 1))) {
            traced[hole] = traced[at];
            hole = at;
        }
    }
    traced[hole].weight = 0;
    n_traced--;
    return weight;
}

static Traced *
map_places(void)
{
    size_t bytes = N_PLACES * sizeof *traced;
#ifdef __linux__ /* pages of its own: the program's counters are read while it is there */
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
#else
    return calloc(bytes, 1);
#endif
}

static void
unmap_places(void)
{
    if (traced != NULL) {
#ifdef __linux__
        munmap(traced, N_PLACES * sizeof *traced);
#else
        free(traced);
#endif
    }
    traced = NULL;
}

/* --- the allocators ---------------------------------------------------------------------------------------------- */

#define ASK(allocator, function, ...) (allocator).function((allocator).ctx, __VA_ARGS__)

static void *
our_malloc(void *context, size_t bytes)
{
    Domain *domain = context;
    uint32_t weight = traced == NULL ? 0 : weight_of_next(bytes);
    if (!weight) {
        return ASK(domain->plain, malloc, bytes);
    }
    void *block = ASK(domain->tracer, malloc, bytes);
    remember(block, weight);
    return block;
}

static void *
our_calloc(void *context, size_t n, size_t bytes)
{
    Domain *domain = context;
    uint32_t weight = traced == NULL ? 0 : weight_of_next(n * bytes);
    if (!weight) {
        return ASK(domain->plain, calloc, n, bytes);
    }
    void *block = ASK(domain->tracer, calloc, n, bytes);
    remember(block, weight);
    return block;
}

static void *
our_realloc(void *context, void *block, size_t bytes)
{
    Domain *domain = context;
    if (block == NULL) {
        return our_malloc(context, bytes);
    }
    uint64_t before = traced == NULL ? 0 : forget(block);
    uint64_t weight = before || traced == NULL ? before : weight_of_next(bytes);
    if (!weight) {
        return ASK(domain->plain, realloc, block, bytes);
    }
    void *moved = ASK(domain->tracer, realloc, block, bytes);
    if (moved != NULL) {
        remember(moved, weight);
    }
    else if (before) {
        remember(block, before);
    }
    return moved;
}

static void
our_free(void *context, void *block)
{
    Domain *domain = context;
    if (block != NULL && traced != NULL && forget(block)) {
        ASK(domain->tracer, free, block);
    }
    else {
        ASK(domain->plain, free, block);
    }
}

/* --- what Python calls ------------------------------------------------------------------------------------------- */

static int
are_ours_in_use(void)
{
    for (size_t i = 0; i < N_DOMAINS; i++) {
        PyMemAllocatorEx now;
        PyMem_GetAllocator(domains[i].name, &now);
        if (now.malloc != our_malloc || now.ctx != &domains[i]) {
            return 0;
        }
    }
    return 1;
}

PyDoc_STRVAR(start_doc,
             "start(start, n_frames)\n--\n\n"
             "Call tracemalloc's start, and let it trace some of what is allocated under the interpreter's lock; nothing is done\n"
             "where that was done before.");

static PyObject *
tracing_start(PyObject *self, PyObject *args)
{
    PyObject *start, *n_frames;
    if (!PyArg_ParseTuple(args, "OO!", &start, &PyLong_Type, &n_frames)) {
        return NULL;
    }
    if (traced != NULL && are_ours_in_use()) { /* another thread was faster */
        Py_RETURN_NONE;
    }
    unmap_places();
    Traced *places = map_places();
    if (places == NULL) {
        return PyErr_NoMemory();
    }
    PyMemAllocatorEx raw;
    PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
    for (size_t i = 0; i < N_DOMAINS; i++) {
        PyMem_GetAllocator(domains[i].name, &domains[i].plain);
    }
    PyObject *answer = PyObject_CallOneArg(start, n_frames);
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &raw);
    traced = places;
    if (answer == NULL) {
        unmap_places();
        return NULL;
    }
    is_paused = 0;
    n_traced = 0;
    memset(sizes, 0, sizeof sizes);
    random_state = (uint64_t)(uintptr_t)places ^ UINT64_C(0x2545F4914F6CDD1D);
    interpreter = PyInterpreterState_Get();
    for (size_t i = 0; i < N_DOMAINS; i++) {
        PyMem_GetAllocator(domains[i].name, &domains[i].tracer);
        domains[i].ours = (PyMemAllocatorEx){&domains[i], our_malloc, our_calloc, our_realloc, our_free};
        PyMem_SetAllocator(domains[i].name, &domains[i].ours);
    }
    return answer;
}

PyDoc_STRVAR(end_doc,
             "end()\n--\n\n"
             "Give back what was kept for tracing, after tracemalloc's stop; nothing happens while it goes on.");

static PyObject *
tracing_end(PyObject *self, PyObject *unused)
{
    if (!are_ours_in_use()) {
        unmap_places();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(pause_doc, "pause()\n--\n\nTrace nothing more; of what was traced it stays known whether it is there.");

static PyObject *
tracing_pause(PyObject *self, PyObject *unused)
{
    is_paused = 1;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(blocks_doc, "blocks()\n--\n\nReturn where the blocks lie that were traced and are still there, as uint64.");

static PyObject *
tracing_blocks(PyObject *self, PyObject *unused)
{
    is_paused = 1; /* the answer would be one of them */
    PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n_traced * sizeof(uint64_t)));
    uint64_t *at = answer == NULL ? NULL : (uint64_t *)(void *)PyBytes_AS_STRING(answer);
    for (uint32_t i = 0; at != NULL && traced != NULL && i < N_PLACES; i++) {
        if (traced[i].weight) {
            *at++ = traced[i].block;
        }
    }
    return answer;
}

/* Return where the block begins in which an object lies: after it come what the collector keeps, and pointers to its
   dict and its weak references. */
static uintptr_t
block_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    uintptr_t before = PyType_IS_GC(type) ? 2 * sizeof(PyObject *) : 0;
#if PY_VERSION_HEX >= 0x030C0000
    before += type->tp_flags & (Py_TPFLAGS_MANAGED_DICT | Py_TPFLAGS_MANAGED_WEAKREF) ? 2 * sizeof(PyObject *) : 0;
#elif PY_VERSION_HEX >= 0x030B0000
    before += type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? 2 * sizeof(PyObject *) : 0;
#endif
    return (uintptr_t)object - before;
}

/* CPython 3.11 looks for the trace of an instance with a dict after the two pointers to that, where no block begins. */
static PyObject *
trace_of(PyObject *read, PyObject *object)
{
#if PY_VERSION_HEX < 0x030C0000 && PY_VERSION_HEX >= 0x030B0000
    if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_MANAGED_DICT)) {
        return _PyTraceMalloc_GetTraceback(0, block_of(object));
    }
#endif
    return PyObject_CallOneArg(read, object);
}

/* The beginning of the standard library's array, which has eight words and had them in every version. */
typedef struct {
    PyVarObject head;
    void *items;
} ArrayBeginning;
#define ARRAY_SIZE ((Py_ssize_t)(8 * sizeof(void *)))

/* Return the block in which a list, a bytearray or an array of the standard library keeps its items, 0 for others. */
static uintptr_t
buffer_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyList_CheckExact(object)) {
        return (uintptr_t)((PyListObject *)object)->ob_item;
    }
    if (PyByteArray_CheckExact(object)) {
        return (uintptr_t)((PyByteArrayObject *)object)->ob_bytes;
    }
    if (type->tp_basicsize == ARRAY_SIZE && !strcmp(type->tp_name, "array.array")) {
        return (uintptr_t)((ArrayBeginning *)object)->items;
    }
    return 0;
}

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000 /* exported, in a header of the interpreter's own */
extern PyObject *_PyTraceMalloc_GetTraceback(unsigned int domain, uintptr_t block);
#endif

static PyObject *
trace_of_block(uintptr_t block)
{
#if PY_VERSION_HEX < 0x030E0000
    if (block) {
        return _PyTraceMalloc_GetTraceback(0, block);
    }
#endif
    Py_RETURN_NONE;
}

/* Return what is known of an object, or of the buffer in which it keeps its items, and how many it stands for. */
static PyObject *
trace_with_weight(PyObject *read, PyObject *object, int of_buffer, uint64_t *weight)
{
    uintptr_t block = of_buffer ? buffer_of(object) : block_of(object);
    PyObject *trace = of_buffer ? trace_of_block(block) : trace_of(read, object);
    *weight = traced == NULL ? 0 : find(block)->weight;
    *weight += !*weight;
    return trace;
}

typedef struct {
    PyObject *read, *objects;
    int of_buffers;
} Asking;

static int
read_traces(const Asking *asking, const int64_t *asked, Py_ssize_t n, PyObject *traces, uint64_t *weights)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (asked[i] < 0 || asked[i] >= PyList_GET_SIZE(asking->objects)) {
            PyErr_SetString(PyExc_IndexError, "no such object");
            return -1;
        }
        PyObject *object = PyList_GET_ITEM(asking->objects, (Py_ssize_t)asked[i]);
        PyObject *trace = trace_with_weight(asking->read, object, asking->of_buffers, &weights[i]);
        if (trace == NULL) {
            return -1;
        }
        int failed = PyList_Append(traces, trace);
        Py_DECREF(trace);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(traces_doc,
             "traces(read, objects, positions, of_buffers)\n--\n\n"
             "Return what tracemalloc knows of some objects of a list, None where it knows nothing, and for how many\n"
             "objects each stands, as uint64.\n\n"
             "read: its function for one object.  positions: int64, in the list.  of_buffers: of the blocks in which they\n"
             "keep their items.  What is made here is not traced itself, unless somebody else's allocators are in use; no\n"
             "other thread and no collection may run meanwhile.");

static PyObject *
tracing_traces(PyObject *self, PyObject *args)
{
    Asking asking;
    Py_buffer positions;
    if (!PyArg_ParseTuple(args, "OO!y*p", &asking.read, &PyList_Type, &asking.objects, &positions, &asking.of_buffers)) {
        return NULL;
    }
    int is_ours = are_ours_in_use();
    for (size_t i = 0; is_ours && i < N_DOMAINS; i++) {
        PyMem_SetAllocator(domains[i].name, &domains[i].plain);
    }
    Py_ssize_t n = positions.len / (Py_ssize_t)sizeof(int64_t);
    PyObject *traces = PyList_New(0), *answer = NULL;
    PyObject *weights = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(uint64_t));
    if (traces != NULL && weights != NULL &&
        read_traces(&asking, positions.buf, n, traces, (uint64_t *)(void *)PyBytes_AS_STRING(weights)) == 0) {
        answer = PyTuple_Pack(2, traces, weights);
    }
    Py_XDECREF(traces);
    Py_XDECREF(weights);
    for (size_t i = 0; is_ours && i < N_DOMAINS; i++) {
        PyMem_SetAllocator(domains[i].name, &domains[i].ours);
    }
    PyBuffer_Release(&positions);
    return answer;
}

static PyMethodDef methods[] = {
    {"start", tracing_start, METH_VARARGS, start_doc},
    {"end", tracing_end, METH_NOARGS, end_doc},
    {"pause", tracing_pause, METH_NOARGS, pause_doc},
    {"blocks", tracing_blocks, METH_NOARGS, blocks_doc},
    {"traces", tracing_traces, METH_VARARGS, traces_doc},
    {NULL, NULL, 0, NULL},
};

/* To be raised, here and in extension.py, with each change of what a function takes or returns. */
#define INTERFACE 2

static int
fill_module(PyObject *module)
{
    return PyModule_AddIntConstant(module, "interface", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_tracing", "Traces of some allocations.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__tracing(void)
{
    return PyModuleDef_Init(&module);
}
