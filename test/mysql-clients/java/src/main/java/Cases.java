import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;

/** Runs the steps by JDBC: Cases SCHEME PROPERTIES. Reads steps as JSON, prints a line of JSON for each. */
final class Cases {
    private final Connection connection;

    private Cases(Connection connection) {
        this.connection = connection;
    }

    public static void main(String[] args) throws Exception {
        String address = "jdbc:" + args[0] + "://" + env("DB_HOST") + ":" + env("DB_PORT") + "/" + env("DB_NAME");
        try (Connection connection =
                DriverManager.getConnection(address + "?" + args[1], env("DB_USER"), env("DB_PASSWORD"))) {
            Cases cases = new Cases(connection);
            var steps = JsonParser.parseReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (JsonElement step : steps.getAsJsonArray()) {
                System.out.println(new Gson().toJson(cases.perform(step.getAsJsonObject())));
            }
        }
    }

    private static String env(String name) {
        return System.getenv(name);
    }

    private static final class Report {
        String name;
        List<Long> affected = new ArrayList<>();
        List<String> ids = new ArrayList<>();
        String last;
        Object error;
    }

    private Report perform(JsonObject step) throws SQLException {
        Report report = new Report();
        report.name = step.get("name").getAsString();
        try {
            run(step, report);
        } catch (SQLException error) {
            report.error = error.getErrorCode();
            if (!connection.getAutoCommit()) {
                connection.rollback();
                connection.setAutoCommit(true);
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("SELECT LAST_INSERT_ID()")) {
            result.next();
            report.last = result.getString(1);
        }
        return report;
    }

    private void run(JsonObject step, Report report) throws SQLException {
        String sql = step.get("sql").getAsString();
        String way = step.get("way").getAsString();
        JsonArray rows = step.getAsJsonArray("rows");
        if (step.has("before")) {
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate(step.get("before").getAsString());
            }
        }
        if (way.equals("text")) {
            try (Statement statement = connection.createStatement()) {
                report.affected.add((long) statement.executeUpdate(sql, Statement.RETURN_GENERATED_KEYS));
                addKeys(statement, report, Integer.MAX_VALUE);
            }
            return;
        }
        if (way.equals("statements")) {
            try (Statement statement = connection.createStatement()) {
                for (String each : sql.split("; ")) {
                    statement.addBatch(each);
                }
                for (int count : statement.executeBatch()) {
                    report.affected.add((long) count);
                }
                addKeys(statement, report, Integer.MAX_VALUE);
            }
            return;
        }
        boolean inTransaction = way.equals("rollback") || way.equals("commit");
        connection.setAutoCommit(!inTransaction);
        try (PreparedStatement statement = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            for (JsonElement row : rows) {
                bind(statement, row.getAsJsonArray());
                if (way.equals("batch")) {
                    statement.addBatch();
                } else {
                    report.affected.add((long) statement.executeUpdate());
                    // Some drivers give two keys for one row that was updated.
                    addKeys(statement, report, way.equals("bound") ? Integer.MAX_VALUE : 1);
                }
            }
            if (way.equals("batch")) {
                for (int count : statement.executeBatch()) {
                    report.affected.add((long) count);
                }
                addKeys(statement, report, Integer.MAX_VALUE);
            }
        }
        if (way.equals("rollback")) {
            connection.rollback();
        } else if (way.equals("commit")) {
            connection.commit();
        }
        connection.setAutoCommit(true);
    }

    private static void bind(PreparedStatement statement, JsonArray row) throws SQLException {
        for (int at = 0; at < row.size(); at++) {
            JsonElement value = row.get(at);
            if (value.isJsonNull()) {
                statement.setNull(at + 1, Types.BIGINT);
            } else if (value.getAsJsonPrimitive().isNumber()) {
                statement.setLong(at + 1, value.getAsLong());
            } else {
                statement.setString(at + 1, value.getAsString());
            }
        }
    }

    /** The first keys that the driver gives for the latest execution. */
    private static void addKeys(Statement statement, Report report, int max) throws SQLException {
        try (ResultSet keys = statement.getGeneratedKeys()) {
            for (int count = 0; count < max && keys.next(); count++) {
                report.ids.add(keys.getString(1));
            }
        }
    }
}
