package fahao;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;

/** Writes batches in four threads, and prints how many are stored: {@code --writer=NAME --batches=N}. */
@Component
class Writer implements ApplicationRunner {
    private static final int THREADS = 4;
    private static final int ROWS = 20;
    private static final String VALUES = " (user_id, writer) VALUES " + String.join(", ", Collections.nCopies(ROWS, "(?, ?)"));

    private final JdbcTemplate database;
    private final OrderMapper orders;
    private final CustomerMapper customers;
    private final AtomicLong started = new AtomicLong();
    private final AtomicLong stored = new AtomicLong();

    Writer(JdbcTemplate database, OrderMapper orders, CustomerMapper customers) {
        this.database = database;
        this.orders = orders;
        this.customers = customers;
    }

    @Override
    public void run(ApplicationArguments arguments) throws Exception {
        String name = arguments.getOptionValues("writer").get(0);
        long batches = Long.parseLong(arguments.getOptionValues("batches").get(0));
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<?>> ends = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            ends.add(threads.submit(() -> write(name, batches)));
        }
        threads.shutdown();
        for (Future<?> end : ends) {
            end.get();
        }
    }

    private void write(String name, long batches) {
        for (long batch; (batch = started.getAndIncrement()) < batches;) {
            Object[] values = new Object[ROWS * 2];
            for (int row = 0; row < ROWS; row++) {
                values[row * 2] = batch * ROWS + row;
                values[row * 2 + 1] = name;
            }
            database.update("INSERT INTO t_order" + VALUES, values);
            database.update("INSERT INTO t_event" + VALUES, values);
            Order order = new Order(batch, name);
            orders.insert(order);
            Customer customer = new Customer(name);
            customers.insert(customer);
            if (order.getId() == null || customer.getId() == null) {
                throw new IllegalStateException("an INSERT through mybatis-plus told no id");
            }
            System.out.println("stored " + stored.incrementAndGet());
        }
    }
}
