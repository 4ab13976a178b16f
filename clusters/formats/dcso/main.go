// The Bloom filter of DCSO, by its own library.
//
//	make KEYS RATE OUT    a filter of the lines of KEYS, sized for their number
//	ask  FILTER PROBES    the lines of PROBES that may be in it
//	speed FILTER PROBES   nanoseconds for a lookup, the least of 200 rounds, and how many of the probes are found
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/DCSO/bloom"
)

func lines(path string) [][]byte {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	var all [][]byte
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		all = append(all, append([]byte(nil), scanner.Bytes()...))
	}
	check(scanner.Err())
	return all
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if os.Args[1] == "make" {
		keys := lines(os.Args[2])
		rate, err := strconv.ParseFloat(os.Args[3], 64)
		check(err)
		filter := bloom.Initialize(uint64(len(keys)), rate)
		for _, key := range keys {
			filter.Add(key)
		}
		check(bloom.WriteFilter(&filter, os.Args[4], false))
		return
	}
	filter, err := bloom.LoadFilter(os.Args[2], false)
	check(err)
	if os.Args[1] == "speed" {
		speed(filter, lines(os.Args[3]))
		return
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, probe := range lines(os.Args[3]) {
		if filter.Check(probe) {
			out.Write(append(probe, '\n'))
		}
	}
}

func speed(filter *bloom.BloomFilter, probes [][]byte) {
	least, found := time.Hour, 0
	for round := 0; round < 200; round++ {
		found = 0
		start := time.Now()
		for _, probe := range probes {
			if filter.Check(probe) {
				found++
			}
		}
		least = min(least, time.Since(start))
	}
	fmt.Printf("%.1f %d\n", float64(least.Nanoseconds())/float64(len(probes)), found)
}
