package fahao;

import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.IdSegmentDistributorDefinition;
import me.ahoo.cosid.segment.IdSegmentDistributorFactory;

/** What CosId 3's ProxyIdSegmentDistributorFactory does, which is not published on Maven Central. */
final class HttpSegments implements IdSegmentDistributorFactory {
    @Override
    public IdSegmentDistributor create(IdSegmentDistributorDefinition definition) {
        String path = Api.encode(definition.getNamespace()) + "/" + Api.encode(definition.getName());
        Api.send("POST", "/segments/distributor/" + path
            + "?offset=" + definition.getOffset() + "&step=" + definition.getStep());
        return new Distributor(path, definition);
    }

    private record Distributor(String path, IdSegmentDistributorDefinition definition) implements IdSegmentDistributor {
        @Override
        public String getNamespace() {
            return definition.getNamespace();
        }

        @Override
        public String getName() {
            return definition.getName();
        }

        @Override
        public long getStep() {
            return definition.getStep();
        }

        @Override
        public long nextMaxId(long step) {
            return Long.parseLong(Api.send("PATCH", "/segments/" + path + "?step=" + step).body());
        }
    }
}
