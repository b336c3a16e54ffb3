package fahao;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.http.HttpResponse;
import me.ahoo.cosid.machine.InstanceId;
import me.ahoo.cosid.machine.MachineIdDistributor;
import me.ahoo.cosid.machine.MachineStateStorage;
import me.ahoo.cosid.machine.NotFoundMachineStateException;
import me.ahoo.cosid.test.machine.distributor.MachineIdDistributorSpec;
import org.junit.jupiter.api.Test;

/** CosId's own specification of distributors of machine ids. */
class CosIdMachineIdTest extends MachineIdDistributorSpec {
    @Override
    protected MachineIdDistributor getDistributor() {
        return new HttpMachineIds();
    }

    /** CosId's specification wants it lost; its proxy, whose own test leaves the specification out, does not know it. */
    @Test
    @Override
    public void guardLost() {
        InstanceId instance = InstanceId.of("10.0.0.9", 9, false);
        MachineStateStorage.IN_MEMORY.set("guard-unknown", 1, instance);
        assertThrows(NotFoundMachineStateException.class, () -> getDistributor()
            .guard("guard-unknown", instance, MachineIdDistributor.FOREVER_SAFE_GUARD_DURATION));
    }

    @Test
    void everyRefusalHasACodeAndAMessage() {
        HttpResponse<String> answer = Api.send("POST", "/machines/a%2Fb?machineBit=99&instanceId=x&safeGuardDuration=PT5M");
        assertEquals(400, answer.statusCode());
        assertEquals("400", Api.member(answer.body(), "code"));
        assertEquals("0", Api.member(Api.send("POST",
            "/machines/a%2Fb?machineBit=10&instanceId=x&stable=false&safeGuardDuration=PT5M").body(), "machineId"));
    }
}
