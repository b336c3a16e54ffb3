/** A ledger of one leader, on a memory store that several leaders may reach. */
import { MemoryEngine, MemoryStore } from '../../../../src/engine/memory/engine.ts'
import { Limiter } from '../../../../src/issuing/engine-permits.ts'
import { Gate } from '../../../../src/issuing/gate.ts'
import { Ledger } from '../../../../src/issuing/ledger/ledger.ts'
import type { Reserved } from '../../../../src/issuing/ledger/ledger-lines.ts'
import { Observer } from '../../../../src/issuing/observer.ts'
import { FaultyEngine } from '../../../conformance/faulty-engine.ts'
import { FakeClock } from '../../fake-clock.ts'

/** What a ledger is opened with. */
type Options = {
  readonly store?: MemoryStore
  readonly clock?: FakeClock
  readonly fence?: bigint
  readonly max?: bigint
  readonly start?: bigint
  readonly incarnation?: bigint
}

/** One leader. */
export function openLedger({
  store = new MemoryStore(),
  clock = new FakeClock(),
  fence = 1n,
  max = 10n ** 9n,
  start = 1n,
  incarnation = 1n,
}: Options = {}) {
  const engine = new FaultyEngine(new MemoryEngine(store))
  const gate = new Gate()
  const ledger = new Ledger(
    {
      name: 'invoice',
      counter: 'generators/invoice',
      incarnation,
      floor: start,
      fence,
      advances: engine.advances,
    },
    {
      engine,
      clock,
      max,
      holdMs: 30_000,
      random: () => 0.5,
      limiter: new Limiter(),
      observer: new Observer(clock),
      issueTimeoutMs: 2000,
      waitersMax: 1000,
    },
    gate,
  )
  const reserve = async (
    options: { ref?: string; key?: string; holdMs?: number } = {},
  ): Promise<Reserved> => {
    const [reserved] = await ledger.reserve({ count: 1, by: 'shop', ...options })
    return reserved!
  }
  const states = async () => {
    const { entries } = await ledger.read(0n, 10_000)
    return entries.map(({ from, to, state, secret }) => {
      const isLapsed = state === 'held' && ledger.holdLeftMs(secret!) === undefined
      return `${from}${to === from ? '' : `–${to}`} ${isLapsed ? 'free' : state}`
    })
  }
  return { store, clock, engine, gate, ledger, reserve, states }
}
