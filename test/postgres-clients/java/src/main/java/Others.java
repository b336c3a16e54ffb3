import io.r2dbc.postgresql.PostgresqlConnectionConfiguration;
import io.r2dbc.postgresql.PostgresqlConnectionFactory;
import io.r2dbc.postgresql.api.PostgresqlConnection;
import io.r2dbc.postgresql.client.SSLMode;
import io.r2dbc.spi.R2dbcException;
import java.net.URI;
import java.sql.Connection;
import java.util.List;
import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.jooq.Sequence;
import org.jooq.exception.DataAccessException;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;
import reactor.core.publisher.Flux;

/** jOOQ and R2DBC: one line for each step, a name and a value. `Others LIBRARY URL`. */
public final class Others {
  private Others() {}

  public static void main(String[] args) throws Exception {
    if (args[0].equals("jooq")) jooq(args[1]);
    else r2dbc(args[1]);
  }

  private static void jooq(String url) throws Exception {
    try (Connection connection = Jdbc.connect(url, "")) {
      DSLContext context = DSL.using(connection, SQLDialect.POSTGRES);
      Sequence<Long> orders = DSL.sequence("orders", SQLDataType.BIGINT);
      show("nextval", context.nextval(orders));
      show("nextvals", context.nextvals(orders, 5));
      show("currval", context.currval(orders));
      Sequence<Long> qualified = DSL.sequence(DSL.name("public", "orders"), SQLDataType.BIGINT);
      show("qualified", context.nextval(qualified));
      context.createSequenceIfNotExists("created").startWith(5).incrementBy(10).execute();
      show("created", context.nextval("created").longValue());
      context.alterSequence("created").restartWith(105).execute();
      show("restarted", context.nextval("created").longValue());
      context.dropSequenceIfExists("created").execute();
      try {
        context.nextval("missing");
      } catch (DataAccessException error) {
        show("missing", error.sqlState());
      }
      show("meta", context.meta().getSequences("orders").size());
    }
  }

  private static void r2dbc(String url) {
    URI place = URI.create(url);
    String[] login = place.getUserInfo().split(":");
    var configuration =
        PostgresqlConnectionConfiguration.builder()
            .host(place.getHost())
            .port(place.getPort())
            .username(login[0])
            .password(login[1])
            .database(place.getPath().substring(1))
            .sslMode(place.getQuery() == null ? SSLMode.DISABLE : SSLMode.REQUIRE)
            .preparedStatementCacheQueries(-1)
            .build();
    PostgresqlConnection connection = new PostgresqlConnectionFactory(configuration).create().block();
    show("nextval", drawn(connection, "SELECT nextval('orders')"));
    show("parameter", drawn(connection, "SELECT nextval($1)", "orders"));
    show("parameter", drawn(connection, "SELECT nextval($1)", "orders"));
    show("cast", drawn(connection, "SELECT nextval($1::regclass)", "orders"));
    show("many", drawn(connection, "SELECT nextval('orders') FROM generate_series(1, $1)", 5));
    connection.beginTransaction().block();
    show("in transaction", drawn(connection, "SELECT nextval('orders')"));
    connection.rollbackTransaction().block();
    show("after rollback", drawn(connection, "SELECT nextval('orders')"));
    try {
      drawn(connection, "SELECT nextval('missing')");
    } catch (R2dbcException error) {
      show("missing", error.getSqlState());
    }
    connection.close().block();
  }

  private static List<Long> drawn(PostgresqlConnection connection, String sql, Object... values) {
    var statement = connection.createStatement(sql);
    for (int at = 0; at < values.length; at++) statement.bind(at, values[at]);
    return Flux.from(statement.execute()).flatMap(result -> result.map((row, facts) -> row.get(0, Long.class))).collectList().block();
  }

  private static void show(String step, Object value) {
    System.out.println(step + "\t" + value);
  }
}
