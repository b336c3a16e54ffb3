/** Debian's Chromium without a window, driven by its DevTools protocol: https://chromedevtools.github.io/devtools-protocol/ */
import { atEnd, type Lifetime } from './lifetime.ts'
import { temporaryFolder } from './places.ts'
import { requireProgram, startProcess } from './process.ts'

type Result = Readonly<Record<string, unknown>>
type Pending = { readonly resolve: (result: Result) => void; readonly reject: (error: Error) => void }
type Message = { id?: number; result?: Result; error?: { message: string } }
/** As much of the reply of `Runtime.evaluate` as is used. */
type Evaluated = {
  readonly result: { readonly value?: unknown }
  readonly exceptionDetails?: {
    readonly text: string
    readonly exception?: { readonly description?: string }
  }
}

const flags = [
  '--headless=new',
  // Its sandbox does not start for root. The only pages are those of the test.
  '--no-sandbox',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--remote-debugging-port=0',
]
const announced = /DevTools listening on (ws:\S+)/

/** Starts a browser with a profile of its own. */
export async function startChromium(lifetime: Lifetime): Promise<Browser> {
  const profile = temporaryFolder(lifetime)
  const { output } = await startProcess(lifetime, {
    command: requireProgram('chromium'),
    args: [...flags, `--user-data-dir=${profile}`, 'about:blank'],
    readyWhen: { line: announced },
    readyWithinMs: 60_000,
  })
  const socket = new WebSocket(announced.exec(output())![1]!)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  atEnd(lifetime, () => socket.close())
  return new Browser(socket)
}

/** A browser that runs. */
export class Browser {
  readonly #socket: WebSocket
  readonly #pending = new Map<number, Pending>()
  #lastId = 0

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#settle(JSON.parse(String(data))))
    socket.addEventListener('close', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the browser has ended'))
      this.#pending.clear()
    })
  }

  /** Opens a tab in front of all others, and resolves when its page has been loaded. */
  async open(url: string): Promise<Tab> {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true })
    const tab = new Tab((method, params) => this.send(method, params, String(sessionId)))
    await tab.send('Page.navigate', { url })
    // The evaluation waits until the page has replaced the empty one.
    await tab.evaluate(`new Promise((loaded) => {
      if (document.readyState === 'complete') loaded()
      else addEventListener('load', loaded)
    })`)
    return tab
  }

  /** Sends a command, to the browser or to one of its sessions. */
  send(method: string, params: object = {}, sessionId?: string): Promise<Result> {
    const id = ++this.#lastId
    const reply = new Promise<Result>((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }))
    return reply
  }

  #settle({ id, result, error }: Message): void {
    const pending = this.#pending.get(id ?? 0)
    if (id === undefined || pending === undefined) return
    this.#pending.delete(id)
    if (error === undefined) pending.resolve(result ?? {})
    else pending.reject(new Error(error.message))
  }
}

/** A tab of a browser. */
export class Tab {
  /** Sends a command about this tab. */
  readonly send: (method: string, params?: object) => Promise<Result>

  constructor(send: Tab['send']) {
    this.send = send
  }

  /** The value of an expression in the page, or what its promise resolves to. It must fit JSON. */
  async evaluate<Value>(expression: string): Promise<Value> {
    const params = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', params)) as Evaluated
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value as Value
  }

  /**
   * Freezes the page, as browsers do with a tab that was in the background for long: no timer and no callback runs. The
   * tab must be behind another one. Resolves when the page is frozen.
   */
  async freeze(): Promise<void> {
    await this.send('Page.setWebLifecycleState', { state: 'frozen' })
  }

  /** Lets a frozen page go on. */
  async resume(): Promise<void> {
    await this.send('Page.setWebLifecycleState', { state: 'active' })
  }
}
