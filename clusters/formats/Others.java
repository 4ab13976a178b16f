import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;

import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import com.google.common.hash.Mitz32;
import org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder;
import org.apache.datasketches.memory.Memory;
import org.apache.hadoop.util.bloom.Key;
import org.apache.hadoop.util.hash.Hash;

/**
 * The Bloom filters of other systems, by their own classes.
 *
 * make SYSTEM TYPE KEYS RATE OUT   a filter of the lines of KEYS, sized for their number
 * ask  SYSTEM TYPE FILTER PROBES   the lines of PROBES that may be in it
 */
public final class Others {
    public static void main(String[] args) throws Exception {
        String system = args[1];
        String type = args[2];
        if (args[0].equals("make")) {
            List<String> keys = Files.readAllLines(Path.of(args[3]));
            make(system, type, keys, Double.parseDouble(args[4]), Path.of(args[5]));
        } else {
            Predicate<String> has = open(system, type, Path.of(args[3]));
            List<String> found = new ArrayList<>();
            for (String line : Files.readAllLines(Path.of(args[4]))) {
                if (has.test(line)) {
                    found.add(line);
                }
            }
            StringBuilder out = new StringBuilder();
            found.forEach(line -> out.append(line).append('\n'));
            System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
            System.out.flush();
        }
    }

    private static void make(String system, String type, List<String> keys, double rate, Path to) throws Exception {
        long n = keys.size();
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(to))) {
            switch (system) {
                case "spark-v1", "spark-v2" -> {
                    var version = system.equals("spark-v1")
                        ? org.apache.spark.util.sketch.BloomFilter.Version.V1
                        : org.apache.spark.util.sketch.BloomFilter.Version.V2;
                    long bits = (long) (-n * Math.log(rate) / (Math.log(2) * Math.log(2)));
                    var filter = org.apache.spark.util.sketch.BloomFilter.create(version, n, bits, 0);
                    keys.forEach(type.equals("long") ? key -> filter.putLong(Long.parseLong(key)) : filter::putString);
                    filter.writeTo(out);
                }
                case "guava-64", "guava-32" -> guava(system, type, keys, rate, out);
                case "hadoop-murmur", "hadoop-jenkins" -> {
                    int bits = (int) Math.rint(-n * Math.log(rate) / (Math.log(2) * Math.log(2)));
                    int hashes = (int) Math.rint((double) bits / n * Math.log(2));
                    int hash = system.equals("hadoop-murmur") ? Hash.MURMUR_HASH : Hash.JENKINS_HASH;
                    var filter = new org.apache.hadoop.util.bloom.BloomFilter(bits, hashes, hash);
                    keys.forEach(key -> filter.add(new Key(key.getBytes(StandardCharsets.UTF_8))));
                    filter.write(new DataOutputStream(out));
                }
                case "datasketches" -> {
                    var filter = BloomFilterBuilder.createByAccuracy(n, rate, 9001);
                    keys.forEach(type.equals("long") ? key -> filter.update(Long.parseLong(key)) : filter::update);
                    out.write(filter.toByteArray());
                }
                default -> throw new IllegalArgumentException(system);
            }
        }
    }

    private static void guava(String system, String type, List<String> keys, double rate, OutputStream out)
            throws Exception {
        switch (type) {
            case "long" -> guavaOf(system, Funnels.longFunnel(), keys, Long::valueOf, rate, out);
            case "int" -> guavaOf(system, Funnels.integerFunnel(), keys, Integer::valueOf, rate, out);
            case "utf16" -> guavaOf(system, Funnels.unencodedCharsFunnel(), keys, key -> key, rate, out);
            default -> guavaOf(system, Funnels.stringFunnel(StandardCharsets.UTF_8), keys, key -> key, rate, out);
        }
    }

    private static <T> void guavaOf(String system, Funnel<? super T> funnel, List<String> keys,
            java.util.function.Function<String, T> value, double rate, OutputStream out) throws Exception {
        com.google.common.hash.BloomFilter<T> filter = system.equals("guava-32")
            ? Mitz32.create(funnel, keys.size(), rate)
            : com.google.common.hash.BloomFilter.create(funnel, keys.size(), rate);
        keys.forEach(key -> filter.put(value.apply(key)));
        filter.writeTo(out);
    }

    private static Predicate<String> open(String system, String type, Path path) throws Exception {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(path))) {
            switch (system) {
                case "spark-v1", "spark-v2" -> {
                    var filter = org.apache.spark.util.sketch.BloomFilter.readFrom(in);
                    return type.equals("long")
                        ? key -> filter.mightContainLong(Long.parseLong(key)) : filter::mightContainString;
                }
                case "guava-64", "guava-32" -> {
                    switch (type) {
                        case "long" -> {
                            var filter = com.google.common.hash.BloomFilter.readFrom(in, Funnels.longFunnel());
                            return key -> filter.mightContain(Long.valueOf(key));
                        }
                        case "int" -> {
                            var filter = com.google.common.hash.BloomFilter.readFrom(in, Funnels.integerFunnel());
                            return key -> filter.mightContain(Integer.valueOf(key));
                        }
                        case "utf16" -> {
                            var filter = com.google.common.hash.BloomFilter.readFrom(in, Funnels.unencodedCharsFunnel());
                            return filter::mightContain;
                        }
                        default -> {
                            var filter = com.google.common.hash.BloomFilter.readFrom(
                                in, Funnels.stringFunnel(StandardCharsets.UTF_8));
                            return filter::mightContain;
                        }
                    }
                }
                case "hadoop-murmur", "hadoop-jenkins" -> {
                    var filter = new org.apache.hadoop.util.bloom.BloomFilter();
                    filter.readFields(new DataInputStream(in));
                    return key -> filter.membershipTest(new Key(key.getBytes(StandardCharsets.UTF_8)));
                }
                case "datasketches" -> {
                    var filter = org.apache.datasketches.filters.bloomfilter.BloomFilter.heapify(
                        Memory.wrap(in.readAllBytes()));
                    return type.equals("long") ? key -> filter.query(Long.parseLong(key)) : filter::query;
                }
                default -> throw new IllegalArgumentException(system);
            }
        }
    }
}
