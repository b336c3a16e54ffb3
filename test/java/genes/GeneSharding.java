package fahao;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Properties;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingAlgorithm;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingValue;

/** Finds the database of an order by its id or by its customer, whichever a statement names: their lowest bits are equal. */
public final class GeneSharding implements ComplexKeysShardingAlgorithm<Long> {
    @Override
    public Collection<String> doSharding(Collection<String> databases, ComplexKeysShardingValue<Long> named) {
        Collection<String> found = new LinkedHashSet<>();
        for (Collection<Long> ids : named.getColumnNameAndShardingValuesMap().values()) {
            for (long id : ids) {
                String end = "_" + id % databases.size();
                databases.stream().filter(database -> database.endsWith(end)).forEach(found::add);
            }
        }
        return found.isEmpty() ? databases : found;
    }

    @Override
    public void init(Properties properties) {
    }

    @Override
    public String getType() {
        return "GENE";
    }
}
