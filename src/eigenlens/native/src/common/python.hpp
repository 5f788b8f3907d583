// Functions of C++ as functions of Python, by the part of Python's C API that is the same in all versions from 3.11 on.
//
// A binding is a function of Arguments: it reads one argument after the other, gives up the interpreter's lock (GIL) and
// calls a driver. It names the shape of every array that it reads, and any other array is an exception: so no kernel
// reaches memory that is not its own, whatever it is called with.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "common/rows.hpp"

namespace eigenlens {

// Thrown where Python's error is set already.
struct Raised {};

// The memory of a Python object, which stays where it is as long as this lives.
struct Buffer {
  Py_buffer view;

  Buffer(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, &view, flags | PyBUF_FORMAT) != 0) throw Raised();
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view); }

  // The format of numbers is the letter of a type of C; which size that has depends on the machine.
  template <class T>
  bool holds() const {
    const char* letters = std::is_floating_point_v<T> ? "fd" : std::is_signed_v<T> ? "bhilq" : "BHILQ";
    const std::string_view format = view.format ? view.format : "B";
    return format.size() == 1 && std::strchr(letters, format[0]) && view.itemsize == sizeof(T);
  }
};

constexpr std::size_t ANY = ~std::size_t(0);  // a size that an array may choose

// The entries of an array and its shape. None has no entries.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(const Buffer& buffer) : view(&buffer.view) {}

  operator T*() const { return view ? static_cast<T*>(view->buf) : nullptr; }
  std::size_t size() const { return view->len / sizeof(T); }
  std::size_t shape(int axis) const { return view->shape[checked(axis)]; }
  std::ptrdiff_t stride(int axis) const {
    return view->strides[checked(axis)] / static_cast<std::ptrdiff_t>(sizeof(T));
  }

 private:
  int checked(int axis) const {
    if (axis >= view->ndim) throw std::invalid_argument("an array has too few dimensions");
    return axis;
  }
  const Py_buffer* view = nullptr;
};

// The arguments of a call, read from the first to the last.
class Arguments {
 public:
  Arguments(PyObject* const* given, Py_ssize_t count) : given(given), count(count) {}

  // Contiguous arrays that are read or written, of this shape, ANY being any size, or of any shape where none is given;
  // optional ones may be None.
  template <class T = double, class... Sizes>
  Array<const T> input(Sizes... shape) {
    return Array<const T>(shaped<T>(PyBUF_C_CONTIGUOUS, {static_cast<std::size_t>(shape)...}));
  }
  template <class T = double, class... Sizes>
  Array<T> output(Sizes... shape) {
    return Array<T>(shaped<T>(PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, {static_cast<std::size_t>(shape)...}));
  }
  template <class T = double, class... Sizes>
  Array<const T> optional_input(Sizes... shape) {
    return none() ? Array<const T>() : input<T>(shape...);
  }
  template <class T = double, class... Sizes>
  Array<T> optional_output(Sizes... shape) {
    return none() ? Array<T>() : output<T>(shape...);
  }
  // Matrices whose rows are whole cache lines.
  Array<const double> input_lines(std::size_t n, std::size_t width) { return in_lines(input(n, width)); }
  Array<double> output_lines(std::size_t n, std::size_t width) { return in_lines(output(n, width)); }

  // The dimensions of the array that comes next.
  int dimensions() const { return read < count ? Buffer(given[read], PyBUF_STRIDES).view.ndim : 0; }

  // A matrix of any strides.
  template <class T>
  Rows<T> rows() {
    const Py_buffer& X = buffer<T>(next(), PyBUF_STRIDES).view;
    if (X.ndim != 2) fail(PyExc_ValueError, "is not a matrix");
    const auto item = static_cast<std::ptrdiff_t>(sizeof(T));
    return {static_cast<const T*>(X.buf), X.strides[0] / item, X.strides[1] / item,
            static_cast<std::size_t>(X.shape[0]), static_cast<std::size_t>(X.shape[1])};
  }

  // A matrix that is written, of contiguous rows.
  template <class T>
  Array<T> matrix(std::size_t n, std::size_t width) {
    const Array<T> found = matrix_of<T>(next(), PyBUF_WRITABLE);
    require(found.shape(0) == n && found.shape(1) == width, "has another shape");
    return found;
  }
  // A list of them; `access` is PyBUF_WRITABLE, or PyBUF_SIMPLE if they are only read.
  template <class T>
  std::vector<Array<T>> matrices(int access) {
    PyObject* list = next();
    if (!PyList_Check(list)) fail(PyExc_TypeError, "is not a list");
    std::vector<Array<T>> found;
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) found.push_back(matrix_of<T>(PyList_GetItem(list, i), access));
    return found;
  }

  // What a function of this module returned.
  template <class T>
  const T& object() {
    PyObject* capsule = next();
    if (!PyCapsule_IsValid(capsule, typeid(T).name())) fail(PyExc_TypeError, "was not packed for this function");
    return *static_cast<const T*>(PyCapsule_GetPointer(capsule, typeid(T).name()));
  }

  std::size_t size() {
    const Py_ssize_t value = PyNumber_AsSsize_t(next(), PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) throw Raised();
    if (value < 0) fail(PyExc_ValueError, "is negative");
    return value;
  }
  double real() {
    const double value = PyFloat_AsDouble(next());
    if (value == -1.0 && PyErr_Occurred()) throw Raised();
    return value;
  }
  bool boolean() {
    const int value = PyObject_IsTrue(next());
    if (value < 0) throw Raised();
    return value != 0;
  }
  std::string_view text() {
    Py_ssize_t length;
    const char* characters = PyUnicode_AsUTF8AndSize(next(), &length);
    if (!characters) throw Raised();
    return {characters, static_cast<std::size_t>(length)};
  }

  // Whether the argument at this place is such an array or object: for functions of several types.
  template <class T>
  bool holds(Py_ssize_t place) const {
    return place < count && Buffer(given[place], PyBUF_STRIDES).holds<T>();
  }
  template <class T>
  bool is(Py_ssize_t place) const {
    return place < count && PyCapsule_IsValid(given[place], typeid(T).name());
  }

  // The argument that was read last is what a kernel takes.
  void require(bool condition, const char* problem) const {
    if (!condition) fail(PyExc_ValueError, problem);
  }

  // No argument may be left.
  void end() const {
    if (read == count) return;
    PyErr_Format(PyExc_TypeError, "%zd arguments are expected, not %zd", read, count);
    throw Raised();
  }

 private:
  PyObject* const* given;
  Py_ssize_t count, read = 0;
  std::deque<Buffer> buffers;  // which do not move: a view may point into itself

  PyObject* next() {
    if (read++ < count) return given[read - 1];
    fail(PyExc_TypeError, "is missing");
  }
  bool none() {
    if (read == count || given[read] != Py_None) return false;
    ++read;
    return true;
  }
  template <class T>
  const Buffer& buffer(PyObject* array, int flags) {
    const Buffer& found = buffers.emplace_back(array, flags);
    if (!found.holds<T>()) fail(PyExc_TypeError, "is an array of another type");
    bool aligned = found.view.len == 0 || reinterpret_cast<std::uintptr_t>(found.view.buf) % alignof(T) == 0;
    for (int axis = 0; axis < found.view.ndim; ++axis) aligned &= found.view.strides[axis] % found.view.itemsize == 0;
    require(aligned, "is not aligned");
    return found;
  }
  static bool same_size(Py_ssize_t size, std::size_t wanted) { return wanted == ANY || static_cast<std::size_t>(size) == wanted; }
  template <class T>
  const Buffer& shaped(int flags, std::initializer_list<std::size_t> shape) {
    const Buffer& found = buffer<T>(next(), flags);
    const Py_ssize_t *sizes = found.view.shape, *end = sizes + found.view.ndim;
    require(shape.size() == 0 || std::equal(sizes, end, shape.begin(), shape.end(), same_size), "has another shape");
    return found;
  }
  template <class T>
  Array<T> in_lines(const Array<T>& found) const {
    const auto at = reinterpret_cast<std::uintptr_t>(static_cast<T*>(found));
    const bool whole = found.shape(1) % 8 == 0 && (found.size() == 0 || at % 64 == 0);
    require(whole, "has rows that are not whole cache lines");
    return found;
  }
  template <class T>
  Array<T> matrix_of(PyObject* array, int access) {
    const Array<T> found(buffer<T>(array, PyBUF_STRIDES | access));
    const auto width = static_cast<std::ptrdiff_t>(found.shape(1));
    const bool contiguous = width < 2 || found.stride(1) == 1;
    require(contiguous && (found.shape(0) < 2 || found.stride(0) >= width), "has rows that are not contiguous");
    return found;
  }
  [[noreturn]] void fail(PyObject* kind, const char* problem) const {
    PyErr_Format(kind, "argument %zd %s", read, problem);
    throw Raised();
  }
};

// While this lives, other threads of Python run: from when all arguments are read to when the driver has returned.
class Unlocked {
 public:
  explicit Unlocked(const Arguments& given) {
    given.end();
    state = PyEval_SaveThread();
  }
  Unlocked(const Unlocked&) = delete;
  ~Unlocked() { PyEval_RestoreThread(state); }

 private:
  PyThreadState* state;
};

inline PyObject* to_python(const char* text) { return PyUnicode_FromString(text); }

// An object that Python keeps, and gives back to functions of this module.
template <class T>
PyObject* to_python(std::unique_ptr<T> made) {
  const auto destroy = [](PyObject* capsule) {
    delete static_cast<T*>(PyCapsule_GetPointer(capsule, typeid(T).name()));
  };
  PyObject* capsule = PyCapsule_New(made.get(), typeid(T).name(), destroy);
  if (capsule) made.release();
  return capsule;
}

// Calls f, and makes exceptions of Python of those of C++.
inline PyObject* guarded(PyObject* (*f)(Arguments&), PyObject* const* given, Py_ssize_t count) {
  try {
    Arguments arguments(given, count);
    return f(arguments);
  } catch (const Raised&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

template <auto f>
PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count) {
  const auto run = [](Arguments& arguments) -> PyObject* {
    if constexpr (std::is_void_v<decltype(f(arguments))>) {
      f(arguments);
      Py_RETURN_NONE;
    } else {
      return to_python(f(arguments));
    }
  };
  return guarded(run, given, count);
}

// An entry of a table of functions, which ends with {}.
template <auto f>
PyMethodDef method(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call<f>)), METH_FASTCALL, nullptr};
}

}  // namespace eigenlens
