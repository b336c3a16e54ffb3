package fahao;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.IdSegmentDistributorDefinition;
import me.ahoo.cosid.segment.IdSegmentDistributorFactory;
import me.ahoo.cosid.segment.SegmentChainId;
import me.ahoo.cosid.test.segment.distributor.IdSegmentDistributorSpec;
import org.junit.jupiter.api.Test;

/** CosId's own specification of distributors of segments, its segment chain included. */
class CosIdSegmentTest extends IdSegmentDistributorSpec {
    @Override
    protected IdSegmentDistributorFactory getFactory() {
        return new HttpSegments();
    }

    /** CosId sets the counter back here, and expects an error. This server has nothing that sets a counter back. */
    @Test
    @Override
    public void nextMaxIdWhenBack() {
        IdSegmentDistributor first = create("back", 500);
        assertEquals(600, first.nextMaxId());
        assertTrue(create("back", 0).nextMaxId() > 600);
    }

    @Override
    protected <T extends IdSegmentDistributor> void setMaxIdBack(T distributor, long maxId) {
        throw new UnsupportedOperationException();
    }

    @Test
    void theOffsetIsThatOfTheFirstId() {
        assertEquals(1_000_001, new SegmentChainId(create("offset/" + System.nanoTime(), 1_000_000)).generate());
    }

    private static IdSegmentDistributor create(String name, long offset) {
        return new HttpSegments().create(new IdSegmentDistributorDefinition("java", name, offset, TEST_STEP));
    }
}
