/* Types whose tp_traverse does not do what it should. */

#include <Python.h>

typedef struct {
    PyObject_HEAD
    PyObject *held;
} Broken;

static PyObject *
broken_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Broken *self = (Broken *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->held = PyTuple_GetItem(args, 0);
        Py_XINCREF(self->held);
        PyObject_GC_UnTrack(self); /* the collector would take what it shows for true */
    }
    return (PyObject *)self;
}

static void
broken_dealloc(PyObject *self)
{
    Py_XDECREF(((Broken *)self)->held);
    Py_TYPE(self)->tp_free(self);
}

static int
shows_it_often(PyObject *self, visitproc visit, void *arg)
{
    for (int i = 0; i < 100; i++) {
        Py_VISIT(((Broken *)self)->held);
    }
    return 0;
}

static int
shows_nothing(PyObject *self, visitproc visit, void *arg)
{
    return visit(NULL, arg);
}

static int
shows_itself(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self);
    Py_VISIT(Py_None);
    return visit((PyObject *)&PyList_Type, arg);
}

static int
gives_up(PyObject *self, visitproc visit, void *arg)
{
    return 7;
}

#define TYPE(name, traverse) \
    static PyTypeObject name = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "broken." #name, \
                                .tp_basicsize = sizeof(Broken), \
                                .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, \
                                .tp_new = broken_new, .tp_dealloc = broken_dealloc, .tp_traverse = traverse, \
                                .tp_free = PyObject_GC_Del};

TYPE(Often, shows_it_often)
TYPE(Nothing, shows_nothing)
TYPE(Itself, shows_itself)
TYPE(GivesUp, gives_up)

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "broken", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit_broken(void)
{
    PyObject *made = PyModule_Create(&module);
    PyTypeObject *types[] = {&Often, &Nothing, &Itself, &GivesUp};
    for (size_t i = 0; made != NULL && i < sizeof types / sizeof *types; i++) {
        if (PyModule_AddType(made, types[i]) < 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}
