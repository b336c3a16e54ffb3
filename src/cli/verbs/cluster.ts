import type { Command } from 'commander'
import { slotOf } from '../../cluster/slots.ts'
import type { ClusterAnswer } from '../../operations/cluster.ts'
import { clusterLines } from '../cluster-text.ts'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { printAnswer } from '../terminal.ts'

type MoveOptions = ServerOptions & { readonly generator?: true }

/** `fahao cluster` */
export function addCluster(cluster: Command): void {
  cluster
    .description('Looks at a cluster and moves leadership within it: `status`, `move`, `drain`.')
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  fahao cluster status
  fahao cluster move 3 10.0.0.2:7379                   shard 3 is led there from now on
  fahao cluster move 3 auto                            and again where it belongs
  fahao cluster move order 10.0.0.2:7379               the shard that the generator 'order' is in
  fahao cluster move --generator 2026 10.0.0.2:7379    the generator named 2026
  fahao cluster drain --url http://10.0.0.1:7380       before that machine is taken away
  fahao cluster drain --end --url http://10.0.0.1:7380`,
    )
  addStatus(cluster)
  addMove(cluster)
  addDrain(cluster)
}

function addStatus(cluster: Command): void {
  const command = cluster
    .command('status')
    .summary('nodes and the shards that each leads')
    .description('Shows the nodes, the shards that each leads, and every problem.')
  addServerOptions(command).action(async (options: ServerOptions) => {
    const status = await read(options)
    printAnswer(options, status, clusterLines(status))
  })
}

function addMove(cluster: Command): void {
  const command = cluster
    .command('move <shard> <node>')
    .summary('pin a shard to a node')
    .description(
      'Pins a shard to a node for as long as that node is a member. Give the number of the shard, or the name of a generator in it; digits are a number unless --generator is given. All generators of the shard move. Give the RESP address of the node, its id, or a prefix of its id; `auto` returns the decision to the assignment.',
    )
    .option('--generator', 'the first argument is the name of a generator, even if it consists of digits')
  addServerOptions(command).action(async (what: string, node: string, options: MoveOptions) => {
    const status = await read(options)
    const shard = await shardNamed(what, status, options)
    const to = node === 'auto' ? null : nodeNamed(node, status)
    const body = { shard, to }
    const answer = await ask<typeof body>(options, 'POST', '/v1/cluster/move', { body })
    printAnswer(options, answer, `shard ${shard} moves to ${to ?? 'its assigned node'}`)
  })
}

function addDrain(cluster: Command): void {
  const command = cluster
    .command('drain')
    .summary('remove all leaderships from a node')
    .description(
      'Has the node at --url hand over all its shards and take none. The node continues to issue ids that need no leader, and redirects clients to the other nodes.',
    )
    .option('--end', 'let the node lead shards again')
  addServerOptions(command).action(async (options: ServerOptions & { end?: true }) => {
    const body = { draining: options.end !== true }
    const answer = await ask<typeof body>(options, 'POST', '/v1/cluster/drain', { body })
    const state = answer.draining ? 'hands over what it leads' : 'takes part again'
    printAnswer(options, answer, `the node ${state}`)
  })
}

function read(options: ServerOptions): Promise<ClusterAnswer> {
  return ask<ClusterAnswer>(options, 'GET', '/v1/cluster')
}

async function shardNamed(text: string, { shards }: ClusterAnswer, options: MoveOptions): Promise<number> {
  if (!options.generator && /^\d+$/.test(text)) {
    if (text.length > 9) throw new UsageError(`'${text}' is no number of a shard; is it a --generator?`)
    return Number(text)
  }
  // A misspelled name has a slot too, so the generator has to exist.
  await ask(options, 'GET', generatorPath(text))
  const slot = slotOf(text)
  return shards.find(({ firstSlot, lastSlot }) => firstSlot <= slot && slot <= lastSlot)!.shard
}

function nodeNamed(text: string, { nodes }: ClusterAnswer): string {
  const found = nodes.filter(({ id, resp }) => resp === text || id.startsWith(text))
  if (found.length === 1) return found[0]!.id
  const known = nodes.map(({ id, resp }) => resp ?? id).join(', ')
  throw new UsageError(`'${text}' is ${found.length === 0 ? 'no' : 'more than one'} node; there are ${known}`)
}
