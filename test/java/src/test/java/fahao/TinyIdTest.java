package fahao;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** tinyid's protocol as its Java client speaks it, which is not published on Maven Central. */
class TinyIdTest {
    /** One segment, and the ids of it that a client issues. */
    private static long[] segment(String bizType) {
        try {
            String url = System.getProperty("fahao.url") + "/tinyid/id/nextSegmentIdSimple?token="
                + System.getProperty("fahao.tinyid") + "&bizType=" + bizType;
            HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
            connection.setRequestMethod("POST");
            connection.setDoOutput(true);
            connection.getOutputStream().close();
            try (InputStream body = connection.getInputStream()) {
                String[] parts = new String(body.readAllBytes(), StandardCharsets.UTF_8).split(",");
                long currentId = Long.parseLong(parts[0]);
                long maxId = Long.parseLong(parts[2]);
                long delta = Long.parseLong(parts[3]);
                long remainder = Long.parseLong(parts[4]);
                assertTrue(Long.parseLong(parts[1]) >= currentId && Long.parseLong(parts[1]) <= maxId);
                return java.util.stream.LongStream.rangeClosed(currentId + 1, maxId)
                    .filter(id -> id % delta == remainder).toArray();
            }
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    @Test
    void segmentsOfManyThreadsShareNoId() {
        Set<Long> seen = ConcurrentHashMap.newKeySet();
        long ids = IntStream.range(0, 60).parallel().mapToLong(round -> {
            long[] segment = segment("tinyid_odd");
            for (long id : segment) {
                assertTrue(id % 2 == 1 && seen.add(id), "twice: " + id);
            }
            return segment.length;
        }).sum();
        assertEquals(seen.size(), ids);
        assertTrue(ids >= 60);
    }
}
