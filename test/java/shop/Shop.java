package fahao;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Fills the tables of a shop: orders and events, which are sharded, and customers. */
@SpringBootApplication
public class Shop {
    public static void main(String[] arguments) {
        System.exit(SpringApplication.exit(SpringApplication.run(Shop.class, arguments)));
    }
}
