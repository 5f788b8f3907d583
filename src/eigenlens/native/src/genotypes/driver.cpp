#include "genotypes/driver.hpp"

#define EIGENLENS_KERNELS "genotypes/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"

namespace eigenlens {

namespace {

constexpr std::size_t MAX_PIECES = 64, MIN_CALLS = 1 << 18;  // calls of a piece at least

Pieces pieces_of(const PackedGenotypes& block) {
  return {block.variants, std::clamp<std::size_t>(block.variants * block.n / MIN_CALLS, 1, MAX_PIECES)};
}

}  // namespace

void genotype_counts(const PackedGenotypes& block, std::int32_t* counts, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(genotypes::counts);
  const Pieces pieces = pieces_of(block);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(block.packed, block.width, block.n, pieces.cut(p), pieces.cut(p + 1), counts);
  });
}

void genotype_panel(const PackedGenotypes& block, const float* values, float* panel, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(genotypes::panel);
  const Pieces pieces = pieces_of(block);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(block.packed, block.width, block.n, values, pieces.cut(p), pieces.cut(p + 1), panel);
  });
}

// Each piece has some rows of the pairs to itself, and walks over the lists of all variants.
void missing_pairs(const PackedGenotypes& block, std::int32_t* pairs, std::size_t threads) {
  const auto list = EIGENLENS_PICK(genotypes::missing);
  const auto kernel = EIGENLENS_PICK(genotypes::pairs);
  std::vector<std::int32_t> people;
  std::vector<std::size_t> starts = {0};
  for (std::size_t j = 0; j < block.variants; ++j) {
    list(block.packed + j * block.width, block.n, people);
    if (people.size() > starts.back()) starts.push_back(people.size());
  }
  const std::size_t lists = starts.size() - 1;
  const Pieces pieces(block.n, std::clamp<std::size_t>(people.size() / 4096, 1, 4 * threads));
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    for (std::size_t j = 0; j < lists; ++j)
      kernel(people.data() + starts[j], people.data() + starts[j + 1], block.n, pieces.cut(p), pieces.cut(p + 1), pairs);
  });
}

}  // namespace eigenlens
