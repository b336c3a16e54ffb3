package fahao;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.Scanner;

/** Stores "customer order" lines of stdin through ShardingSphere-JDBC, and finds each order by its id and by its customer. */
public final class Routing {
    public static void main(String[] arguments) throws Exception {
        int found = 0;
        try (Connection database = DriverManager.getConnection("jdbc:shardingsphere:absolutepath:" + arguments[0]);
                Scanner pairs = new Scanner(System.in)) {
            PreparedStatement addCustomer = database.prepareStatement("INSERT INTO t_customer (id) VALUES (?)");
            PreparedStatement addOrder = database.prepareStatement("INSERT INTO t_order (id, customer_id) VALUES (?, ?)");
            PreparedStatement byId = database.prepareStatement("SELECT customer_id FROM t_order WHERE id = ?");
            PreparedStatement byCustomer = database.prepareStatement("SELECT count(*) FROM t_order WHERE customer_id = ?");
            long last = -1;
            while (pairs.hasNextLong()) {
                long customer = pairs.nextLong();
                long order = pairs.nextLong();
                if (customer != last) {
                    addCustomer.setLong(1, customer);
                    addCustomer.executeUpdate();
                }
                addOrder.setLong(1, order);
                addOrder.setLong(2, customer);
                addOrder.executeUpdate();
                if (number(byId, order) == customer && number(byCustomer, customer) > 0) {
                    found++;
                }
                last = customer;
            }
        }
        System.out.println("found " + found);
    }

    private static long number(PreparedStatement statement, long id) throws Exception {
        statement.setLong(1, id);
        try (ResultSet rows = statement.executeQuery()) {
            return rows.next() ? rows.getLong(1) : -1;
        }
    }
}
