import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.SequenceGenerator;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.boot.model.relational.Namespace;
import org.hibernate.boot.model.relational.Sequence;
import org.hibernate.cfg.Configuration;
import org.hibernate.mapping.Table;
import org.hibernate.tool.schema.spi.SchemaFilter;
import org.hibernate.tool.schema.spi.SchemaFilterProvider;

/**
 * Hibernate's sequence generators: one line for each step, a name and a value. `Hibernate URL`. Nothing is flushed: the
 * entities' table is no part of this; only ids are asked for.
 */
public final class Hibernate {
  /** Pooled, which is Hibernate's own choice for an increment above 1. */
  @Entity(name = "pooled")
  public static class Pooled {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "invoices")
    @SequenceGenerator(name = "invoices", sequenceName = "invoices", allocationSize = 50)
    Long id;
  }

  /** One request for each id. */
  @Entity(name = "single")
  public static class Single {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "orders")
    @SequenceGenerator(name = "orders", sequenceName = "orders", allocationSize = 1)
    Long id;
  }

  /** The sequence's increment is 50. */
  @Entity(name = "misfit")
  public static class Misfit {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "misfit")
    @SequenceGenerator(name = "misfit", sequenceName = "invoices", allocationSize = 10)
    Long id;
  }

  /** No such sequence is there at first. */
  @Entity(name = "missing")
  public static class Missing {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "refunds")
    @SequenceGenerator(name = "refunds", sequenceName = "refunds", allocationSize = 20)
    Long id;
  }

  private Hibernate() {}

  public static void main(String[] args) {
    for (String optimizer : List.of("pooled", "pooled-lo")) {
      // Two processes of an application, which share the sequence.
      try (SessionFactory one = open(args[0], optimizer); SessionFactory other = open(args[0], optimizer)) {
        List<Long> first = new ArrayList<>();
        List<Long> second = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
          first.addAll(ids(one, 30));
          second.addAll(ids(other, 30));
        }
        show(optimizer + ", one", first);
        show(optimizer + ", other", second);
        show(optimizer + ", twice", first.stream().anyMatch(second::contains));
      }
    }
    try (SessionFactory single = open(args[0], "pooled")) {
      List<Long> drawn = new ArrayList<>();
      try (Session session = single.openSession()) {
        session.setHibernateFlushMode(FlushMode.MANUAL);
        for (int at = 0; at < 3; at++) {
          Single entity = new Single();
          session.persist(entity);
          drawn.add(entity.id);
        }
        session.clear();
        show("native query", session.createNativeQuery("SELECT nextval('orders')", Long.class).getSingleResult());
      }
      show("allocationSize 1", drawn);
    }
    schema(args[0]);
  }

  private static void schema(String url) {
    schema(url, "validate", Pooled.class);
    schema(url, "validate", Misfit.class);
    schema(url, "validate", Missing.class);
    schema(url, "update", Pooled.class, Missing.class);
    schema(url, "validate", Pooled.class, Missing.class);
    schema(url, "create-drop", Missing.class);
    schema(url, "validate", Missing.class);
  }

  private static void schema(String url, String action, Class<?>... entities) {
    Configuration configuration = configure(url, action).setProperty("hibernate.hbm2ddl.schema_filter_provider", SequencesOnly.class.getName());
    List.of(entities).forEach(configuration::addAnnotatedClass);
    String step = action + Stream.of(entities).map(Class::getSimpleName).toList();
    try (SessionFactory sessions = configuration.buildSessionFactory()) {
      show(step, "done");
    } catch (RuntimeException error) {
      show(step, root(error).getMessage().split("\n")[0]);
    }
  }

  private static Throwable root(Throwable error) {
    return error.getCause() == null ? error : root(error.getCause());
  }

  private static List<Long> ids(SessionFactory sessions, int count) {
    List<Long> drawn = new ArrayList<>();
    try (Session session = sessions.openSession()) {
      session.setHibernateFlushMode(FlushMode.MANUAL);
      session.beginTransaction();
      for (int at = 0; at < count; at++) {
        Pooled entity = new Pooled();
        session.persist(entity);
        drawn.add(entity.id);
      }
      session.clear();
      session.getTransaction().rollback();
    }
    return drawn;
  }

  private static Configuration configure(String url, String schema) {
    URI place = URI.create(url);
    String[] login = place.getUserInfo().split(":");
    return new Configuration()
        .setProperty("hibernate.connection.url", "jdbc:postgresql://" + place.getHost() + ":" + place.getPort() + place.getPath() + "?" + place.getQuery())
        .setProperty("hibernate.connection.username", login[0])
        .setProperty("hibernate.connection.password", login[1])
        .setProperty("hibernate.connection.pool_size", "2")
        .setProperty("hibernate.hbm2ddl.auto", schema);
  }

  private static SessionFactory open(String url, String optimizer) {
    return configure(url, "none")
        .setProperty("hibernate.id.optimizer.pooled.preferred", optimizer)
        .addAnnotatedClass(Pooled.class)
        .addAnnotatedClass(Single.class)
        .buildSessionFactory();
  }

  /** The schema tools see sequences alone: the tables of the entities are in another database. */
  public static final class SequencesOnly implements SchemaFilterProvider, SchemaFilter {
    @Override
    public SchemaFilter getCreateFilter() {
      return this;
    }

    @Override
    public SchemaFilter getDropFilter() {
      return this;
    }

    @Override
    public SchemaFilter getTruncatorFilter() {
      return this;
    }

    @Override
    public SchemaFilter getMigrateFilter() {
      return this;
    }

    @Override
    public SchemaFilter getValidateFilter() {
      return this;
    }

    @Override
    public boolean includeNamespace(Namespace namespace) {
      return true;
    }

    @Override
    public boolean includeTable(Table table) {
      return false;
    }

    @Override
    public boolean includeSequence(Sequence sequence) {
      return true;
    }
  }

  private static void show(String step, Object value) {
    System.out.println(step + "\t" + value);
  }
}
