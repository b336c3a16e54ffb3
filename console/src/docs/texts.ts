/** The texts of the API reference around the viewer, which is English. */

const english = {
  title: 'API reference',
  pages: 'Pages',
  start: 'Start',
  console: 'Console',
  errors: 'Errors',
  loading: 'Loading …',
  lead: 'Every operation of the HTTP API, with examples; “Try it out” sends requests to this node. Ids are strings, because JSON numbers lose digits past 2^53. GET changes nothing, and issues no id.',
  login:
    'Where a login is needed: “Authorize” keeps it until this page is closed; a login of the console in this tab is used as well.',
  loggedIn:
    'Requests are sent with the login of the console in this tab, unless you give another one by “Authorize”.',
  errorsLead:
    'Every error is application/problem+json (RFC 9457). A retryable 503 says in retry-after how many seconds to wait.',
  code: 'Code',
  status: 'Status',
  retry: 'Retry',
  meaning: 'What it means, what to do',
  yes: 'yes',
  no: 'no',
  confirm: (request: string) => `Send this to the node? It may not be possible to undo it.\n\n${request}`,
  notSent: 'You did not confirm it: nothing was sent.',
}

/** All texts. */
export const docsTexts: Readonly<Record<'en' | 'zh', typeof english>> = {
  en: english,
  zh: {
    title: 'API 参考',
    pages: '页面',
    start: '开始',
    console: '控制台',
    errors: '错误码',
    loading: '正在加载…',
    lead: 'HTTP API 的全部接口及示例（英文）；点击 “Try it out” 可直接向本节点发送请求。ID 以字符串表示，因为 JSON 数字超过 2^53 会丢失精度。GET 不发号，也不修改任何内容。',
    login: '需要登录时：通过 “Authorize” 填写的凭据只保留到本页关闭；也会使用本标签页中控制台的登录。',
    loggedIn: '请求使用本标签页中控制台的登录，除非通过 “Authorize” 另行填写。',
    errorsLead:
      '错误均为 application/problem+json（RFC 9457）。可重试的 503 会在 retry-after 中给出应等待的秒数。',
    code: '错误码',
    status: '状态码',
    retry: '可重试',
    meaning: '含义与处理办法（英文）',
    yes: '是',
    no: '否',
    confirm: (request) => `确定发送到本节点？操作可能无法撤销。\n\n${request}`,
    notSent: '未确认，没有发送任何请求。',
  },
}
