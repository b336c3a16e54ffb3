/**
 * Prints the cost of the ids of one contender as JSON: `node --expose-gc bench/client-probe.ts URL CONTENDER IDS MILLISECONDS`.
 * Of `fahao-client`, IDS ids are issued, after a tenth as many to warm up; a peer makes ids for MILLISECONDS.
 */
import { type ClientGenerator, connect } from '../client/src/index.ts'
import { peers } from './peers.ts'

/** The cost of one contender in one process. */
export type ClientLap = {
  readonly name: string
  /** CPU time of the whole process per id: connection, compiler and collector are part of it. */
  readonly cpuNs: number
  readonly wallNs: number
  /** Requests of the generator from its first id on, and all ids that it has issued; none of a peer. */
  readonly requests?: number
  readonly issued?: number
}

/** Issues about `count` ids, and waits for the service where nothing is buffered. Resolves to how many they were. */
type Load = (generator: ClientGenerator, count: number) => Promise<number>

/** Ids per call of a peer's loop, and per batch. */
const batch = 1000

/** Each has a loop of its own, as a caller has. The names begin with that of the generator. */
const loads: Readonly<Record<string, Load>> = {
  'segment, tryNextNumber': async (generator, count) => {
    let last = 0
    for (let issued = 0; issued < count; issued++) {
      const id = generator.tryNextNumber() ?? (await generator.nextNumber())
      if (id <= last) throw new Error(`${id} came after ${last}`)
      last = id
    }
    return count
  },
  'segment, tryNext, bigint': async (generator, count) => {
    let last = 0n
    for (let issued = 0; issued < count; issued++) last = generator.tryNext() ?? (await generator.next())
    return last > 0n ? count : 0
  },
  'segment, nextBatch(1000), bigint': async (generator, count) => {
    let issued = 0
    while (issued < count) issued += (await generator.nextBatch(batch)).length
    return issued
  },
  'snowflake, tryNext, bigint': async (generator, count) => {
    let last = 0n
    for (let issued = 0; issued < count; issued++) {
      const id = generator.tryNext()
      if (id === undefined) throw new Error(`the borrowed time ended after ${issued} ids`)
      last = id
    }
    return last > 0n ? count : 0
  },
}

const [url, name] = process.argv.slice(2, 4)
const [ids, milliseconds] = process.argv.slice(4, 6).map(Number)
const load = loads[name!]
console.log(JSON.stringify(load === undefined ? await peerLap(name!) : await clientLap(name!, load)))

async function clientLap(name: string, load: Load): Promise<ClientLap> {
  const client = await connect(url!)
  const generator = await client.generator(name.split(',')[0]!)
  await load(generator, ids! / 10)
  const lap = await timed(name, () => load(generator, ids!))
  // The request that opened the generator counts too.
  const { requests, issued } = generator.stats()
  await client.close()
  return { ...lap, requests: requests + 1, issued }
}

async function peerLap(name: string): Promise<ClientLap> {
  const make = peers[name]!
  make(10 * batch)
  return timed(name, () => {
    const untilNs = process.hrtime.bigint() + BigInt(milliseconds! * 1_000_000)
    let count = 0
    for (; process.hrtime.bigint() < untilNs; count += batch) make(batch)
    return count
  })
}

async function timed(name: string, issue: () => number | Promise<number>): Promise<ClientLap> {
  globalThis.gc!()
  const cpuBefore = process.cpuUsage()
  const startNs = process.hrtime.bigint()
  const count = await issue()
  const wallNs = Number(process.hrtime.bigint() - startNs)
  const { user, system } = process.cpuUsage(cpuBefore)
  return { name, cpuNs: ((user + system) * 1000) / count, wallNs: wallNs / count }
}
