// The Python module of the compiled kernels: the instruction set in use, and the bindings of each subject.
#include "common/python.hpp"

namespace eigenlens {

void bind_moments(py::module_& m);
void bind_gram(py::module_& m);
void bind_mixture(py::module_& m);
void bind_kde(py::module_& m);
void bind_class_sums(py::module_& m);
void bind_incomplete_rows(py::module_& m);

// Python's own signals: an interrupt becomes the exception that its handler raises.
void attend_to_signals() {
  py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

const char* isa_name() {
  switch (active) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "baseline";
  }
}

// Only downwards: an instruction set the processor lacks is refused.
void set_isa(const std::string& name) {
  if (name != "avx512" && name != "avx2" && name != "baseline") throw std::invalid_argument("unknown: " + name);
  const Isa wanted = name == "avx512" ? Isa::avx512 : name == "avx2" ? Isa::avx2 : Isa::baseline;
  if (wanted > best_isa()) throw std::invalid_argument("this processor has no " + name);
  active = wanted;
}

}  // namespace eigenlens

PYBIND11_MODULE(_kernels, m) {
  using namespace eigenlens;
  attend = attend_to_signals;
  m.doc() = "The compiled kernels of eigenlens; the modules of eigenlens.native hold their NumPy twins.";
  m.def("isa", &isa_name);
  m.def("set_isa", &set_isa);
  bind_moments(m);
  bind_gram(m);
  bind_mixture(m);
  bind_kde(m);
  bind_class_sums(m);
  bind_incomplete_rows(m);
}
