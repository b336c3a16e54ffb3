/** What may go wrong with an installation, as far as it can be seen from here: this machine, the store, the nodes. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { systemClock } from '../base/clock.ts'
import type { Config } from '../config/config-schema.ts'
import { sharedProposal, thisMachine, workerStrategyText } from '../config/worker-strategy.ts'
import { ConnectionPool } from '../engine/sql/connection-pool.ts'
import { integerOf } from '../engine/sql/driver.ts'
import { splitSchema } from '../legacy/open.ts'
import { descriptorAdvice } from './file-descriptors.ts'
import { approximateDuration } from './generator-text.ts'
import type { Figures } from './node-figures.ts'
import { type Finding, unseen } from './table-findings.ts'

/** A clock that is this far from another, in ms, shows in ids. */
const clockOffMs = 1000

/** The clock of this machine, its limits, and the worker id that its configuration gives. */
export async function machineFindings(config: Config): Promise<Finding[]> {
  const files = descriptorAdvice(config)
  const why = 'clients are refused when no file is left'
  return [
    await clockFinding(),
    files === undefined
      ? { level: 'ok', what: 'this process may open enough files' }
      : { level: 'problem', what: files, why },
    workerFinding(config),
  ]
}

/** @param ask runs timedatectl, and resolves to what it prints. */
export async function clockFinding(
  ask = async () =>
    (
      await promisify(execFile)('timedatectl', ['show', '--property=NTPSynchronized', '--value'], {
        timeout: 5000,
      })
    ).stdout,
): Promise<Finding> {
  const isSynchronized = (await ask().catch(() => '')).trim()
  if (isSynchronized === 'yes') return { level: 'ok', what: 'the clock of this machine is synchronized' }
  if (isSynchronized !== 'no')
    return {
      level: 'note',
      what: 'whether the clock of this machine is synchronized cannot be seen (timedatectl does not say)',
    }
  return {
    level: 'problem',
    what: 'the clock of this machine is not synchronized',
    why: 'ids of snowflakes and timestamps carry its time; they stay unique',
    todo: 'run chrony or systemd-timesyncd',
  }
}

function workerFinding({ workerId }: Config): Finding {
  if (workerId.by === 'pool') return { level: 'ok', what: 'worker ids come from the pool' }
  const shared = sharedProposal(workerId, thisMachine())
  return {
    level: shared === undefined ? 'note' : 'problem',
    what: `the worker id is fixed: ${workerStrategyText(workerId)}${shared === undefined ? '' : `; ${shared}`}`,
    why: 'a second node with the same id is refused (WORKERID), and not found at all if it has another store',
    todo: 'use --worker-id pool, unless ids have to name machines',
  }
}

/** Whether the store keeps what it has acknowledged, and what time it has. */
export async function storeFindings(config: Config): Promise<Finding[]> {
  const { scheme, kind, location } = splitSchema(config.engine)
  if (scheme === 'memory')
    return [
      {
        level: 'problem',
        what: 'the engine memory: keeps nothing',
        why: 'after a restart ids repeat',
        todo: 'use --engine sqlite:FILE',
      },
    ]
  if (scheme === 'sqlite')
    return existsSync(resolve(location))
      ? [{ level: 'ok', what: `${config.engine} waits for the disk at each commit` }]
      : [
          {
            level: 'note',
            what: `there is no store ${config.engine} on this machine`,
            todo: 'run this on the machine of the server, or name the store with --engine',
          },
        ]
  if (kind === undefined)
    return [{ level: 'ok', what: `${scheme} acknowledges what a majority of its members has on disk` }]
  const [clock, timeoutMs] = [systemClock, config.callTimeoutMs]
  const options = { clock, callTimeoutMs: timeoutMs, unsafe: true, newStore: 'refuse', onEvent() {} } as const
  const { driver, dialect, access } = await kind.load(location, options)
  const pool = new ConnectionPool({ clock, driver, sizeMax: 1, timeoutMs, onDown() {} })
  try {
    return await pool.run(
      async (ask) => {
        const own = await dialect(ask)
        const [conditions = {}] = await ask(own.conditions)
        const beforeUs = systemClock.wallUs()
        const [times] = await ask({ text: own.name === 'mysql' ? mysqlTime : postgresTime })
        const afterUs = systemClock.wallUs()
        const settings = [own.whyUnusable(conditions) ?? [], own.unsafeSettings(conditions)].flat()
        return [
          ...settings.map(
            (what): Finding => ({
              level: 'problem',
              what: `${access.location}: ${what}`,
              why: 'a crash of the database may forget acknowledged writes, and ids are given twice',
            }),
          ),
          ...(settings.length === 0
            ? [{ level: 'ok', what: `${access.location} keeps what it has acknowledged` } as const]
            : []),
          offsetFinding(access.location, Number(integerOf(times?.us)), beforeUs, afterUs),
        ]
      },
      { probe: true },
    )
  } catch (error) {
    return [unseen(access.location, error)]
  } finally {
    await pool.end()
  }
}

const mysqlTime = 'SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED) AS us'
const postgresTime = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us'

/** The clock of the store against that of this machine, which read it between two moments. */
export function offsetFinding(store: string, storeUs: number, beforeUs: number, afterUs: number): Finding {
  const offMs = Math.max(beforeUs - storeUs, storeUs - afterUs, 0) / 1000
  if (offMs < clockOffMs) return { level: 'ok', what: `the clocks of this machine and of ${store} agree` }
  return {
    level: 'problem',
    what: `the clock of this machine is ${approximateDuration(offMs / 1000)} ${storeUs < beforeUs ? 'ahead of' : 'behind'} that of ${store}`,
    why: 'times in ids and in the audit trail are wrong by as much; ids stay unique',
    todo: 'synchronize both by NTP',
  }
}

/** A generator that ends earlier is reported, in seconds. */
const endsSoonSeconds = 365 * 86_400
/** So few ids are left that a rate does not matter. */
const leftFew = 10_000

/** States, versions and generators of the nodes. */
export function nodeFindings({ nodes, generators }: Figures): Finding[] {
  const versions = [...new Set(nodes.flatMap(({ version }) => version ?? []))]
  const troubled = nodes.filter(({ state }) => state !== 'ok')
  const ending = generators.filter(
    ({ endsSeconds, leftIds }) =>
      (endsSeconds ?? Number.POSITIVE_INFINITY) < endsSoonSeconds || (leftIds ?? leftFew) < leftFew,
  )
  return [
    ...troubled.map(
      ({ node, state, reason }): Finding => ({
        level: 'problem',
        what: `${node} is ${state}${reason === null ? '' : `: ${reason}`}`,
      }),
    ),
    ...(troubled.length === 0
      ? [{ level: 'ok', what: `every node answers: ${nodes.map(({ node }) => node).join(', ')}` } as const]
      : []),
    ...(versions.length > 1
      ? [
          {
            level: 'problem',
            what: `the nodes run different versions: ${versions.join(', ')}`,
            why: 'a new version uses what is new when all nodes have it',
            todo: 'finish the upgrade',
          } as const,
        ]
      : []),
    ...ending.map(
      ({ name, endsSeconds, leftIds }): Finding => ({
        level: 'problem',
        what:
          endsSeconds === null
            ? `'${name}' has only ${leftIds} ids left`
            : `'${name}' ends in ${approximateDuration(endsSeconds)}`,
        why: 'its requests get EXHAUSTED then',
        todo: 'plan a successor under a new name, or raise max, or the width of a period',
      }),
    ),
    ...(ending.length === 0
      ? [{ level: 'ok', what: 'no generator in use ends within a year' } as const]
      : []),
  ]
}
