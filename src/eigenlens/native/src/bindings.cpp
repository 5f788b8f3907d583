// The Python module of the compiled kernels: the instruction set in use, and the bindings of each subject.
//
// This is the only translation unit that knows Python. It takes pointers from arrays, releases the GIL and calls the
// drivers, which know nothing of Python; so it needs no optimisation, and pybind11's headers are compiled once.
#include "class_sums/binding.hpp"
#include "common/active.hpp"
#include "common/parallel.hpp"
#include "gram/binding.hpp"
#include "incomplete_rows/binding.hpp"
#include "kde/binding.hpp"
#include "mixture/binding.hpp"
#include "moments/binding.hpp"

namespace eigenlens {

// An interrupt becomes the exception that Python's handler of the signal raises.
void check_signals() {
  py::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

const char* isa_name() {
  switch (active) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "baseline";
  }
}

// Only an instruction set that the processor has.
void set_isa(const std::string& name) {
  if (name != "avx512" && name != "avx2" && name != "baseline") throw std::invalid_argument("unknown: " + name);
  const Isa wanted = name == "avx512" ? Isa::avx512 : name == "avx2" ? Isa::avx2 : Isa::baseline;
  if (wanted > best_isa()) throw std::invalid_argument("this processor has no " + name);
  active = wanted;
}

}  // namespace eigenlens

PYBIND11_MODULE(_kernels, m) {
  using namespace eigenlens;
  check_interrupt = check_signals;
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
