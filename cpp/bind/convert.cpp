#include "bind/convert.hpp"

#include <nanobind/stl/string.h>

#include "base/error.hpp"

namespace ramify {

namespace {

Value::Dict convert_dict(nb::handle mapping, int depth);

constexpr int kDeepest = 16;  // no position is nested deeper; a list inside itself is nested for ever

Value convert(nb::handle object, int depth) {
  if (depth > kDeepest) throw InvalidInput("a value is nested deeper than " + std::to_string(kDeepest) + " levels");
  if (object.is_none()) return {};
  if (PyBool_Check(object.ptr())) return nb::cast<bool>(object);
  if (PyLong_Check(object.ptr())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    if (overflow) throw InvalidInput(shown(object) + " does not fit 64 bits");
    return static_cast<std::int64_t>(number);
  }
  if (PyFloat_Check(object.ptr())) return nb::cast<double>(object);
  if (PyUnicode_Check(object.ptr())) return to_text(object);
  if (PyDict_Check(object.ptr())) return convert_dict(object, depth);
  if (nb::hasattr(object, "tolist")) return convert(object.attr("tolist")(), depth + 1);  // numpy arrays and scalars
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) || PyAnySet_Check(object.ptr())) {
    Value::List list;
    for (nb::handle item : object) list.push_back(convert(item, depth + 1));
    return list;
  }
  throw nb::type_error(("cannot use a value of type " + std::string(nb::str(object.type()).c_str())).c_str());
}

Value::Dict convert_dict(nb::handle mapping, int depth) {
  Value::Dict dict;
  for (auto [key, value] : nb::cast<nb::dict>(mapping)) {
    if (!PyUnicode_Check(key.ptr())) throw nb::type_error("names of parameters and parts must be strings");
    dict.emplace_back(to_text(key), convert(value, depth + 1));
  }
  return dict;
}

}  // namespace

std::string shown(nb::handle object) {
  constexpr std::size_t kLongest = 60;
  const nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  Py_ssize_t size = 0;
  const char* data = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (!data) {  // a number of more digits than Python writes, for one
    PyErr_Clear();
    return "a value of type " + nb::cast<std::string>(object.type().attr("__name__"));
  }
  if (static_cast<std::size_t>(size) <= kLongest) return {data, static_cast<std::size_t>(size)};
  std::size_t end = kLongest;
  while ((data[end] & 0xc0) == 0x80) --end;  // not inside a character
  return std::string(data, end) + "...";
}

std::string to_text(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) {
    PyErr_Clear();
    throw InvalidInput("the text " + shown(text) + " is not valid Unicode");
  }
  const std::string copy(data, static_cast<std::size_t>(size));
  if (copy.find('\0') != std::string::npos) throw InvalidInput("the text " + shown(text) + " contains a NUL character");
  return copy;
}

Value to_value(nb::handle object) { return convert(object, 0); }
Value::Dict to_dict(nb::handle mapping) { return convert_dict(mapping, 0); }

nb::object to_python(const Value& value) {
  struct Visitor {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(bool x) const { return nb::bool_(x); }
    nb::object operator()(std::int64_t x) const { return nb::int_(x); }
    nb::object operator()(double x) const { return nb::float_(x); }
    nb::object operator()(const std::string& x) const { return nb::str(x.c_str(), x.size()); }
    nb::object operator()(const Value::List& x) const {
      nb::list list;
      for (const Value& item : x) list.append(to_python(item));
      return list;
    }
    nb::object operator()(const Value::Dict& x) const { return to_python(x); }
  };
  return std::visit(Visitor{}, value.data);
}

nb::object to_python(const Value::Dict& value) {
  nb::dict dict;
  for (const auto& [key, item] : value) dict[nb::str(key.c_str(), key.size())] = to_python(item);
  return dict;
}

}  // namespace ramify
