// Every kernel, in the order in which they rest on each other. Included once per instruction set; no include guard.
#include "tile.hpp"
#include "moments.hpp"
#include "sparse.hpp"
#include "gaussian.hpp"
#include "symmetric.hpp"
#include "mixture.hpp"
#include "density.hpp"
#include "naive.hpp"
