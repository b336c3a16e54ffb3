/** Builds a node from its parts in the order of their dependencies, and closes them in reverse order. */

import { hostname } from 'node:os'
import { Audit } from '../audit/audit.ts'
import { AccessControl } from '../auth/access-control.ts'
import { Subjects } from '../auth/command-rules.ts'
import { NodeProof } from '../auth/node-proof.ts'
import { Passwords } from '../auth/passwords.ts'
import { type Clock, type Random, secretBytes, systemClock, systemRandom } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { Timeline } from '../base/timeline.ts'
import { FastRuns } from '../buffers/fast-runs.ts'
import { EngineCatalogue } from '../catalogue/engine-catalogue.ts'
import { issuingRight } from '../catalogue/issuing-right.ts'
import { Meters } from '../catalogue/metered-generator.ts'
import { refuseMisfits } from '../cluster/format.ts'
import { subjectsOf } from '../commands/access.ts'
import { createCommands } from '../commands/all.ts'
import type { ServerView } from '../commands/context.ts'
import { type Config, defaultEngine } from '../config/config-schema.ts'
import { settingsText } from '../config/load-config.ts'
import { type Machine, proposeWorkerId, sharedProposal, thisMachine } from '../config/worker-strategy.ts'
import type { Engine, Repair } from '../engine/engine.ts'
import { type EngineCall, timedEngine } from '../engine/engine-calls.ts'
import { openTracing } from '../installation/tracing.ts'
import { version } from '../installation/version.ts'
import { WorkerId } from '../issuing/worker-id.ts'
import { Pools } from '../leasing/pools.ts'
import { RangeLeases } from '../leasing/range-leases.ts'
import { WorkerIdQuotas } from '../leasing/worker-id-quotas.ts'
import { WorkerIdUsage } from '../leasing/worker-id-usage.ts'
import { WorkerLeases } from '../leasing/worker-leases.ts'
import { legacyRows, openAnyEngine } from '../legacy/open.ts'
import { turns } from '../listening/turns.ts'
import type { Session } from '../operations/session.ts'
import { Namespaces } from '../quotas/namespaces.ts'
import { HeldBounds } from '../recovery/held-bounds.ts'
import { convertRecords } from '../recovery/record-versions.ts'
import { Recovery } from '../recovery/recovery.ts'
import { repairsOf } from '../recovery/repairs.ts'
import { detectCopies } from './copies.ts'
import { clockStepText } from './event-text.ts'
import { BufferedIds, healthOf } from './health.ts'
import { Membership } from './membership.ts'
import { type FahaoNode, type Transport, trafficOf } from './node.ts'

/** What a node takes from its process; each member has a default. */
export type NodeDeps = {
  readonly clock?: Clock
  readonly random?: Random
  /** Opens the engine; default: the one that the configured URL names. */
  readonly open?: typeof openAnyEngine
  /** 40 hexadecimal digits, new at each call. */
  readonly newId?: () => string
  /** Names the worker id, if the configuration says so. */
  readonly machine?: Machine
  /** Hashes passwords; tests lower the cost. */
  readonly passwords?: Passwords
  /** Receives events for the log. */
  readonly onEvent?: (event: LogEvent) => void
  /** After how long generators that are not used have no object any more. Default: a second. */
  readonly restAfterMs?: number
}

/** Opens the engine and creates the configured generators. Rejects with CONFIG or ENGINE. */
export async function startNode(config: Config, deps: NodeDeps = {}): Promise<FahaoNode> {
  const parts = await openParts(config, deps)
  const { engine, worker, catalogue, recovery, onEvent } = parts
  recovery.start({
    isRegressed: () => isRegressed(engine),
    confirmWorker: async () => {
      if (!(await worker.confirm())) await catalogue.reopenAll()
    },
    advance: (gap) => engine.advance(gap, repairFor(parts, gap), { ifRegressed: true }),
    reload: async () => {
      // The advance has ended the claim of the worker id.
      await worker.confirm()
      await readAgain(parts)
      await createConfigured(catalogue, config, onEvent, (error) =>
        onEvent({ level: 'error', message: `${error.message}; the stored definition stays in force` }),
      )
    },
  })
  return wire(config, parts)
}

type Parts = Awaited<ReturnType<typeof openParts>>

/** The parts of a node, made in the order of their dependencies. Closes the engine if one of them cannot be made. */
async function openParts(
  config: Config,
  {
    clock = systemClock,
    random = systemRandom,
    open = openAnyEngine,
    newId = () => Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex'),
    machine = thisMachine(),
    restAfterMs = 1000,
    passwords = new Passwords(),
    onEvent = () => {},
  }: NodeDeps,
) {
  const fixedId = proposeWorkerId(config.workerId, machine)
  const shared = sharedProposal(config.workerId, machine)
  if (shared !== undefined) onEvent({ level: 'warn', message: shared })
  const recovery = new Recovery({ clock, random, gap: config.failoverGap, onEvent })
  const tracing = await openTracing(onEvent)
  const listeners: ((call: EngineCall) => void)[] = []
  let disown = () => {}
  let drop = () => {}
  const opened = await open(config.engine, {
    clock,
    callTimeoutMs: config.callTimeoutMs,
    unsafe: config.unsafeEngine,
    // A store that was configured by name usually exists: creating it is a warning.
    newStore: config.requireStore ? 'refuse' : config.engine === defaultEngine ? 'info' : 'warn',
    onEvent,
    onRegressed: (reason) => recovery.reportLoss(reason),
    onAdvanced: () => recovery.reportAdvance(),
    onOwnershipLost: () => disown(),
  })
  const held = new HeldBounds()
  const engine = timedEngine(held.watching(opened), { clock, tracing }, (call) => {
    if (hasCode(call.error, 'REGRESSED')) recovery.reportLoss(call.error.message)
    for (const listener of listeners) listener(call)
  })
  try {
    const timeline = new Timeline(clock, {
      leadMaxUs: config.leadMaxMs * 1000,
      lastWriteUs: engine.lastWriteUs,
      onStep: (step) => onEvent(clockStepText(step)),
    })
    const copies = detectCopies({ clock, drop: () => drop(), onEvent })
    const onCopy = (reason: string) => copies.report(reason)
    const runId = newId()
    const holder = `${hostname()}:${process.pid}`
    const worker = new WorkerId({
      engine,
      timeline,
      fixedId,
      leadUs: config.leadMs * 1000,
      owner: runId,
      holder,
      onEvent: (message, level) => onEvent({ level, message }),
      onCopy,
    })
    const audit = new Audit({
      engine,
      clock,
      nowUs: () => timeline.nowUs(),
      node: holder,
      runId,
      max: config.auditMax,
      onEvent,
    })
    await refuseMisfits(engine, clock)
    await convertRecords(engine, onEvent)
    const membership = await Membership.of({ config, engine, clock, newNodeId: newId, onEvent, onCopy })
    const namespaces = await new Namespaces(engine, onEvent).open()
    const catalogue = await EngineCatalogue.open({
      engine,
      clock,
      random,
      timeline,
      worker,
      runs: new FastRuns(),
      waitersMax: config.waitersMax,
      cluster: membership?.cluster,
      copies,
      turns,
      onEvent,
      autoCreate: config.autoCreate,
      generatorsMax: config.generatorsMax,
      familyNamesMax: config.familyNamesMax,
      idleAfterMs: config.idleAfterMs,
      restAfterMs,
      namespaces,
      rows: legacyRows(config.engine, engine, timeline),
      nodeIndex: config.nodeIndex,
    })
    disown = () => catalogue.disown()
    drop = () => {
      worker.renounce(newId())
      catalogue.abandonAll()
      membership?.cluster.suspect()
    }
    await createConfigured(catalogue, config, onEvent)
    const access = await AccessControl.open({
      engine,
      clock,
      audit,
      nowUs: () => timeline.nowUs(),
      subjects: new Subjects(subjectsOf(createCommands().all())),
      newId,
      passwords,
      graceMs: config.usersGraceMs,
      proof: membership && (await NodeProof.open(engine, () => membership.cluster.nodeId)),
      onEvent,
    })
    // Connections look their generators up again.
    namespaces.listen(() => access.users.renew())
    return {
      clock,
      random,
      engine,
      held,
      timeline,
      worker,
      catalogue,
      copies,
      namespaces,
      access,
      runId,
      recovery,
      listeners,
      tracing,
      membership,
      audit,
      onEvent,
    }
  } catch (error) {
    await engine.close()
    throw error
  }
}

function wire(config: Config, parts: Parts): FahaoNode {
  const { engine, timeline, worker, catalogue, copies, namespaces, access, recovery, membership } = parts
  const looks = copies.watch()
  const transports: Transport[] = []
  const meters = new Meters(namespaces, () => timeline.burstUs())
  const quotas = new WorkerIdQuotas({ engine, timeline, quotas: meters.quotas })
  const leasing = { engine, timeline, catalogue, random: parts.random, secret: secretBytes, quotas }
  const inHand = new BufferedIds(catalogue, parts.clock)
  let closing: Promise<void> | undefined
  const mayIssueStrict = issuingRight({ engine, cluster: membership?.cluster })
  const server: ServerView = {
    version,
    runId: parts.runId,
    timeline,
    startedMonoUs: parts.clock.monoUs(),
    turns,
    get respPort() {
      return transports.find(({ respPort }) => respPort !== undefined)?.respPort
    },
    countMax: config.countMax,
    incrByMax: config.incrbyMax,
    settings: () => settingsText(config),
    info: (access) => [
      {
        title: 'Fahao',
        fields: [
          ['fahao_version', version],
          // Only administrators see the location of the store.
          ['engine', access.administers ? engine.location : engine.name],
          ['worker_id', worker.id < 0 ? '' : worker.id],
          ...(membership === undefined
            ? []
            : [['cluster_versions', membership.cluster.status().versions.join(',')] as const]),
        ],
      },
    ],
    traffic: () => trafficOf(transports),
    *sessions(): Iterable<Session> {
      for (const transport of transports) yield* transport.sessions?.() ?? []
    },
    meters,
    pools: new Pools(leasing),
    workerLeases: new WorkerLeases({ ...leasing, leadUs: worker.leadUs }),
    workerIds: new WorkerIdUsage(engine, timeline),
    rangeLeases: new RangeLeases(secretBytes),
    audit: parts.audit,
    access,
    engine,
    async advance(gap) {
      const raised = await engine.advance(gap, repairFor(parts, gap))
      // The advance has ended the claim of the worker id. If that cannot be read now, the worker reads it before it is
      // used again.
      await worker.confirm().catch(() => false)
      await readAgain(parts)
      return raised
    },
    cluster: membership?.cluster,
  }
  return {
    config,
    engine,
    timeline,
    catalogue,
    names: catalogue.names,
    server,
    access,
    get workerId() {
      return worker.id < 0 ? undefined : worker.id
    },
    attach: (transport) => transports.push(transport),
    membership,
    mayIssue() {
      copies.check()
      return mayIssueStrict()
    },
    health: () =>
      healthOf({
        engine,
        catalogue,
        stopping: closing !== undefined,
        trouble: recovery.trouble,
        membership,
        inHand,
      }),
    get regressions() {
      return recovery.count
    },
    tracing: parts.tracing,
    onEngineCall: (listener) => parts.listeners.push(listener),
    advance: server.advance,
    close() {
      closing ??= (async () => {
        looks.cancel()
        // A range that a copy of this memory may hold is not released.
        copies.check()
        recovery.close()
        namespaces.close()
        access.close()
        // Before the catalogue closes: its generators still release what they hold.
        await membership?.leave()
        await Promise.all([catalogue.close(), parts.audit.close()])
        await worker.release()
        await engine.close()
      })()
      return closing
    },
  }
}

/** The repair of all records, with what this node knows and the store may have lost. */
function repairFor({ timeline, worker, membership }: Parts, gap: bigint): Repair {
  return repairsOf(timeline.nowUs(), gap, worker.leadUs, membership?.cluster.shards)
}

/** Reads every record again, in a store that was advanced. */
async function readAgain({ engine, held, catalogue, namespaces, access, onEvent }: Parts): Promise<void> {
  const raised = await held.raise(engine)
  if (raised > 0)
    onEvent({
      level: 'warn',
      message: `raised ${raised} more counters to what this node has reserved of them: their generators go on above it, or begin above it if they have to be created again`,
    })
  await catalogue.reopenAll()
  await namespaces.reload()
  await access.reconcile()
}

/** Tests for a regression by a write that changes nothing: no record has version 0. */
async function isRegressed(engine: Engine): Promise<boolean> {
  try {
    await engine.remove('none', 0n)
    return false
  } catch (error) {
    if (hasCode(error, 'REGRESSED')) return true
    throw error
  }
}

/** How many generators of the config file are created together. */
const definedAtOnce = 1024

/**
 * Creates the generators of the config file. A store that has to be advanced first does not stop the node, so that an
 * operator can advance it. `refused`: called if the file contradicts the stored definition.
 */
async function createConfigured(
  catalogue: EngineCatalogue,
  config: Config,
  onEvent: (event: LogEvent) => void,
  refused: (error: FahaoError) => void = (error) => {
    throw error
  },
): Promise<void> {
  const { generators } = config
  for (let from = 0; from < generators.length; from += definedAtOnce) {
    const some = generators.slice(from, from + definedAtOnce)
    // The engine writes together what is asked for together: one after another, each would wait for a write to the disk.
    const results = await Promise.allSettled(some.map(([name, options]) => catalogue.define(name, options)))
    for (const [at, result] of results.entries()) {
      if (result.status === 'rejected') refuseConfigured(some[at]![0], result.reason)
    }
  }

  function refuseConfigured(name: string, error: unknown): void {
    if (hasCode(error, 'EXISTS'))
      refused(new FahaoError('CONFIG', `the config file contradicts what is stored: ${error.message}`))
    else if (hasCode(error, 'ERR'))
      refused(new FahaoError('CONFIG', `generator '${name}' of the config file: ${error.message}`))
    else if (hasCode(error, 'REGRESSED'))
      onEvent({ level: 'error', message: `generator '${name}' cannot be created yet: ${error.message}` })
    else throw error
  }
}
