package com.google.common.hash;

/** Guava makes filters of its first strategy only for those in its own package. */
public final class Mitz32 {
    private Mitz32() {}

    public static <T> BloomFilter<T> create(Funnel<? super T> funnel, long keys, double rate) {
        return BloomFilter.create(funnel, keys, rate, BloomFilterStrategies.MURMUR128_MITZ_32);
    }
}
