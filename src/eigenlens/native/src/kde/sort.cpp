// Radix sort of doubles, on several threads.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "kde/driver.hpp"

namespace eigenlens {

namespace {

// Doubles as integers of the same order, and back.
std::uint64_t ordered(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | (std::uint64_t(1) << 63);
}
double unordered(std::uint64_t key) {
  key = key >> 63 ? key & ~(std::uint64_t(1) << 63) : ~key;
  double value;
  std::memcpy(&value, &key, sizeof value);
  return value;
}

struct Item {
  std::uint64_t key;
  std::int64_t from;
};

// Puts nearly sorted items in order; false, and some order, if that takes more than a few moves per item.
bool insertion_sort(Item* items, std::size_t n) {
  std::size_t moves = 8 * n;
  for (std::size_t i = 1; i < n; ++i) {
    const Item item = items[i];
    std::size_t j = i;
    for (; j > 0 && items[j - 1].key > item.key && moves > 0; --j, --moves) items[j] = items[j - 1];
    items[j] = item;
    if (moves == 0) return false;
  }
  return true;
}

}  // namespace

// Three digits of eleven bits, from the highest bit that differs, put nearly all in order; where they do not, insertions
// and comparisons do. Each digit is counted piece by piece, so that every piece knows where its items go.
void sort_with_order(const double* values, std::size_t n, double* sorted, std::int64_t* order, std::size_t threads) {
  constexpr int BITS = 11, DIGITS = 3;
  constexpr std::size_t BUCKETS = std::size_t(1) << BITS, MAX_PIECES = 32, MIN_ITEMS = 1 << 15;  // of a piece at least
  const Pieces pieces(n, std::clamp<std::size_t>(n / MIN_ITEMS, 1, MAX_PIECES));
  std::unique_ptr<Item[]> items(new Item[n]), other(new Item[n]);
  const auto each = [&](const auto& work) {
    in_parallel(pieces.count, threads, [&](std::size_t p) { work(p, pieces.cut(p), pieces.cut(p + 1)); });
  };
  std::vector<std::uint64_t> all(pieces.count, ~std::uint64_t(0)), any(pieces.count, 0);
  each([&](std::size_t p, std::size_t begin, std::size_t end) {
    std::uint64_t common = ~std::uint64_t(0), some = 0;
    for (std::size_t i = begin; i < end; ++i) {
      items[i] = {ordered(values[i] + 0.0), static_cast<std::int64_t>(i)};  // −0 and 0 are equal
      common &= items[i].key;
      some |= items[i].key;
    }
    all[p] = common, any[p] = some;
  });
  for (std::size_t p = 1; p < pieces.count; ++p) all[0] &= all[p], any[0] |= any[p];
  int lowest = 0;  // bit of the digits
  while (lowest + DIGITS * BITS < 64 && (all[0] ^ any[0]) >> (lowest + DIGITS * BITS)) ++lowest;
  std::vector<std::size_t> counts(pieces.count * BUCKETS);
  for (int digit = 0; digit < DIGITS; ++digit) {
    const auto bucket = [&](const Item& item) { return (item.key >> (lowest + digit * BITS)) & (BUCKETS - 1); };
    std::fill(counts.begin(), counts.end(), 0);
    each([&](std::size_t p, std::size_t begin, std::size_t end) {
      std::size_t* count = counts.data() + p * BUCKETS;
      for (std::size_t i = begin; i < end; ++i) ++count[bucket(items[i])];
    });
    for (std::size_t b = 0, start = 0; b < BUCKETS; ++b)
      for (std::size_t p = 0; p < pieces.count; ++p) start += std::exchange(counts[p * BUCKETS + b], start);
    each([&](std::size_t p, std::size_t begin, std::size_t end) {
      std::size_t* count = counts.data() + p * BUCKETS;
      for (std::size_t i = begin; i < end; ++i) other[count[bucket(items[i])]++] = items[i];
    });
    items.swap(other);
  }
  // Only items whose digits are equal can still be in the wrong order: pieces end where the digits change.
  std::vector<std::size_t> cuts(pieces.count + 1, 0);
  for (std::size_t p = 1; p <= pieces.count; ++p) {
    std::size_t i = std::max(cuts[p - 1], pieces.cut(p));
    while (i > 0 && i < n && items[i].key >> lowest == items[i - 1].key >> lowest) ++i;
    cuts[p] = i;
  }
  each([&](std::size_t p, std::size_t, std::size_t) {
    Item *begin = items.get() + cuts[p], *end = items.get() + cuts[p + 1];
    if (begin < end && !insertion_sort(begin, static_cast<std::size_t>(end - begin)))
      std::sort(begin, end,
                [](const Item& a, const Item& b) { return a.key < b.key || (a.key == b.key && a.from < b.from); });
  });
  each([&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      sorted[i] = unordered(items[i].key);
      order[i] = items[i].from;
    }
  });
}

}  // namespace eigenlens
