package fahao;

import com.baomidou.mybatisplus.annotation.IdType;
import com.baomidou.mybatisplus.annotation.TableId;
import com.baomidou.mybatisplus.annotation.TableName;

/** Its id is that of the key generator in ShardingSphere's rule, which mybatis-plus takes for one of the database. */
@TableName("t_order")
public class Order {
    @TableId(type = IdType.AUTO)
    private Long id;
    private long userId;
    private String writer;

    public Order(long userId, String writer) {
        this.userId = userId;
        this.writer = writer;
    }

    public Long getId() {
        return id;
    }

    public void setId(Long id) {
        this.id = id;
    }

    public long getUserId() {
        return userId;
    }

    public String getWriter() {
        return writer;
    }
}
