"""Draws ids in a loop: ADDRESSES (host:port,host:port) and the name of a generator. A line for each reply."""

import sys
import time

from redis.cluster import ClusterNode, RedisCluster

addresses, name = sys.argv[1:]
nodes = [ClusterNode(host, int(port)) for host, port in (each.split(":") for each in addresses.split(","))]
client = RedisCluster(startup_nodes=nodes)
while True:
    try:
        print("id", client.incr(name), flush=True)
    except Exception as error:
        print("error", type(error).__name__, str(error).replace("\n", " "), flush=True)
    time.sleep(0.02)
