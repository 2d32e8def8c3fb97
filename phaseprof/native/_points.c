/* Boundaries of the program recorded in one call: the process's memory is read, the line is made and written.

   An OpenFile is the file that a recording goes to, or none if it stays in memory.  As long as nothing waits and nothing else is due, which is nearly
   always, a line is written by one system call here; whatever is unusual waits for the writer in Python.  No code in
   Python runs within a call, so that a signal handler finds each line either written and counted, or waiting. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES 160 /* seven 64-bit numbers in decimal need at most 147 */
#define LINE_BYTES (TEXT_BYTES + 160) /* and five more, with the names around them */
#define NS_PER_S INT64_C(1000000000)
#define N_NUMBERS 5
#define MANY 32768 /* fields that wait for the model: it is to take them in */

typedef struct {
    PyObject_HEAD
    int fd;                /* -1: none is open */
    int statm;             /* descriptor of /proc/self/statm */
    char is_smooth;        /* nothing but writing the next line is to be done */
    char is_busy;          /* somebody is writing */
    long long look_at_ns;  /* on the monotonic clock: when something else is due */
    long long size;
    long long n_records;
    PyObject *tried;       /* the head of what may have been written of the first that waits; None: nothing was tried */
    PyObject *waiting;     /* deque of (lines, number of records); None: nothing is written */
    PyObject *pending;     /* list of the fields of boundaries that wait for the model */
} OpenFile;

static long long
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Let lines wait at one end; return whether that was done. */
static int
let_wait(OpenFile *self, const char *end, const char *lines, Py_ssize_t length, long long n_records)
{
    PyObject *done = PyObject_CallMethod(self->waiting, end, "((y#L))", lines, length, n_records);
    Py_XDECREF(done);
    return done != NULL;
}

/* Write lines if nothing else is due, or let them wait; return whether the writer has something to do, -1 on errors. */
static int
put(OpenFile *self, const char *lines, Py_ssize_t length, long long n_records)
{
    Py_ssize_t n_waiting = PyObject_Size(self->waiting);
    if (!self->is_smooth || self->is_busy || n_waiting != 0 || now_ns() >= self->look_at_ns) {
        return n_waiting < 0 || !let_wait(self, "append", lines, length, n_records) ? -1 : 1;
    }
    int fd = self->fd;
    ssize_t n_written;
    self->is_busy = 1;
    Py_BEGIN_ALLOW_THREADS
    n_written = write(fd, lines, (size_t)length);
    Py_END_ALLOW_THREADS
    int is_kept = 1;
    if (n_written == length) {
        self->size += n_written;
        self->n_records += n_records;
    }
    else { /* what became of it is found out next */
        self->is_smooth = 0;
        Py_XSETREF(self->tried, PyBytes_FromStringAndSize("", 0));
        is_kept = self->tried != NULL && let_wait(self, "appendleft", lines, length, n_records);
    }
    self->is_busy = 0;
    return is_kept ? !self->is_smooth || PyObject_Size(self->waiting) != 0 : -1;
}

static PyObject *
as_bool(int answer)
{
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

PyDoc_STRVAR(write_doc,
             "write(lines, n_records)\n--\n\n"
             "Append whole lines to the file, or let them wait.\n\n"
             "Returns:\n    Whether the writer has something to do.");

static PyObject *
file_write(OpenFile *self, PyObject *args)
{
    const char *lines;
    Py_ssize_t length;
    long long n_records;
    if (!PyArg_ParseTuple(args, "y#L", &lines, &length, &n_records)) {
        return NULL;
    }
    return as_bool(put(self, lines, length, n_records));
}

static char *
put_text(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static char *
put_number(char *at, long long number)
{
    char digits[20];
    int n = 0;
    unsigned long long left = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    do {
        digits[n++] = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (number < 0) {
        *at++ = '-';
    }
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

/* Read a file of /proc from its start; return its length, or -1 with an error set. */
static Py_ssize_t
read_text(int fd, char *text)
{
    ssize_t length;
    do { /* the kernel makes the text from what it knows: it waits for nothing, so the lock is kept */
        length = pread(fd, text, TEXT_BYTES, 0);
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
    }
    return length;
}

/* Append a row of eight fields to what waits for the model: all of them, or none. */
static int
keep_row(PyObject *pending, PyObject *const *row, Py_ssize_t n)
{
    Py_ssize_t before = PyList_GET_SIZE(pending);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyList_Append(pending, row[i]) < 0) {
            PyList_SetSlice(pending, before, PyList_GET_SIZE(pending), NULL);
            return 0;
        }
    }
    return 1;
}

PyDoc_STRVAR(point_doc,
             "point(now, label, edge, generation, lane)\n--\n\n"
             "Read the process's memory, keep the fields of one boundary for the model, and write them as a line.\n\n"
             "Returns:\n    Whether the writer has something to do, or the model.\n"
             "Raises:\n    OSError: the memory cannot be read; nothing was recorded.");

static PyObject *
file_point(OpenFile *self, PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args != N_NUMBERS) {
        PyErr_SetString(PyExc_TypeError, "point takes five numbers");
        return NULL;
    }
    long long numbers[N_NUMBERS];
    for (int i = 0; i < N_NUMBERS; i++) {
        numbers[i] = PyLong_AsLongLong(args[i]);
        if (numbers[i] == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    char line[LINE_BYTES], text[TEXT_BYTES];
    Py_ssize_t length = read_text(self->statm, text);
    if (length < 0) {
        return NULL;
    }
    PyObject *raw = PyBytes_FromStringAndSize(text, length), *items = PyFloat_FromDouble(-1.0);
    PyObject *row[] = {args[0], args[1], args[2], args[3], raw, Py_None, items, args[4]};
    int is_kept = raw != NULL && items != NULL && keep_row(self->pending, row, 8);
    Py_XDECREF(raw);
    Py_XDECREF(items);
    if (!is_kept) {
        return NULL;
    }
    int has_many = PyList_GET_SIZE(self->pending) > MANY;
    if (self->waiting == Py_None) {
        return PyBool_FromLong(has_many);
    }
    char *at = put_number(put_text(line, "{\"k\":\"p\",\"a\":"), numbers[1]);
    at = put_number(put_text(at, ",\"e\":"), numbers[2]);
    at = put_number(put_text(at, ",\"g\":"), numbers[3]);
    at = put_number(put_text(at, ",\"t\":"), numbers[0]);
    at = put_text(at, ",\"m\":\"");
    length -= length > 0; /* but for the end of the line */
    memcpy(at, text, (size_t)length);
    at = put_text(at + length, "\"");
    if (numbers[4] != 0) {
        at = put_number(put_text(at, ",\"th\":"), numbers[4]);
    }
    at = put_text(at, "}\n");
    int is_due = put(self, line, at - line, 1);
    return as_bool(is_due < 0 ? is_due : is_due || has_many);
}

static PyObject *
file_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"waiting", "pending", "statm", NULL};
    PyObject *waiting, *pending;
    int statm;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OO!i", names, &waiting, &PyList_Type, &pending, &statm)) {
        return NULL;
    }
    OpenFile *self = (OpenFile *)type->tp_alloc(type, 0); /* all zero */
    if (self != NULL) {
        self->fd = -1;
        self->statm = statm;
        Py_INCREF(waiting);
        Py_INCREF(pending);
        self->waiting = waiting;
        self->pending = pending;
    }
    return (PyObject *)self;
}

static void
file_dealloc(OpenFile *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(self->waiting);
    Py_CLEAR(self->pending);
    Py_CLEAR(self->tried);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef file_methods[] = {
    {"write", (PyCFunction)file_write, METH_VARARGS, write_doc},
    {"point", (PyCFunction)(void (*)(void))file_point, METH_FASTCALL, point_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef file_fields[] = {
    {"fd", T_INT, offsetof(OpenFile, fd), 0, NULL},
    {"is_smooth", T_BOOL, offsetof(OpenFile, is_smooth), 0, NULL},
    {"is_busy", T_BOOL, offsetof(OpenFile, is_busy), 0, NULL},
    {"look_at_ns", T_LONGLONG, offsetof(OpenFile, look_at_ns), 0, NULL},
    {"size", T_LONGLONG, offsetof(OpenFile, size), 0, NULL},
    {"n_records", T_LONGLONG, offsetof(OpenFile, n_records), 0, NULL},
    {"tried", T_OBJECT, offsetof(OpenFile, tried), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot file_slots[] = {
    {Py_tp_new, file_new},
    {Py_tp_dealloc, file_dealloc},
    {Py_tp_methods, file_methods},
    {Py_tp_members, file_fields},
    {0, NULL},
};

static PyType_Spec file_spec = {
    "phaseprof.native._points.OpenFile", sizeof(OpenFile), 0, Py_TPFLAGS_DEFAULT, file_slots,
};

/* To be raised, here and in extension.py, with each change of what a function takes or returns. */
#define INTERFACE 1

static int
fill_module(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&file_spec);
    if (type == NULL || PyModule_AddObject(module, "OpenFile", type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    return PyModule_AddIntConstant(module, "interface", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_points", "Boundaries recorded in one call.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__points(void)
{
    return PyModuleDef_Init(&module);
}
