import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.exception.ConstraintViolationException;

/** Runs what Hibernate has of the steps: Hibernate SCHEME. Reads steps as JSON, prints a line of JSON for each. */
final class Hibernate {
    /** A row, with an id of the database's own. */
    @Entity(name = "Order")
    @Table(name = "orders")
    public static class Order {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        private Long id;

        @Column(nullable = false, unique = true, length = 60)
        private String customer;

        @Column(nullable = false)
        private int amount;
    }

    private final SessionFactory sessions;

    private Hibernate(SessionFactory sessions) {
        this.sessions = sessions;
    }

    public static void main(String[] args) {
        String address = System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/" + System.getenv("DB_NAME");
        Configuration configuration =
                new Configuration()
                        .addAnnotatedClass(Order.class)
                        .setProperty("hibernate.connection.url", "jdbc:" + args[0] + "://" + address)
                        .setProperty("hibernate.connection.username", System.getenv("DB_USER"))
                        .setProperty("hibernate.connection.password", System.getenv("DB_PASSWORD"))
                        .setProperty("hibernate.connection.pool_size", "2");
        try (SessionFactory sessions = configuration.buildSessionFactory()) {
            Hibernate hibernate = new Hibernate(sessions);
            var steps = JsonParser.parseReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (JsonElement step : steps.getAsJsonArray()) {
                System.out.println(new Gson().toJson(hibernate.perform(step.getAsJsonObject())));
            }
        }
    }

    private static final class Report {
        String name;
        List<Integer> affected = List.of();
        List<String> ids = List.of();
        Object error;
        boolean absent;
    }

    private Report perform(JsonObject step) {
        Report report = new Report();
        report.name = step.get("name").getAsString();
        List<Order> orders = new ArrayList<>();
        for (JsonElement customer : step.getAsJsonArray("customers")) {
            Order order = new Order();
            order.customer = customer.getAsString();
            order.amount = orders.size() + 1;
            orders.add(order);
        }
        try {
            switch (report.name) {
                case "single", "multi", "commit", "after" -> report.ids = insert(orders, false);
                case "rollback" -> report.ids = insert(orders, true);
                case "clash" -> {
                    execute("INSERT INTO orders (id, customer, amount) VALUES (8007, 'clash-1', 1)");
                    report.ids = insert(orders, false);
                }
                default -> report.absent = true;
            }
        } catch (ConstraintViolationException error) {
            report.error = error.getSQLException().getErrorCode();
        }
        return report;
    }

    private List<String> insert(List<Order> orders, boolean rollsBack) {
        return sessions.fromSession(
                session -> {
                    var transaction = session.beginTransaction();
                    try {
                        orders.forEach(session::persist);
                        session.flush();
                        if (rollsBack) {
                            transaction.rollback();
                        } else {
                            transaction.commit();
                        }
                    } catch (RuntimeException error) {
                        transaction.rollback();
                        throw error;
                    }
                    return orders.stream().map(order -> String.valueOf(order.id)).toList();
                });
    }

    private void execute(String sql) {
        sessions.inTransaction(session -> session.createNativeMutationQuery(sql).executeUpdate());
    }
}
