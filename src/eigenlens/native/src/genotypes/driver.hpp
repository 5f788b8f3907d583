// Blocks of packed genotypes (variants, width), two bits per person, on several threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eigenlens {

struct PackedGenotypes {
  const std::uint8_t* packed;
  std::size_t variants, width, n;  // width: the bytes of a variant, n: people
};

// counts (variants, 4) of the four codes are written.
void genotype_counts(const PackedGenotypes& block, std::int32_t* counts, std::size_t threads);

// panel (variants, n) of values (variants, 4) by code is written.
void genotype_panel(const PackedGenotypes& block, const float* values, float* panel, std::size_t threads);

// The number of variants that are missing in both is added to pairs (n, n), at and below the diagonal.
void missing_pairs(const PackedGenotypes& block, std::int32_t* pairs, std::size_t threads);

}  // namespace eigenlens
