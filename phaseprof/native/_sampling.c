/* Samples of a file of /proc, taken by a thread that does not hold the interpreter's lock.

   A thread of Python's calls gather(), which lets go of the lock, reads the file every so often into a ring, and comes
   back when there is something to hand over.  Whoever holds the lock may take what was sampled so far, at any time.  So
   a loop in Python is interrupted once for many samples, or never if it comes to a boundary of its own.

   One thread writes the ring, under no lock; those that take hold the interpreter's lock, so there is one of them at a
   time.  The mutex guards the flag that ends the wait, and nothing else: whoever takes never waits for it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define N_SAMPLES 128 /* gather() comes back when half of them wait, whatever it was told */
#define TEXT_BYTES 160 /* seven 64-bit numbers in decimal need at most 147 */
#define NS_PER_S INT64_C(1000000000)

typedef struct {
    int64_t at_ns;
    Py_ssize_t length;
    char text[TEXT_BYTES];
} Sample;

typedef struct {
    PyObject_HEAD
    int fd;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int is_stopped;              /* under the mutex */
    _Atomic uint64_t n_sampled;  /* written by the thread that gathers */
    _Atomic uint64_t n_taken;    /* written under the interpreter's lock */
    int is_taking;               /* under the interpreter's lock, which may be let go of while objects are made */
    Sample samples[N_SAMPLES];
} Samples;

/* The clock of time.perf_counter_ns. */
static int64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Wait until a moment; return whether to go on. */
static int
wait_until(Samples *self, int64_t at_ns)
{
    struct timespec until = {.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
    pthread_mutex_lock(&self->mutex);
    while (!self->is_stopped && pthread_cond_timedwait(&self->wake, &self->mutex, &until) != ETIMEDOUT) {
    }
    int goes_on = !self->is_stopped;
    pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

static uint64_t
count_waiting(Samples *self)
{
    return atomic_load(&self->n_sampled) - atomic_load(&self->n_taken);
}

/* Sample once; return 0, or the error's number. */
static int
sample(Samples *self)
{
    uint64_t n = atomic_load_explicit(&self->n_sampled, memory_order_relaxed);
    if (count_waiting(self) == N_SAMPLES) {
        return 0;
    }
    Sample *sample = &self->samples[n % N_SAMPLES];
    sample->at_ns = now_ns();
    do {
        sample->length = pread(self->fd, sample->text, TEXT_BYTES, 0);
    } while (sample->length < 0 && errno == EINTR);
    if (sample->length < 0) {
        return errno;
    }
    atomic_store_explicit(&self->n_sampled, n + 1, memory_order_release);
    return 0;
}

PyDoc_STRVAR(gather_doc,
             "gather(every_ns, hold_ns)\n--\n\n"
             "Sample every so often, without the interpreter's lock, until hold_ns have passed and a sample waits.\n\n"
             "Returns:\n    False if it was stopped.\n"
             "Raises:\n    OSError: the file cannot be read.");

static PyObject *
samples_gather(Samples *self, PyObject *args)
{
    long long every_ns, hold_ns;
    int goes_on = 1, error = 0;
    if (!PyArg_ParseTuple(args, "LL", &every_ns, &hold_ns)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    int64_t next_ns = now_ns(), hold_until = next_ns + hold_ns;
    int is_due = 0;
    while (goes_on && !error && !is_due) {
        /* One that was late is not made up for. */
        next_ns += every_ns;
        int64_t now = now_ns();
        next_ns = next_ns < now ? now : next_ns;
        goes_on = wait_until(self, next_ns);
        error = goes_on ? sample(self) : 0;
        uint64_t n = count_waiting(self);
        is_due = n >= N_SAMPLES / 2 || (n > 0 && next_ns + every_ns > hold_until);
    }
    Py_END_ALLOW_THREADS
    if (error) {
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyBool_FromLong(goes_on);
}

PyDoc_STRVAR(take_doc,
             "take()\n--\n\nReturn (clock, text) of each sample since the last call, oldest first; the clock is that of "
             "time.perf_counter_ns.  Called by a finalizer within another call, or beside one, it returns nothing.");

static PyObject *
samples_take(Samples *self, PyObject *Py_UNUSED(none))
{
    uint64_t n = atomic_load_explicit(&self->n_taken, memory_order_relaxed);
    uint64_t end = self->is_taking ? n : atomic_load_explicit(&self->n_sampled, memory_order_acquire);
    int was_taking = self->is_taking;
    self->is_taking = 1;
    PyObject *taken = PyList_New((Py_ssize_t)(end - n));
    for (Py_ssize_t i = 0; taken != NULL && n < end; n++, i++) {
        Sample *sample = &self->samples[n % N_SAMPLES];
        PyObject *item = Py_BuildValue("(Ly#)", (long long)sample->at_ns, sample->text, sample->length);
        if (item == NULL) {
            Py_CLEAR(taken);
        }
        else {
            PyList_SET_ITEM(taken, i, item);
        }
    }
    if (taken != NULL && !was_taking) {
        atomic_store_explicit(&self->n_taken, end, memory_order_release);
    }
    self->is_taking = was_taking;
    return taken;
}

PyDoc_STRVAR(stop_doc, "stop()\n--\n\nLet gather() come back at once, now and whenever it is called again.");

static PyObject *
samples_stop(Samples *self, PyObject *Py_UNUSED(none))
{
    pthread_mutex_lock(&self->mutex);
    self->is_stopped = 1;
    pthread_cond_broadcast(&self->wake);
    pthread_mutex_unlock(&self->mutex);
    Py_RETURN_NONE;
}

static PyObject *
samples_is_waiting(Samples *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(count_waiting(self) > 0);
}

static PyObject *
samples_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"fd", NULL};
    int fd;
    if (!PyArg_ParseTupleAndKeywords(args, named, "i", names, &fd)) {
        return NULL;
    }
    Samples *self = (Samples *)type->tp_alloc(type, 0); /* all zero */
    if (self == NULL) {
        return NULL;
    }
    self->fd = fd;
    pthread_condattr_t attributes;
    int failed = pthread_mutex_init(&self->mutex, NULL) || pthread_condattr_init(&attributes) ||
                 pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) || pthread_cond_init(&self->wake, &attributes);
    if (failed) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_OSError, "the system has no room for a condition");
        return NULL;
    }
    return (PyObject *)self;
}

static void
samples_dealloc(Samples *self)
{
    /* The mutex and the condition are not destroyed: in a forked child, they may be held by a thread that is not there,
       and to destroy them would wait for it.  Neither holds anything that is not in this object. */
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef samples_methods[] = {
    {"gather", (PyCFunction)samples_gather, METH_VARARGS, gather_doc},
    {"take", (PyCFunction)samples_take, METH_NOARGS, take_doc},
    {"stop", (PyCFunction)samples_stop, METH_NOARGS, stop_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef samples_fields[] = {
    {"is_waiting", (getter)samples_is_waiting, NULL, "Whether there is a sample that was not taken.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot samples_slots[] = {
    {Py_tp_new, samples_new},
    {Py_tp_dealloc, samples_dealloc},
    {Py_tp_methods, samples_methods},
    {Py_tp_getset, samples_fields},
    {0, NULL},
};

static PyType_Spec samples_spec = {
    "phaseprof.native._sampling.Samples", sizeof(Samples), 0, Py_TPFLAGS_DEFAULT, samples_slots,
};

/* To be raised, here and in extension.py, with each change of what a function takes or returns. */
#define INTERFACE 1

static int
fill_module(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&samples_spec);
    if (type == NULL || PyModule_AddObject(module, "Samples", type) < 0) {
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
    PyModuleDef_HEAD_INIT, "_sampling", "Samples taken without the interpreter's lock.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__sampling(void)
{
    return PyModuleDef_Init(&module);
}
