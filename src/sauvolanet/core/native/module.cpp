// The extension module sauvolanet.core._native: a module of kernels for each processor level that this machine can run.
//
// LEVELS comes from setup.py, lowest first: X(plain) X(avx2) X(avx512) or X(neon).

#include <Python.h>

#include <cstring>
#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#endif

#define X(level) \
    namespace sauvolanet::level { \
    extern PyMethodDef *const tables[]; \
    }
LEVELS
#undef X

namespace {

#if defined(_MSC_VER) && defined(_M_X64)

bool has(int leaf, int number, int bit) {  // number: 0 … 3 for EAX … EDX
    int found[4];
    __cpuidex(found, leaf, 0);
    return (found[number] >> bit & 1) != 0;
}

bool saves(unsigned long long registers) {  // the operating system keeps them when it changes threads
    return has(1, 2, 27) && (_xgetbv(0) & registers) == registers;
}

bool runs_avx2() { return saves(0x6) && has(7, 1, 5) && has(1, 2, 12); }
bool runs_avx512() {
    return runs_avx2() && saves(0xe6) && has(7, 1, 16) && has(7, 1, 17) && has(7, 1, 30) && has(7, 1, 31) &&
           has(7, 2, 11);
}

#elif defined(__x86_64__)

bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool runs_avx512() {
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

#else

bool runs_avx2() { return false; }
bool runs_avx512() { return false; }

#endif

bool runs(const char *level) {
    if (!std::strcmp(level, "avx2")) return runs_avx2();
    if (!std::strcmp(level, "avx512")) return runs_avx512();
    return true;  // what every processor of this kind has
}

bool add_level(PyObject *module, PyObject *levels, const char *level, PyMethodDef *const *tables) {
    if (!runs(level)) return true;
    PyObject *kernels = PyModule_New(level);
    PyObject *name = PyUnicode_FromString(level);
    bool good = kernels && name && PyModule_AddObjectRef(kernels, "level", name) == 0;
    for (; good && *tables; tables++) good = PyModule_AddFunctions(kernels, *tables) == 0;
    good = good && PyModule_AddObjectRef(module, level, kernels) == 0 && PyList_Append(levels, name) == 0;
    Py_XDECREF(name);
    Py_XDECREF(kernels);
    return good;
}

int fill(PyObject *module) {
    PyObject *levels = PyList_New(0);
    bool good = levels && PyModule_AddObjectRef(module, "levels", levels) == 0;
#define X(level) good = good && add_level(module, levels, #level, sauvolanet::level::tables);
    LEVELS
#undef X
    Py_XDECREF(levels);
    return good ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void *>(fill)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_native",
    "Compiled kernels, in one module per processor level; `levels` names them, lowest first.",
    0, nullptr, slots, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&definition); }
