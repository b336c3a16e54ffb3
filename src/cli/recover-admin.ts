/** Lets an administrator in again, by the store: a process that can write the store needs no login. */
import { Subjects } from '../auth/command-rules.ts'
import { Passwords } from '../auth/passwords.ts'
import { readRules } from '../auth/user.ts'
import { Users } from '../auth/users.ts'
import { secretBytes, systemClock } from '../base/clock.ts'
import { subjectsOf } from '../commands/access.ts'
import { createCommands } from '../commands/all.ts'
import type { Config } from '../config/config-schema.ts'
import { openStore } from './open-store.ts'
import { recordInStore } from './store-audit.ts'

/** Gives `admin` this password alone, and every permission. Rejects as `openStore` and `Users.set` do. */
export async function recoverAdmin(config: Config, password: string): Promise<void> {
  const engine = await openStore(config)
  try {
    const subjects = new Subjects(subjectsOf(createCommands().all()))
    const users = await Users.open({
      engine,
      clock: systemClock,
      nowUs: () => systemClock.wallUs(),
      newId: () => Buffer.from(secretBytes(20)).toString('hex'),
      subjects,
      graceMs: Number.POSITIVE_INFINITY,
      onEvent: ({ level, message }) => console.error(`${level}: ${message}`),
    })
    try {
      await users.set(
        'admin',
        readRules(['reset', 'on', `>${password}`, '~*', '+@all'], subjects, new Passwords()),
      )
    } finally {
      users.close()
    }
    await recordInStore(engine, 'user-set', ['admin'], 'recovered')
  } finally {
    await engine.close()
  }
}
