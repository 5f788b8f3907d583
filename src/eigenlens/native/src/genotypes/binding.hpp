// Python bindings of packed genotypes.
#pragma once

#include "common/python.hpp"
#include "genotypes/driver.hpp"

namespace eigenlens {

inline PackedGenotypes packed_genotypes(Arguments& given) {
  const auto packed = given.input<std::uint8_t>(ANY, ANY);
  const std::size_t n = given.size();
  given.require(n <= 4 * packed.shape(1) && packed.shape(1) == (n + 3) / 4, "is another number of people");
  return {packed, packed.shape(0), packed.shape(1), n};
}

inline void count_genotypes(Arguments& given) {
  const PackedGenotypes block = packed_genotypes(given);
  const auto counts = given.output<std::int32_t>(block.variants, 4);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  genotype_counts(block, counts, threads);
}

inline void unpack_genotypes(Arguments& given) {
  const PackedGenotypes block = packed_genotypes(given);
  const auto values = given.input<float>(block.variants, 4);
  const auto panel = given.output<float>(block.variants, block.n);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  genotype_panel(block, values, panel, threads);
}

inline void count_missing_pairs(Arguments& given) {
  const PackedGenotypes block = packed_genotypes(given);
  const auto pairs = given.output<std::int32_t>(block.n, block.n);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  missing_pairs(block, pairs, threads);
}

inline PyMethodDef genotypes_functions[] = {method<count_genotypes>("genotype_counts"),
                                            method<unpack_genotypes>("genotype_panel"),
                                            method<count_missing_pairs>("missing_pairs"),
                                            {}};

}  // namespace eigenlens
