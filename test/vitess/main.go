// Where Vitess puts rows: reads "customer order" lines, and prints for each the shards of both, of 4 and of 1,024, by the vindex
// reverse_bits.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"vitess.io/vitess/go/sqltypes"
	"vitess.io/vitess/go/vt/key"
	"vitess.io/vitess/go/vt/vtgate/vindexes"
)

func main() {
	vindex, err := vindexes.CreateVindex("reverse_bits", "by_gene", nil)
	check(err)
	ranges := map[int][]string{4: names(4), 1024: names(1024)}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var customer, order uint64
		_, err := fmt.Sscan(input.Text(), &customer, &order)
		check(err)
		fmt.Println(shardOf(vindex, customer, ranges[4]), shardOf(vindex, order, ranges[4]),
			shardOf(vindex, customer, ranges[1024]), shardOf(vindex, order, ranges[1024]))
	}
	check(input.Err())
}

// The names of equal shards, as Vitess writes them: -40, 40-80, …
func names(shards int) []string {
	ranges, err := key.GenerateShardRanges(shards, 0)
	check(err)
	return ranges
}

func shardOf(vindex vindexes.Vindex, id uint64, shards []string) string {
	destinations, err := vindexes.Map(context.Background(), vindex, nil,
		[][]sqltypes.Value{{sqltypes.NewUint64(id)}})
	check(err)
	space := destinations[0].(key.DestinationKeyspaceID)
	at := int(binary.BigEndian.Uint64(space) >> 32 * uint64(len(shards)) >> 32)
	ranges, err := key.ParseShardingSpec(shards[at])
	check(err)
	if !key.KeyRangeContains(ranges[0], space) {
		check(fmt.Errorf("shard %s does not contain %s", shards[at], strconv.FormatUint(id, 10)))
	}
	return shards[at]
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
