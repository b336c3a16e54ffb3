/**
 * A store that forgets who leads: the writes that it loses name another leader than the record that it keeps, and that leader
 * is cut off from it, so that it issues until its lease lapses.
 */
import { type Leadership, shardKey } from '../../src/cluster/records.ts'
import { shardTable, slotOf } from '../../src/cluster/slots.ts'
import { type Fault, one } from './faults.ts'
import { byHand, hurry } from './forgetting.ts'
import type { Process, Simulation } from './simulation.ts'

/** How closely a change of leaders is watched for, in ms. */
const lookMs = 5
/** A change of leaders that takes longer is not waited for, in ms. */
const changeMaxMs = 8000

/** What befalls leaders, and the store after it. */
export const takeovers: Readonly<Record<string, Fault>> = {
  async 'a lost take-over of a shard'(simulation) {
    await loseChange(simulation, (leader) => {
      simulation.kill(leader)
      void simulation.startAll().catch(() => {})
    })
  },

  async 'a lost hand-over of a shard'(simulation) {
    await loseChange(simulation, ({ machine, program }, shard) => {
      const to = one(simulation).program.cluster!.nodeId
      machine.reach(() => void program.cluster!.move(shard, to).catch(() => {}))
    })
  },

  async 'bounds raised twice while a node starts again'(simulation) {
    const { world } = simulation
    simulation.kill(one(simulation))
    const started = simulation.startAll()
    started.catch(() => {})
    for (let each = 0; each < 3; each++) {
      await world.pass(world.between(300, 900))
      await byHand(simulation, true)
    }
    await started
  },
}

/** Has `change` give a shard another leader, has the store forget that, and cuts the new leader off. */
async function loseChange(
  simulation: Simulation,
  change: (leader: Process, shard: number) => void,
): Promise<void> {
  const { world, options, store, generators, checker } = simulation
  const strict = generators.filter((name) => checker.kind(name) === 'sequence')
  if (strict.length === 0) return
  const generator = world.pick(strict)
  const shard = shardTable(options.shards)[slotOf(generator)]!
  const before = leaderOf(simulation, shard)
  if (before === undefined) return
  change(before, shard)
  const former = holderOf(simulation, shard)
  let snapshot = store.snapshot(world.nowUs)
  for (let waitedMs = 0; holderOf(simulation, shard) === former; waitedMs += lookMs) {
    if (waitedMs > changeMaxMs) return
    snapshot = store.snapshot(world.nowUs)
    await world.pass(lookMs)
  }
  const taker = leaderOf(simulation, shard)
  if (taker === undefined) return
  // So that it has ids to issue once it is cut off.
  await hurry(simulation, generator, world.between(0, 300), 20)
  taker.link.cut = true
  simulation.forget(snapshot)
  await world.pass(world.between(0, 100))
  if (options.failoverGap === 0n) await byHand(simulation)
  // Two leaders at once would meet.
  await hurry(simulation, generator, options.leaseTtlMs, 10)
  await world.pass(world.between(0, 3000))
}

/** The process that the shard's record names; undefined: none that runs. */
function leaderOf(simulation: Simulation, shard: number): Process | undefined {
  const holder = holderOf(simulation, shard)
  return simulation.processes.find(({ program }) => program.cluster?.nodeId === holder)
}

function holderOf({ store }: Simulation, shard: number): string {
  const stored = store.records.get(shardKey(shard))
  return stored === undefined ? '' : (JSON.parse(stored.value) as Leadership).holder
}
