package fahao;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.http.HttpResponse;
import me.ahoo.cosid.machine.MachineIdDistributor;
import me.ahoo.cosid.test.machine.distributor.MachineIdDistributorSpec;
import org.junit.jupiter.api.Test;

/** CosId's own specification of distributors of machine ids. */
class CosIdMachineIdTest extends MachineIdDistributorSpec {
    @Override
    protected MachineIdDistributor getDistributor() {
        return new HttpMachineIds();
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
