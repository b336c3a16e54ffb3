/** The text of the page at `/`, in each language. */

const english = {
  lead: 'Hands out unique 64-bit ids: strict sequences, segments, timestamps and snowflakes.',
  states: {
    ok: 'This node is well.',
    degraded: 'This node issues from its buffers: its engine is unavailable.',
    down: 'This node cannot issue: its engine is unavailable.',
    stopping: 'This node is stopping.',
  },
  login: 'A login is needed: replace NAME by the name of your user. Each command asks for the password.',
  redis: 'With any Redis client',
  http: 'Over HTTP',
  library: 'In a TypeScript program, without a server',
  generators: 'Generators',
  none: 'There are none yet. Create the first:',
  another: 'Create another:',
  private: 'The list needs a login:',
  unknown: 'The engine does not answer, so they cannot be listed.',
  more: 'the first of them; see all:',
  name: 'name',
  kind: 'kind',
  order: 'order',
  strict: 'strict: a later request gets a larger id',
  perNode: 'larger on each node, by and large across nodes',
  hidden: 'none to be seen, on purpose',
  further: 'Further',
  console: 'what this node and its cluster do, as pages',
  docs: 'every HTTP operation, and every error',
  openapi: 'the same for programs',
  metrics: 'figures for Prometheus',
  ready: 'for load balancers',
  other: '中文',
  otherLanguage: 'zh',
}

/** The texts of one language. */
export type LandingText = typeof english

const chinese: LandingText = {
  lead: '发放全局唯一的 64 位 ID，支持严格递增序列、号段、时间戳与雪花算法。',
  states: {
    ok: '本节点运行正常。',
    degraded: '存储引擎不可用，本节点正在用已预留的号继续发号。',
    down: '存储引擎不可用，本节点无法发号。',
    stopping: '本节点正在停止。',
  },
  login: '需要登录：请将 NAME 换成你的用户名，命令执行时会询问密码。',
  redis: '使用任意 Redis 客户端',
  http: '使用 HTTP',
  library: '在 TypeScript 程序中直接使用，无需服务器',
  generators: '发号器',
  none: '还没有发号器，先创建一个：',
  another: '再创建一个：',
  private: '登录后才能查看列表：',
  unknown: '存储引擎没有响应，无法列出。',
  more: '以上只是前几个，查看全部：',
  name: '名称',
  kind: '类型',
  order: '顺序',
  strict: '严格递增：后发的请求得到更大的 ID',
  perNode: '趋势递增：每个节点内有序',
  hidden: '看不出顺序（有意打乱）',
  further: '更多',
  console: '控制台：查看并管理本节点与集群',
  docs: '全部 HTTP 接口与错误码',
  openapi: '同样内容，供程序读取',
  metrics: 'Prometheus 指标',
  ready: '供负载均衡器探测',
  other: 'English',
  otherLanguage: 'en',
}

/** All texts. */
export const landingTexts: Readonly<Record<'en' | 'zh', LandingText>> = Object.freeze({
  en: english,
  zh: chinese,
})
