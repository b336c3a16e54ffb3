/** A whole node, as a server runs it. One that cannot be started is started again, as a supervisor would. */
import { FahaoError } from '../../src/base/errors.ts'
import { layoutOf } from '../../src/catalogue/definition.ts'
import { MeteredCatalogue } from '../../src/catalogue/metered-catalogue.ts'
import { createCommands } from '../../src/commands/all.ts'
import type { Reply } from '../../src/commands/command.ts'
import type { CommandContext } from '../../src/commands/context.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import type { EngineOptions } from '../../src/engine/engine-options.ts'
import type { FahaoNode } from '../../src/node/node.ts'
import { startNode } from '../../src/node/start.ts'
import { RespSession } from '../../src/resp/session.ts'
import { answered, drawn } from './answers.ts'
import { coldRules } from './cold-groups.ts'
import type { Machine } from './machine.ts'
import type {
  Answer,
  Done,
  LeaseReply,
  LeaseRequest,
  Now,
  OnIssue,
  Order,
  Program,
  Request,
} from './program.ts'
import type { RemoteEngine } from './remote-engine.ts'
import type { World } from './world.ts'

/** What a node is started with. */
export type NodeProgramOptions = {
  readonly world: World
  readonly machine: Machine
  readonly address: { readonly host: string; readonly port: number }
  readonly open: (options: EngineOptions) => RemoteEngine
  readonly newId: () => string
  /** Undefined: it stands alone. */
  readonly cluster: { readonly shards: number; readonly leaseTtlMs: number } | undefined
  readonly leadMs: number
  /** By how much the node raises bounds by itself; 0: an operator does. */
  readonly failoverGap: bigint
  readonly onIssue: OnIssue
  readonly onEvent: (message: string) => void
}

const { config: defaults } = loadConfig()
const startPauseMs = 300
const commands = createCommands()

export class NodeProgram implements Program {
  readonly #node: FahaoNode
  readonly #onIssue: OnIssue
  readonly #client: CommandContext

  private constructor(node: FahaoNode, onIssue: OnIssue) {
    this.#node = node
    this.#onIssue = onIssue
    this.#client = clientOf(node)
  }

  /** Resolves when the node runs; it has not joined then. */
  static async start(options: NodeProgramOptions): Promise<NodeProgram> {
    const { world, machine, address, open, newId, cluster, leadMs, failoverGap, onIssue, onEvent } = options
    const config = {
      ...defaults,
      leadMs,
      failoverGap,
      idleAfterMs: world.pick([300, 2000, 600_000]),
      resp: address,
      http: undefined,
      autoCreate: coldRules,
      ...(cluster && { cluster: 'simulated', shards: cluster.shards, leaseTtlMs: cluster.leaseTtlMs }),
    }
    const deps = {
      clock: machine,
      // Generators rest and wake all the time.
      restAfterMs: world.pick([20, 200, 1000]),
      random: world.random,
      newId,
      open: async (_url: string, engineOptions: EngineOptions) => open(engineOptions),
      onEvent: ({ message }: { message: string }) => onEvent(message),
    }
    for (;;) {
      try {
        return new NodeProgram(await startNode(config, deps), onIssue)
      } catch (error) {
        if (!(error instanceof FahaoError) || error.code === 'CONFIG') throw error
        onEvent(`cannot be started: ${error.message}`)
      }
      await new Promise<void>((resolve) => machine.timer(startPauseMs, resolve))
    }
  }

  get cluster(): Program['cluster'] {
    return this.#node.membership?.cluster
  }

  /** Resolves when it has joined, if there is a cluster. */
  async join(): Promise<void> {
    return this.#node.membership?.join()
  }

  ask(request: Request): Promise<Answer> {
    this.#node.mayIssue()
    return answered(async () => {
      const { generator, runs } = await drawn(this.#node.catalogue, request)
      const { kind, incarnation, definition } = generator ?? {}
      this.#onIssue(request.generator, runs, { kind, incarnation, layout: definition?.layout })
      // Ids with a gene are no ends of blocks: their own blocks are of the gene.
      return { runs, increment: definition?.gene === undefined ? definition?.increment : undefined }
    })
  }

  lease(request: LeaseRequest): Promise<LeaseReply> {
    this.#node.mayIssue()
    return answered(() => this.#lease(request))
  }

  async command(words: readonly string[]): Promise<Reply> {
    this.#node.mayIssue()
    const { command, args } = commands.resolve(words.map((word) => Buffer.from(word)))
    return command.handler!(this.#client, args)
  }

  obey(order: Order): Promise<Done> {
    this.#node.mayIssue()
    return answered(async () => {
      const { kind, incarnation } = await this.#obey(order)
      return { kind, incarnation }
    })
  }

  advance(gap: bigint): Promise<number> {
    return this.#node.advance(gap)
  }

  close(): Promise<void> {
    return this.#node.close()
  }

  async #lease(request: LeaseRequest): Promise<LeaseReply> {
    const { workerLeases } = this.#node.server
    if (request.do === 'return') return { returned: await workerLeases.giveBack(request.lease, request) }
    const { generator, ttlMs } = request
    const given =
      request.do === 'lease'
        ? await workerLeases.lease(generator, { ttlMs, holder: 'a holder', user: 'default' })
        : await workerLeases.renew(generator, request.lease, { untilUs: request.untilUs, ttlMs })
    const { lease, worker, fromUs, untilUs, definition } = given
    return { lease, worker, fromUs, untilUs, layout: layoutOf(definition) }
  }

  async #obey(order: Order): Promise<Now> {
    const { catalogue } = this.#node
    const { generator } = order
    if (order.do === 'drop') {
      await catalogue.drop(generator)
      return { kind: undefined, incarnation: 0n }
    }
    if (order.do === 'info') {
      const { definition, incarnation } = await catalogue.info(generator)
      return { kind: definition.kind, incarnation }
    }
    if (order.do === 'set') {
      const opened = await catalogue.open(generator)
      if (opened.kind === 'sequence') await opened.moveTo(order.newest)
      return opened
    }
    const { options } = order
    if (order.do === 'alter') return catalogue.alter(generator, options)
    return catalogue.create(generator, { kind: 'sequence', ...options })
  }
}

/** A client of this node that may do everything. In a cluster it is redirected, as by nodes that do not forward. */
function clientOf({ access, catalogue, server }: FahaoNode): CommandContext {
  const address = '10.0.1.0:1'
  const facts = {
    id: 1,
    address,
    localAddress: address,
    startedMonoUs: 0,
    certificateName: undefined,
    access: access.initial,
    roundingGuard: 'strict',
    transactionLimits: { transactionMaxBytes: 0, transactionRequestsMax: 0 },
  } as const
  const session = new RespSession(facts, { unreadBytes: () => 0, close() {} })
  return {
    session,
    catalogue: new MeteredCatalogue(catalogue, server.meters, () => access.initial.user),
    server,
  }
}
