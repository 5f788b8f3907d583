// The Python module of the compiled kernels: the instruction set in use, and the functions of each subject.
//
// This is the only translation unit that knows Python. It takes pointers from arrays, releases the GIL and calls the
// drivers, which know nothing of Python; so it needs no optimisation.
#include <string>

#include "class_sums/binding.hpp"
#include "common/active.hpp"
#include "common/parallel.hpp"
#include "common/python.hpp"
#include "genotypes/binding.hpp"
#include "gram/binding.hpp"
#include "incomplete_rows/binding.hpp"
#include "kde/binding.hpp"
#include "mixture/binding.hpp"
#include "moments/binding.hpp"

namespace eigenlens {

// An interrupt becomes the exception that Python's handler of the signal raises.
void check_signals() {
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  if (raised) throw Raised();
}

const char* isa_name(Arguments& given) {
  given.end();
  switch (active) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "baseline";
  }
}

// Only an instruction set that the processor has.
void set_isa(Arguments& given) {
  const std::string name(given.text());
  given.end();
  if (name != "avx512" && name != "avx2" && name != "baseline") throw std::invalid_argument("unknown: " + name);
  const Isa wanted = name == "avx512" ? Isa::avx512 : name == "avx2" ? Isa::avx2 : Isa::baseline;
  if (wanted > best_isa()) throw std::invalid_argument("this processor has no " + name);
  active = wanted;
}

PyMethodDef isa_functions[] = {method<isa_name>("isa"), method<set_isa>("set_isa"), {}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernels",
    "The compiled kernels of eigenlens; the modules of eigenlens.native hold their NumPy twins.", -1, isa_functions};

}  // namespace eigenlens

PyMODINIT_FUNC PyInit__kernels() {
  using namespace eigenlens;
  check_interrupt = check_signals;
  PyObject* module = PyModule_Create(&definition);
  for (PyMethodDef* functions : {moments_functions, gram_functions, mixture_functions, kde_functions,
                                 class_sums_functions, incomplete_rows_functions, genotypes_functions})
    if (module && PyModule_AddFunctions(module, functions) != 0) Py_CLEAR(module);
  return module;
}
