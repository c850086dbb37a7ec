#include "bind/numpy.hpp"

namespace ramify {
namespace {

using NewFunction = PyObject* (*)(PyTypeObject*, int, const Py_ssize_t*, int, const Py_ssize_t*, void*, int, int,
                                  PyObject*);

// Places in numpy's table, as its header __multiarray_api.h has them.
constexpr std::size_t kArrayType = 2, kNew = 93;

PyTypeObject* array_type = nullptr;
NewFunction new_function = nullptr;

// The head of every numpy array (PyArrayObject_fields).
struct ArrayHead {
  PyObject_HEAD
  void* data;
};

}  // namespace

void load_numpy() {
  nb::object core = nb::steal(PyImport_ImportModule("numpy._core._multiarray_umath"));
  if (!core.is_valid()) {  // numpy 1
    PyErr_Clear();
    core = nb::module_::import_("numpy.core._multiarray_umath");
  }
  void** table = static_cast<void**>(PyCapsule_GetPointer(core.attr("_ARRAY_API").ptr(), nullptr));
  if (!table) throw nb::python_error();
  array_type = static_cast<PyTypeObject*>(table[kArrayType]);
  new_function = reinterpret_cast<NewFunction>(table[kNew]);
}

nb::object new_array(Element element, std::span<const Py_ssize_t> shape) {
  PyObject* array = new_function(array_type, static_cast<int>(shape.size()), shape.data(), static_cast<int>(element),
                                 nullptr, nullptr, 0, 0, nullptr);
  if (!array) throw nb::python_error();
  return nb::steal(array);
}

void* array_data(nb::handle array) { return reinterpret_cast<ArrayHead*>(array.ptr())->data; }

}  // namespace ramify
