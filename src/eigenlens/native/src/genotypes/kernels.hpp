// The kernels of genotypes. Included once per instruction set; no include guard.
#include "genotypes/kernel.hpp"
