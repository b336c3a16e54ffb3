package fahao;

import java.net.http.HttpResponse;
import java.time.Duration;
import me.ahoo.cosid.machine.AbstractMachineIdDistributor;
import me.ahoo.cosid.machine.ClockBackwardsSynchronizer;
import me.ahoo.cosid.machine.InstanceId;
import me.ahoo.cosid.machine.MachineIdLostException;
import me.ahoo.cosid.machine.MachineIdOverflowException;
import me.ahoo.cosid.machine.MachineState;
import me.ahoo.cosid.machine.MachineStateStorage;
import me.ahoo.cosid.machine.NotFoundMachineStateException;

/** What CosId 3's ProxyMachineIdDistributor does, which is not published on Maven Central. */
final class HttpMachineIds extends AbstractMachineIdDistributor {
    HttpMachineIds() {
        super(MachineStateStorage.IN_MEMORY, ClockBackwardsSynchronizer.DEFAULT);
    }

    @Override
    protected MachineState distributeRemote(String namespace, int machineBit, InstanceId instance, Duration guard) {
        HttpResponse<String> answer = Api.send("POST", path(namespace, instance)
            + "&machineBit=" + machineBit + "&safeGuardDuration=" + guard);
        String body = answer.body();
        if (answer.statusCode() == 400 && Api.member(body, "code").equals("M-01")) {
            throw new MachineIdOverflowException(machineBit, instance);
        }
        int machineId = Integer.parseInt(Api.member(body, "machineId"));
        return MachineState.of(machineId, Long.parseLong(Api.member(body, "lastTimeStamp")));
    }

    @Override
    protected void revertRemote(String namespace, InstanceId instance, MachineState state) {
        Api.send("DELETE", path(namespace, instance));
    }

    @Override
    protected void guardRemote(String namespace, InstanceId instance, MachineState state, Duration guard) {
        HttpResponse<String> answer =
            Api.send("PATCH", path(namespace, instance) + "&safeGuardDuration=" + guard);
        if (answer.statusCode() == 200) {
            return;
        }
        switch (Api.member(answer.body(), "code")) {
            case "M-02" -> throw new NotFoundMachineStateException(namespace, instance);
            case "M-03" -> throw new MachineIdLostException(namespace, instance, state);
            default -> throw new IllegalStateException(answer.body());
        }
    }

    private static String path(String namespace, InstanceId instance) {
        return "/machines/" + Api.encode(namespace) + "?instanceId=" + Api.encode(instance.getInstanceId())
            + "&stable=" + instance.isStable();
    }
}
