package fahao;

import me.ahoo.cosid.machine.MachineIdDistributor;
import me.ahoo.cosid.segment.IdSegmentDistributorFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Takes the place of the module cosid-proxy, where a registry does not have it. */
@Configuration
class Distributors {
    @Bean
    IdSegmentDistributorFactory segments() {
        return new HttpSegments();
    }

    @Bean
    MachineIdDistributor machineIds() {
        return new HttpMachineIds();
    }
}
