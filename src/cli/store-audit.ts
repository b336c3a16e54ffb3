/** The audit trail of commands that change a store without a server. */
import { hostname, userInfo } from 'node:os'
import { Audit } from '../audit/audit.ts'
import type { ChangeEvent } from '../audit/audit-entry.ts'
import { secretBytes, systemClock } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'

/** How many objects of one command have an entry of their own: it may change a hundred thousand, and the trail of a new store is short. */
const namedMax = 31

/** Records changes that were carried out. A failure is printed: the changes stay. */
export async function recordInStore(
  engine: Engine,
  event: ChangeEvent,
  objects: readonly string[],
  detail?: string,
): Promise<void> {
  const audit = new Audit({
    engine,
    clock: systemClock,
    nowUs: () => systemClock.wallUs(),
    node: `${hostname()}:${process.pid}`,
    runId: Buffer.from(secretBytes(6)).toString('hex'),
    // The configuration at hand may not be that of the servers.
    max: undefined,
    onEvent: ({ level, message }) => level !== 'info' && console.error(`${level}: ${message}`),
  })
  const user = userOfSystem()
  const common = { event, user, address: '', door: 'cli' } as const
  for (const object of objects.slice(0, namedMax)) audit.record({ ...common, object, detail })
  if (objects.length > namedMax)
    audit.record({ ...common, object: '', detail: `and ${objects.length - namedMax} others` })
  await audit.close()
}

/** The name of the operating system's user; its number where that has no name, as in some containers. */
function userOfSystem(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? '')
  }
}
