// Radix sort of doubles.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

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

// Three digits of eleven bits, from the highest bit that differs, put nearly all in order; where they do not, comparisons
// do.
void sort_with_order(const double* values, std::size_t n, double* sorted, std::int64_t* order) {
  constexpr int BITS = 11, DIGITS = 3;
  constexpr std::size_t BUCKETS = std::size_t(1) << BITS;
  std::unique_ptr<Item[]> items(new Item[n]), other(new Item[n]);
  std::uint64_t all = ~std::uint64_t(0), any = 0;
  for (std::size_t i = 0; i < n; ++i) {
    items[i] = {ordered(values[i] + 0.0), static_cast<std::int64_t>(i)};  // −0 and 0 are equal
    all &= items[i].key;
    any |= items[i].key;
  }
  int lowest = 0;  // bit of the digits
  while (lowest + DIGITS * BITS < 64 && (all ^ any) >> (lowest + DIGITS * BITS)) ++lowest;
  std::vector<std::size_t> counts(DIGITS * BUCKETS);
  auto digit = [&](std::uint64_t key, int p) { return (key >> (lowest + p * BITS)) & (BUCKETS - 1); };
  for (std::size_t i = 0; i < n; ++i)
    for (int p = 0; p < DIGITS; ++p) ++counts[p * BUCKETS + digit(items[i].key, p)];
  for (int p = 0; p < DIGITS; ++p) {
    std::size_t* count = counts.data() + p * BUCKETS;
    for (std::size_t b = 0, start = 0; b < BUCKETS; ++b) start += std::exchange(count[b], start);
    for (std::size_t i = 0; i < n; ++i) other[count[digit(items[i].key, p)]++] = items[i];
    items.swap(other);
  }
  if (!insertion_sort(items.get(), n))
    std::sort(items.get(), items.get() + n,
              [](const Item& a, const Item& b) { return a.key < b.key || (a.key == b.key && a.from < b.from); });
  for (std::size_t i = 0; i < n; ++i) {
    sorted[i] = unordered(items[i].key);
    order[i] = items[i].from;
  }
}

}  // namespace eigenlens
