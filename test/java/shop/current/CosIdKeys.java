package fahao;

import java.util.Collection;
import java.util.Properties;
import java.util.stream.LongStream;
import me.ahoo.cosid.provider.IdGeneratorProvider;
import me.ahoo.cosid.provider.LazyIdGenerator;
import org.apache.shardingsphere.infra.algorithm.core.context.AlgorithmSQLContext;
import org.apache.shardingsphere.infra.algorithm.keygen.core.KeyGenerateAlgorithm;

/** The key generator COSID for ShardingSphere 5.5: ids of the generator of CosId that {@code id-name} names. */
public final class CosIdKeys implements KeyGenerateAlgorithm {
    private LazyIdGenerator ids;

    @Override
    public void init(Properties properties) {
        ids = new LazyIdGenerator(properties.getProperty("id-name", IdGeneratorProvider.SHARE));
    }

    @Override
    public Collection<Long> generateKeys(AlgorithmSQLContext context, int count) {
        return LongStream.generate(ids::generate).limit(count).boxed().toList();
    }

    @Override
    public boolean isSupportAutoIncrement() {
        return true;
    }

    @Override
    public String getType() {
        return "COSID";
    }
}
