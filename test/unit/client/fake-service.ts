/** Nodes of a service as a test says what they answer, with fake time. */
import type { Link } from '../../../client/src/link.ts'
import { Nodes, type NodesOptions, type SendOptions } from '../../../client/src/nodes.ts'
import type { Request } from '../../../client/src/requests.ts'
import { CopyDetector } from '../../../src/base/copy-detector.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { FakeClock } from '../fake-clock.ts'

/** One request that reached a node. */
export type Sent = { readonly node: string; readonly words: readonly string[]; readonly limitMs: number }

/** The reply to a request, or its rejection when this throws. */
export type Answer = (sent: Sent) => unknown

/** A service behind `nodes`, and what it was sent. */
export class FakeService {
  readonly clock = new FakeClock()
  readonly copies = new CopyDetector({ clock: this.clock, onCopy: () => {} })
  readonly sent: Sent[] = []
  readonly failed: string[] = []
  /** Nodes whose connections were ended. */
  readonly closed: string[] = []
  readonly nodes: Nodes
  /** What every node answers. */
  answer: Answer = () => {
    throw unavailable()
  }

  constructor(options: Partial<NodesOptions> = {}) {
    this.nodes = new Nodes({
      urls: ['redis://a:1', 'redis://b:2', 'redis://c:3'].map((url) => new URL(url)),
      link: (url) => this.#link(url),
      timeoutMs: 10_000,
      attemptTimeoutMs: 3000,
      clock: this.clock,
      random: () => 0,
      copies: this.copies,
      onEvent: (event) => void (event.type === 'node-failed' && this.failed.push(event.node)),
      ...options,
    })
  }

  /** Sends a request that is settled after pauses of 0 ms at most. */
  async send(request: Request<unknown>, options: SendOptions = {}): Promise<unknown> {
    const outcome = this.nodes.send(request, options)
    for (let rounds = 0; rounds < 20; rounds++) {
      if ((await stateOf(outcome)) !== undefined) return outcome
      await this.clock.pass(0)
    }
    throw new Error('the request waits for time to pass')
  }

  /** The nodes that were asked, in order. */
  get asked(): string[] {
    return this.sent.map(({ node }) => node)
  }

  #link({ host }: URL): Link {
    return {
      node: host,
      send: async ({ words }, limitMs) => {
        const sent = { node: host, words, limitMs }
        this.sent.push(sent)
        return this.answer(sent)
      },
      close: () => void this.closed.push(host),
    }
  }
}

/** What a link says of a node that does not answer. */
export function unavailable(): FahaoError {
  return new FahaoError('UNAVAILABLE', 'no answer; is it running?')
}

/** A request whose reply is read as it is. `name`: the strict generator that it names. */
export function plainRequest(name = ''): Request<unknown> {
  return { name, words: ['ID.NEXT', name], method: 'POST', path: '/', read: (reply) => reply }
}

/** What a promise has become by now: its value, its error, or undefined while it is pending. */
export async function stateOf<Value>(promise: Promise<Value>): Promise<unknown> {
  const pending = Symbol()
  const first = await Promise.race([
    promise.catch((error: unknown) => error),
    new Promise((resolve) => setImmediate(resolve, pending)),
  ])
  return first === pending ? undefined : first
}
