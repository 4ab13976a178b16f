// Boost.Bloom behind five functions. Keys are those of ranges of numbers, as for all contestants.

#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/filter.hpp>
#include <cstdint>

using Filter = boost::bloom::filter<std::uint64_t, 1, boost::bloom::fast_multiblock32<8>>;

static std::uint64_t key(std::uint64_t number) { return number * 0x9e3779b97f4a7c15u; }

extern "C" {

void *boost_new(std::uint64_t keys, double rate) { return new Filter(keys, rate); }

void boost_free(void *filter) { delete static_cast<Filter *>(filter); }

std::uint64_t boost_bits(const void *filter) { return static_cast<const Filter *>(filter)->capacity(); }

void boost_clear(void *filter) { static_cast<Filter *>(filter)->clear(); }

void boost_insert(void *to, std::uint64_t from, std::uint64_t end) {
    Filter &filter = *static_cast<Filter *>(to);
    for (std::uint64_t number = from; number < end; ++number) filter.insert(key(number));
}

std::uint64_t boost_count(const void *in, std::uint64_t from, std::uint64_t end) {
    const Filter &filter = *static_cast<const Filter *>(in);
    std::uint64_t count = 0;
    for (std::uint64_t number = from; number < end; ++number) count += filter.may_contain(key(number));
    return count;
}
}
