// The Python face of the mixture kernels.
#pragma once

namespace eigenlens {

inline void bind_mixture(py::module_& m) { (void)m; }

}  // namespace eigenlens
