import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import com.google.common.hash.Mitz32;
import org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder;
import org.apache.datasketches.memory.Memory;
import org.apache.hadoop.util.bloom.CountingBloomFilter;
import org.apache.hadoop.util.bloom.Key;
import org.apache.hadoop.util.hash.Hash;
import org.apache.spark.util.sketch.CountMinSketch;

/**
 * The filters and sketches of other systems, by their own classes.
 *
 * make  SYSTEM TYPE KEYS RATE OUT   a filter of the lines of KEYS, sized for their number; of spark-counts, a sketch in
 *                                   which the line of number i, from 0, comes 1 + i mod 5 times
 * ask   SYSTEM TYPE FILTER PROBES   the lines of PROBES that may be in it; of spark-counts, all with their estimates
 * speed SYSTEM TYPE FILTER PROBES   nanoseconds for a lookup, the least of 200 rounds after 200 that warm it up, and how
 *                                   many of the probes are found
 */
public final class Others {
    public static void main(String[] args) throws Exception {
        String system = args[1];
        String type = args[2];
        switch (args[0]) {
            case "make" -> make(system, type, Path.of(args[3]), Double.parseDouble(args[4]), Path.of(args[5]));
            case "ask" -> ask(system, type, Path.of(args[3]), Path.of(args[4]));
            default -> speed(system, type, Path.of(args[3]), Path.of(args[4]));
        }
    }

    /** Lines of bytes are read as Latin-1, which keeps them. */
    private static Charset charset(String type) {
        return type.equals("bytes") ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8;
    }

    private static byte[] bytes(String type, String line) {
        return line.getBytes(charset(type));
    }

    private static long count(String type, Path lines) throws Exception {
        try (Stream<String> all = Files.lines(lines, charset(type))) {
            return all.count();
        }
    }

    private static void each(String type, Path lines, Consumer<String> take) throws Exception {
        try (BufferedReader in = Files.newBufferedReader(lines, charset(type))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                take.accept(line);
            }
        }
    }

    private static void ask(String system, String type, Path filter, Path probes) throws Exception {
        try (PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, charset(type))) {
            if (system.equals("spark-counts")) {
                CountMinSketch sketch;
                try (InputStream in = new BufferedInputStream(Files.newInputStream(filter))) {
                    sketch = CountMinSketch.readFrom(in);
                }
                each(type, probes, line -> {
                    out.print(line + "\t" + sketch.estimateCount(item(type, line)) + "\n");
                });
                return;
            }
            Predicate<Object> has = open(system, type, filter);
            Function<String, Object> value = value(system, type);
            each(type, probes, line -> {
                if (has.test(value.apply(line))) {
                    out.print(line + "\n");
                }
            });
        }
    }

    /** An item of a sketch that counts. */
    private static Object item(String type, String line) {
        return switch (type) {
            case "long" -> (Object) Long.valueOf(line);
            case "bytes" -> bytes(type, line);
            default -> line;
        };
    }

    /** What is asked fastest: text as its bytes, but where a funnel takes the text itself. */
    private static Function<String, Object> value(String system, String type) {
        if (system.startsWith("hadoop")) {
            return line -> new Key(bytes(type, line));
        }
        return switch (type) {
            case "long" -> Long::valueOf;
            case "int" -> Integer::valueOf;
            case "utf16" -> line -> line;
            default -> line -> bytes(type, line);
        };
    }

    private static void speed(String system, String type, Path filter, Path probes) throws Exception {
        Predicate<Object> has = open(system, type, filter);
        Function<String, Object> value = value(system, type);
        Object[] values;
        try (Stream<String> all = Files.lines(probes, charset(type))) {
            values = all.map(value).toArray();
        }
        long least = Long.MAX_VALUE;
        int found = 0;
        for (int round = 0; round < 400; round++) {
            long start = System.nanoTime();
            found = 0;
            for (Object one : values) {
                found += has.test(one) ? 1 : 0;
            }
            long took = System.nanoTime() - start;
            least = round < 200 ? least : Math.min(least, took);
        }
        System.out.printf("%.1f %d%n", (double) least / values.length, found);
    }

    private static void make(String system, String type, Path keys, double rate, Path to) throws Exception {
        long n = count(type, keys);
        long bits = (long) (-n * Math.log(rate) / (Math.log(2) * Math.log(2)));
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(to))) {
            switch (system) {
                case "spark-v1", "spark-v2" -> {
                    var version = system.equals("spark-v1")
                        ? org.apache.spark.util.sketch.BloomFilter.Version.V1
                        : org.apache.spark.util.sketch.BloomFilter.Version.V2;
                    var filter = org.apache.spark.util.sketch.BloomFilter.create(version, n, bits, 0);
                    each(type, keys, switch (type) {
                        case "long" -> key -> filter.putLong(Long.parseLong(key));
                        case "bytes" -> key -> filter.putBinary(bytes(type, key));
                        default -> filter::putString;
                    });
                    filter.writeTo(out);
                }
                case "spark-counts" -> {
                    var sketch = CountMinSketch.create(0.001, 0.99, 7);
                    long[] number = {0};
                    each(type, keys, key -> sketch.add(item(type, key), 1 + number[0]++ % 5));
                    sketch.writeTo(out);
                }
                case "guava-64", "guava-32" -> guava(system, type, keys, n, rate, out);
                case "hadoop-murmur", "hadoop-jenkins", "hadoop-counting" -> {
                    int m = (int) Math.rint(-n * Math.log(rate) / (Math.log(2) * Math.log(2)));
                    int k = (int) Math.rint((double) m / n * Math.log(2));
                    int hash = system.equals("hadoop-jenkins") ? Hash.JENKINS_HASH : Hash.MURMUR_HASH;
                    var filter = system.equals("hadoop-counting")
                        ? new CountingBloomFilter(m, k, hash)
                        : new org.apache.hadoop.util.bloom.BloomFilter(m, k, hash);
                    each(type, keys, key -> filter.add(new Key(bytes(type, key))));
                    filter.write(new DataOutputStream(out));
                }
                case "datasketches" -> {
                    var filter = BloomFilterBuilder.createByAccuracy(n, rate, 9001);
                    each(type, keys, switch (type) {
                        case "long" -> key -> filter.update(Long.parseLong(key));
                        case "bytes" -> key -> filter.update(bytes(type, key));
                        default -> filter::update;
                    });
                    out.write(filter.toByteArray());
                }
                default -> throw new IllegalArgumentException(system);
            }
        }
    }

    private static void guava(String system, String type, Path keys, long n, double rate, OutputStream out)
            throws Exception {
        switch (type) {
            case "long" -> guavaOf(system, type, Funnels.longFunnel(), keys, n, Long::valueOf, rate, out);
            case "int" -> guavaOf(system, type, Funnels.integerFunnel(), keys, n, Integer::valueOf, rate, out);
            case "utf16" -> guavaOf(system, type, Funnels.unencodedCharsFunnel(), keys, n, key -> key, rate, out);
            case "bytes" ->
                guavaOf(system, type, Funnels.byteArrayFunnel(), keys, n, key -> bytes(type, key), rate, out);
            default ->
                guavaOf(system, type, Funnels.stringFunnel(StandardCharsets.UTF_8), keys, n, key -> key, rate, out);
        }
    }

    private static <T> void guavaOf(String system, String type, Funnel<? super T> funnel, Path keys, long n,
            Function<String, T> value, double rate, OutputStream out) throws Exception {
        com.google.common.hash.BloomFilter<T> filter = system.equals("guava-32")
            ? Mitz32.create(funnel, n, rate)
            : com.google.common.hash.BloomFilter.create(funnel, n, rate);
        each(type, keys, key -> filter.put(value.apply(key)));
        filter.writeTo(out);
    }

    private static Predicate<Object> open(String system, String type, Path path) throws Exception {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(path))) {
            switch (system) {
                case "spark-v1", "spark-v2" -> {
                    var filter = org.apache.spark.util.sketch.BloomFilter.readFrom(in);
                    return type.equals("long")
                        ? key -> filter.mightContainLong((Long) key)
                        : key -> filter.mightContainBinary((byte[]) key);
                }
                case "guava-64", "guava-32" -> {
                    return switch (type) {
                        case "long" -> guavaOpen(in, Funnels.longFunnel());
                        case "int" -> guavaOpen(in, Funnels.integerFunnel());
                        case "utf16" -> guavaOpen(in, Funnels.unencodedCharsFunnel());
                        default -> guavaOpen(in, Funnels.byteArrayFunnel());
                    };
                }
                case "hadoop-murmur", "hadoop-jenkins", "hadoop-counting" -> {
                    var filter = system.equals("hadoop-counting")
                        ? new CountingBloomFilter() : new org.apache.hadoop.util.bloom.BloomFilter();
                    filter.readFields(new DataInputStream(in));
                    return key -> filter.membershipTest((Key) key);
                }
                case "datasketches" -> {
                    var filter = org.apache.datasketches.filters.bloomfilter.BloomFilter.heapify(
                        Memory.wrap(in.readAllBytes()));
                    return type.equals("long") ? key -> filter.query((Long) key) : key -> filter.query((byte[]) key);
                }
                default -> throw new IllegalArgumentException(system);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> Predicate<Object> guavaOpen(InputStream in, Funnel<T> funnel) throws Exception {
        var filter = com.google.common.hash.BloomFilter.readFrom(in, funnel);
        return key -> filter.mightContain((T) key);
    }
}
