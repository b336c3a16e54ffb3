// Draws ids in a loop: a library, ADDRESSES (host:port,host:port) and the name of a generator. A line for each reply.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func main() {
	library, addresses, name := os.Args[1], strings.Split(os.Args[2], ","), os.Args[3]
	draw, err := drawing(library, addresses, name)
	for err != nil {
		fmt.Println("error", err)
		time.Sleep(500 * time.Millisecond)
		draw, err = drawing(library, addresses, name)
	}
	for {
		id, err := draw()
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("id", id)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func drawing(library string, addresses []string, name string) (func() (int64, error), error) {
	ctx := context.Background()
	if library == "rueidis" {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addresses})
		return func() (int64, error) {
			return client.Do(ctx, client.B().Incr().Key(name).Build()).AsInt64()
		}, err
	}
	options := &redis.ClusterOptions{Addrs: addresses}
	if library == "go-redis-reload" {
		options.ClusterStateReloadInterval = time.Second
	}
	client := redis.NewClusterClient(options)
	return func() (int64, error) { return client.Incr(ctx, name).Result() }, nil
}
