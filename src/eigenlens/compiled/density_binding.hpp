// The Python face of the density kernels.
#pragma once

namespace eigenlens {

inline void bind_density(py::module_& m) { (void)m; }

}  // namespace eigenlens
