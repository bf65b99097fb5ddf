// A C++ function as a Python function, by its signature.
//
// View<const T, N> takes an array of that type and number of dimensions, View<T, N> one to write to, either takes None;
// integers, floats and bools are numbers; what is returned is a number or nothing. Other threads of Python run meanwhile.
//
//     Table windows = {KERNEL(below), KERNEL(histogram), {}};

#pragma once

#include <Python.h>

#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "view.h"

#define KERNEL(function) \
    {#function, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&called<&function>)), METH_FASTCALL, nullptr}

namespace sauvolanet::LEVEL {

using Table = PyMethodDef[];

extern PyMethodDef *const tables[];  // of all files, in tables.cpp

template <class T> bool is_format(const char *format) {
    if (std::strchr("@=<", *format) && *format) format++;
    const char *kinds = std::is_same_v<T, bool>           ? "?"
                        : std::is_floating_point_v<T>     ? "fd"
                        : std::is_signed_v<T>             ? "bhilq"
                                                          : "BHILQ";
    return *format && std::strchr(kinds, *format) && !format[1];
}

template <class T> struct Argument {  // a number
    T value;

    bool take(PyObject *given, int number) {
        if constexpr (std::is_same_v<T, bool>) {
            value = PyObject_IsTrue(given) == 1;
        } else if constexpr (std::is_integral_v<T>) {
            const long long wide = PyLong_AsLongLong(given);
            value = static_cast<T>(wide);
            if (!PyErr_Occurred() && value != wide) PyErr_Format(PyExc_OverflowError, "argument %d is too large", number);
        } else {
            value = static_cast<T>(PyFloat_AsDouble(given));
        }
        return !PyErr_Occurred();
    }
};

template <class T, int N> struct Argument<View<T, N>> {
    using Number = std::remove_const_t<T>;

    View<T, N> value;
    Py_buffer buffer{};

    Argument() = default;
    Argument(const Argument &) = delete;
    ~Argument() { PyBuffer_Release(&buffer); }

    bool take(PyObject *given, int number) {
        if (given == Py_None) return true;
        const int access = PyBUF_STRIDES | PyBUF_FORMAT | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
        if (PyObject_GetBuffer(given, &buffer, access) != 0) {
            const bool array = PyObject_CheckBuffer(given);
            PyErr_Format(array ? PyExc_ValueError : PyExc_TypeError,
                         array ? "argument %d cannot be used, perhaps it is read-only" : "argument %d is no array", number);
            return false;
        }
        if (buffer.ndim != N) {
            PyErr_Format(PyExc_ValueError, "argument %d has %d dimensions instead of %d", number, buffer.ndim, N);
            return false;
        }
        if (buffer.itemsize != sizeof(T) || !is_format<Number>(buffer.format)) {
            PyErr_Format(PyExc_TypeError, "argument %d has the wrong type, %s of %d bytes", number, buffer.format,
                         static_cast<int>(buffer.itemsize));
            return false;
        }
        bool fits = reinterpret_cast<std::uintptr_t>(buffer.buf) % alignof(T) == 0;
        for (int i = 0; i < N; i++) {
            value.shape[i] = buffer.shape[i];
            value.stride[i] = buffer.strides[i] / buffer.itemsize;
            fits = fits && (buffer.shape[i] < 2 || buffer.strides[i] % buffer.itemsize == 0);
        }
        if (value.shape[N - 1] > 1 && value.stride[N - 1] != 1) fits = false;
        value.stride[N - 1] = 1;
        value.data = static_cast<T *>(buffer.buf);
        if (!fits) PyErr_Format(PyExc_ValueError, "argument %d: the numbers of a row are not neighbours", number);
        return fits;
    }
};

class WithoutLock {  // other threads of Python run while this one computes
    PyThreadState *state = PyEval_SaveThread();

  public:
    ~WithoutLock() { PyEval_RestoreThread(state); }
};

template <class T> PyObject *given_back(T value) {
    if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
    else if constexpr (std::is_integral_v<T>) return PyLong_FromLongLong(value);
    else return PyFloat_FromDouble(value);
}

template <class Result, class... Given, std::size_t... I>
PyObject *call(Result (*function)(Given...), PyObject *const *given, std::index_sequence<I...>) {
    std::tuple<Argument<Given>...> arguments;
    if (!(std::get<I>(arguments).take(given[I], static_cast<int>(I) + 1) && ...)) return nullptr;
    try {
        if constexpr (std::is_void_v<Result>) {
            WithoutLock unlocked;
            function(std::get<I>(arguments).value...);
        } else {
            return given_back([&] {
                WithoutLock unlocked;
                return function(std::get<I>(arguments).value...);
            }());
        }
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
    return Py_NewRef(Py_None);
}

template <class Result, class... Given>
PyObject *call(Result (*function)(Given...), PyObject *const *given, Py_ssize_t count) {
    if (count != sizeof...(Given))
        return PyErr_Format(PyExc_TypeError, "%d arguments wanted, %d given", static_cast<int>(sizeof...(Given)),
                            static_cast<int>(count));
    return call(function, given, std::index_sequence_for<Given...>());
}

template <auto function> PyObject *called(PyObject *, PyObject *const *given, Py_ssize_t count) {
    return call(function, given, count);
}

}  // namespace sauvolanet::LEVEL
