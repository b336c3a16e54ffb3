package fahao;

import com.baomidou.mybatisplus.core.mapper.BaseMapper;
import org.apache.ibatis.annotations.Mapper;

@Mapper
interface CustomerMapper extends BaseMapper<Customer> {
}
