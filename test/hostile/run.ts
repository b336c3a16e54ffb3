/**
 * `npm run hostile [-- ATTACK …]`: carries out each attack, or the named ones, and prints a table in Markdown. Exits with
 * 1 if a bound did not hold.
 */
import { inScope } from '../launch/lifetime.ts'
import { attacks } from './attacks.ts'
import { endure, type Finding } from './campaign.ts'

const names = process.argv.slice(2)
const unknown = names.filter((name) => !Object.hasOwn(attacks, name))
if (unknown.length > 0) {
  console.error(`no attack ${unknown.join(', ')}; there are ${Object.keys(attacks).join(', ')}`)
  process.exit(1)
}

await inScope(async (scope) => {
  console.log(
    [
      '| attack | connections | rejected | memory before, peak, after, MiB | RESP p50, p99 alone · with the attack on another server · during it, ms | HTTP | the attacked door | new connections | |',
      '|---|--:|--:|--:|--:|--:|--:|--:|---|',
    ].join('\n'),
  )
  const chosen = names.length > 0 ? names : Object.keys(attacks)
  const effort = {
    warmUpS: 2.5,
    aloneS: 2,
    attackS: 5,
    recoverS: 1.5,
    compares: true,
    clients: 1,
    patience: 1,
  }
  for (const name of chosen) {
    const finding = await endure(scope, name, effort)
    console.log(line(finding))
    if (finding.broken.length > 0) process.exitCode = 1
  }
})

function line({
  name,
  attack,
  outcome,
  rejected,
  memoryMiB,
  before,
  elsewhere,
  during,
  broken,
}: Finding): string {
  const waits = (['resp', 'http', 'door', 'connect'] as const).map((sort) => {
    const [alone, away, here] = [before, elsewhere, during].map(({ waits }) => waits[sort])
    if (here!.count === 0) return ''
    return [alone, away, here].map((each) => `${ms(each!.p50)}, ${ms(each!.p99)}`).join(' · ')
  })
  const memory = [memoryMiB.before, memoryMiB.peak, memoryMiB.after].map((mib) => mib.toFixed(0)).join(', ')
  const connections = `${outcome.opened} (${outcome.most} at once, ${outcome.ended} ended, ${outcome.failed} failed)`
  const cells = [
    `${name}: ${attack.title}`,
    connections,
    rejected,
    memory,
    ...waits,
    broken.join('; ') || 'pass',
  ]
  return `| ${cells.join(' | ')} |`
}

function ms(value: number): string {
  return value.toPrecision(2)
}
