import type { Command } from 'commander'
import { clusterLines, type SentCluster } from '../cluster-text.ts'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { print, printJson } from '../terminal.ts'

/** `fahao cluster` */
export function addCluster(program: Command): void {
  const cluster = program
    .command('cluster')
    .summary('look at a cluster, move leadership')
    .description('Looks at a cluster and moves leadership within it: `status`, `move`, `drain`.')
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  fahao cluster status
  fahao cluster move 3 10.0.0.2:7379                   shard 3 is led there from now on
  fahao cluster move 3 auto                            and again where it belongs
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
    .summary('nodes, and who leads what')
    .description('Shows the nodes, how many shards each leads, and what is not as it should be.')
  addServerOptions(command).action(async (options: ServerOptions) => {
    const status = await read(options)
    if (options.json) printJson(status)
    else print(...clusterLines(status))
  })
}

function addMove(cluster: Command): void {
  const command = cluster
    .command('move <shard> <node>')
    .summary('have a shard led by a node')
    .description(
      'Has a shard led by a node for as long as that node lives. The node is its RESP address, or its id or the beginning of it; `auto` lets the assignment decide again.',
    )
  addServerOptions(command).action(async (shard: string, node: string, options: ServerOptions) => {
    if (!/^\d{1,9}$/.test(shard)) throw new UsageError(`'${shard}' is no number of a shard`)
    const to = node === 'auto' ? null : nodeNamed(node, await read(options))
    const body = { shard: Number(shard), to }
    const answer = await ask<typeof body>(options, 'POST', '/v1/cluster/move', { body })
    if (options.json) printJson(answer)
    else print(to === null ? `shard ${shard} goes where it belongs` : `shard ${shard} goes to ${to}`)
  })
}

function addDrain(cluster: Command): void {
  const command = cluster
    .command('drain')
    .summary('have a node lead nothing')
    .description(
      'Has the node at --url hand over everything that it leads and take nothing more. It goes on issuing ids that need no leader, and sends clients to the others.',
    )
    .option('--end', 'have it take part again')
  addServerOptions(command).action(async (options: ServerOptions & { end?: true }) => {
    const body = { draining: options.end !== true }
    const answer = await ask<typeof body>(options, 'POST', '/v1/cluster/drain', { body })
    if (options.json) printJson(answer)
    else print(answer.draining ? 'the node hands over what it leads' : 'the node takes part again')
  })
}

function read(options: ServerOptions): Promise<SentCluster> {
  return ask<SentCluster>(options, 'GET', '/v1/cluster')
}

function nodeNamed(text: string, { nodes }: SentCluster): string {
  const found = nodes.filter(({ id, resp }) => resp === text || id.startsWith(text))
  if (found.length === 1) return found[0]!.id
  const known = nodes.map(({ id, resp }) => resp ?? id).join(', ')
  throw new UsageError(`'${text}' is ${found.length === 0 ? 'no' : 'more than one'} node; there are ${known}`)
}
