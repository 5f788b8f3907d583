// Genotypes of PLINK, two bits per person, the first person of a byte in its lowest bits: 00 two copies of the first
// allele, 01 missing, 10 one copy, 11 none. Bits beyond the last person may be anything. Included once per instruction
// set; no include guard, on purpose.
namespace genotypes {

constexpr std::uint64_t LOW = 0x5555555555555555u;  // the lower bit of each person

// Calls found(missing, one, none, first person) with the lower bits of the people with these codes, 32 people at a time.
template <class Found>
inline void in_words(const std::uint8_t* packed, std::size_t n, const Found& found) {
  for (std::size_t first = 0; first < n; first += 32) {
    const std::size_t people = std::min<std::size_t>(32, n - first);
    std::uint64_t word = 0;
    if (people == 32)
      std::memcpy(&word, packed + first / 4, 8);
    else
      for (std::size_t byte = 0; byte < (people + 3) / 4; ++byte)
        word |= static_cast<std::uint64_t>(packed[first / 4 + byte]) << 8 * byte;
    const std::uint64_t kept = people == 32 ? LOW : LOW & ((std::uint64_t(1) << 2 * people) - 1);
    const std::uint64_t low = word & kept, high = (word >> 1) & kept;
    found(low & ~high, high & ~low, low & high, first);
  }
}

// counts[j]: how many people have each of the four codes of variant j.
inline void counts(const std::uint8_t* packed, std::size_t width, std::size_t n, std::size_t begin, std::size_t end,
                   std::int32_t* out) {
  for (std::size_t j = begin; j < end; ++j) {
    std::int32_t missing = 0, one = 0, none = 0;
    in_words(packed + j * width, n, [&](std::uint64_t m, std::uint64_t h, std::uint64_t z, std::size_t) {
      missing += __builtin_popcountll(m), one += __builtin_popcountll(h), none += __builtin_popcountll(z);
    });
    const std::int32_t row[4] = {static_cast<std::int32_t>(n) - missing - one - none, missing, one, none};
    std::copy_n(row, 4, out + 4 * j);
  }
}

// panel[j][i] = values[j][code of person i]. The four values of a byte are copied at once, from a table of all bytes.
inline void panel(const std::uint8_t* packed, std::size_t width, std::size_t n, const float* values, std::size_t begin,
                  std::size_t end, float* out) {
  alignas(64) float table[256][4];
  for (std::size_t j = begin; j < end; ++j) {
    const float* value = values + 4 * j;
    for (std::size_t byte = 0; byte < 256; ++byte)
      for (std::size_t p = 0; p < 4; ++p) table[byte][p] = value[byte >> 2 * p & 3];
    const std::uint8_t* from = packed + j * width;
    float* to = out + j * n;
    for (std::size_t byte = 0; byte < n / 4; ++byte) std::memcpy(to + 4 * byte, table[from[byte]], 16);
    if (n % 4) std::memcpy(to + n / 4 * 4, table[from[n / 4]], n % 4 * sizeof(float));
  }
}

// The people whose call of variant j is missing, ascending, after those already in the list.
inline void missing(const std::uint8_t* packed, std::size_t n, std::vector<std::int32_t>& people) {
  in_words(packed, n, [&](std::uint64_t m, std::uint64_t, std::uint64_t, std::size_t first) {
    for (; m; m &= m - 1) people.push_back(static_cast<std::int32_t>(first + __builtin_ctzll(m) / 2));
  });
}

// pairs[i][k] += 1 for k ≤ i among the people of one list, i from begin to end.
inline void pairs(const std::int32_t* people, const std::int32_t* last, std::size_t n, std::size_t begin,
                  std::size_t end, std::int32_t* out) {
  const std::int32_t* at = std::lower_bound(people, last, static_cast<std::int32_t>(begin));
  for (; at != last && static_cast<std::size_t>(*at) < end; ++at)
    for (const std::int32_t* other = people; other <= at; ++other) ++out[static_cast<std::size_t>(*at) * n + *other];
}
}  // namespace genotypes
