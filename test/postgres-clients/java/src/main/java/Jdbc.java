import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** pgjdbc: one line for each step, a name and a value. `Jdbc URL PROPERTIES`, the properties as `name=value&…`. */
public final class Jdbc {
  private final Connection connection;

  private Jdbc(Connection connection) {
    this.connection = connection;
  }

  public static void main(String[] args) throws Exception {
    try (Connection connection = connect(args[0], args.length > 1 ? args[1] : "")) {
      new Jdbc(connection).run();
    }
  }

  /** Connects to `postgres://user:password@host:port/database?properties`. */
  static Connection connect(String url, String options) throws SQLException {
    java.net.URI place = java.net.URI.create(url);
    String[] login = place.getUserInfo().split(":");
    Properties properties = new Properties();
    properties.setProperty("user", login[0]);
    properties.setProperty("password", login[1]);
    String query = "?" + (place.getQuery() == null ? "" : place.getQuery() + "&") + options;
    return DriverManager.getConnection(
        "jdbc:postgresql://" + place.getHost() + ":" + place.getPort() + place.getPath() + query, properties);
  }

  private static void show(String step, Object value) {
    System.out.println(step + "\t" + value);
  }

  private List<Long> ids(String sql) throws SQLException {
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
      return longs(rows);
    }
  }

  private static List<Long> longs(ResultSet rows) throws SQLException {
    List<Long> ids = new ArrayList<>();
    while (rows.next()) ids.add(rows.getLong(1));
    return ids;
  }

  private List<Long> drawn(String sql, Object value, int times) throws SQLException {
    List<Long> ids = new ArrayList<>();
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int at = 0; at < times; at++) {
        statement.setObject(1, value);
        try (ResultSet rows = statement.executeQuery()) {
          ids.addAll(longs(rows));
        }
      }
    }
    return ids;
  }

  private void run() throws SQLException {
    show("nextval", ids("SELECT nextval('orders')"));
    // More than prepareThreshold (5): the driver then names the statement, and later asks for binary results.
    show("prepared", drawn("SELECT nextval(?)", "orders", 12));
    show("cast", drawn("SELECT nextval(?::regclass)", "orders", 2));
    show("currval", ids("SELECT currval('orders')"));
    show("lastval", ids("SELECT lastval()"));
    show("many", drawn("SELECT nextval('orders') FROM generate_series(1, ?)", 5, 1));
    try (Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.executeQuery("SELECT nextval('orders')").close();
      connection.rollback();
      statement.setFetchSize(2);
      try (ResultSet rows = statement.executeQuery("SELECT nextval('orders') FROM generate_series(1, 5)")) {
        show("fetch size", longs(rows));
      }
      var savepoint = connection.setSavepoint();
      show("missing", stateOf("SELECT nextval('missing')"));
      show("failed transaction", stateOf("SELECT 1"));
      connection.rollback(savepoint);
      show("after savepoint", ids("SELECT nextval('orders')"));
      connection.commit();
      connection.setAutoCommit(true);
      connection.setReadOnly(false);
      connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      show("isolation", connection.getTransactionIsolation());
      show("setval", ids("SELECT setval('orders', 100)"));
      show("after setval", ids("SELECT nextval('orders')"));
      statement.setMaxRows(2);
      show("max rows", statement.executeQuery("SELECT 1").next());
      statement.execute("SELECT nextval('orders'); SELECT nextval('orders')");
      List<Long> both = new ArrayList<>(longs(statement.getResultSet()));
      statement.getMoreResults();
      both.addAll(longs(statement.getResultSet()));
      show("two statements", both);
      statement.execute("CREATE SEQUENCE created INCREMENT BY 10 START WITH 5");
      show("created", List.of(ids("SELECT nextval('created')"), ids("SELECT nextval('created')")));
      statement.execute("DROP SEQUENCE created");
    }
    metaData();
  }

  private String stateOf(String sql) {
    try {
      ids(sql);
      return "no error";
    } catch (SQLException error) {
      return error.getSQLState();
    }
  }

  private void metaData() throws SQLException {
    var metaData = connection.getMetaData();
    try (ResultSet rows = metaData.getTables(null, "public", "%", new String[] {"SEQUENCE"})) {
      while (rows.next())
        show("getTables", rows.getString("TABLE_SCHEM") + "." + rows.getString("TABLE_NAME") + " " + rows.getString("TABLE_TYPE"));
    }
    try (ResultSet rows = metaData.getTables(null, null, "orders", null)) {
      while (rows.next()) show("getTables of a name", rows.getString("TABLE_NAME"));
    }
    try (ResultSet rows = metaData.getTables(null, null, "%", new String[] {"TABLE", "VIEW"})) {
      show("getTables of tables", rows.next());
    }
    try (ResultSet rows = metaData.getSchemas(null, "public")) {
      while (rows.next()) show("getSchemas", rows.getString(1));
    }
    try (ResultSet rows = metaData.getColumns(null, "public", "orders", "%")) {
      List<String> columns = new ArrayList<>();
      while (rows.next()) columns.add(rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME"));
      show("getColumns", columns.size() >= 0);
    }
    try (ResultSet rows = metaData.getPrimaryKeys(null, "public", "orders")) {
      show("getPrimaryKeys", rows.next());
    }
    try (PreparedStatement statement = connection.prepareStatement("SELECT nextval(?) AS id")) {
      var columns = statement.getMetaData();
      show("column", columns.getColumnName(1) + " " + columns.getColumnTypeName(1) + " " + columns.getColumnClassName(1));
      show("parameters", statement.getParameterMetaData().getParameterCount());
    } catch (SQLException error) {
      // The simple protocol cannot describe a statement.
      show("column", error.getSQLState());
    }
    show("product", metaData.getDatabaseProductName());
    show("major version", metaData.getDatabaseMajorVersion() >= 14);
    show("catalog", connection.getCatalog() != null);
    show("schema", connection.getSchema());
    show("valid", connection.isValid(5));
  }
}
