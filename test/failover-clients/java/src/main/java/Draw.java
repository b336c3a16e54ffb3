import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;

/** Draws ids in a loop: a library, ADDRESSES (host:port,host:port) and the name of a generator. A line for each reply. */
public final class Draw {
    public static void main(String[] words) throws Exception {
        List<String> addresses = Arrays.asList(words[1].split(","));
        Callable<Long> draw =
                words[0].equals("jedis")
                        ? jedis(addresses, words[2])
                        : lettuce(addresses, words[2], words[0].equals("lettuce-options"));
        while (true) {
            try {
                System.out.println("id " + draw.call());
            } catch (Exception error) {
                System.out.println("error " + error.toString().replace("\n", " "));
            }
            Thread.sleep(20);
        }
    }

    private static Callable<Long> jedis(List<String> addresses, String name) {
        var nodes = new HashSet<>(addresses.stream().map(HostAndPort::from).toList());
        var client = new JedisCluster(nodes);
        return () -> client.incr(name);
    }

    private static Callable<Long> lettuce(List<String> addresses, String name, boolean hasOptions) {
        var client =
                RedisClusterClient.create(
                        addresses.stream().map(each -> RedisURI.create("redis://" + each)).toList());
        if (hasOptions) {
            client.setOptions(
                    ClusterClientOptions.builder()
                            .topologyRefreshOptions(
                                    ClusterTopologyRefreshOptions.builder()
                                            .enableAllAdaptiveRefreshTriggers()
                                            .adaptiveRefreshTriggersTimeout(Duration.ofSeconds(1))
                                            .build())
                            .timeoutOptions(TimeoutOptions.enabled(Duration.ofSeconds(6)))
                            .build());
        }
        var commands = client.connect().sync();
        return () -> commands.incr(name);
    }
}
