package fahao;

import com.baomidou.mybatisplus.annotation.IdType;
import com.baomidou.mybatisplus.annotation.TableId;
import me.ahoo.cosid.annotation.CosId;

/** CosId's plug-in for MyBatis fills the id in before the INSERT. */
public class Customer {
    @CosId("customer")
    @TableId(type = IdType.INPUT)
    private Long id;
    private String writer;

    public Customer(String writer) {
        this.writer = writer;
    }

    public Long getId() {
        return id;
    }

    public void setId(Long id) {
        this.id = id;
    }

    public String getWriter() {
        return writer;
    }
}
