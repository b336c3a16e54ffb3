/** ORMs and connectors of Node without any hook, through the MySQL proxy. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { differences, startFilling, startRelay } from '../mysql-clients/scene.ts'
import { connectorSubjects } from './mariadb-connector.ts'
import { prismaSubject } from './unmodified-prisma.ts'
import { ormSubjects } from './unmodified-subjects.ts'

const subjects = [...ormSubjects, ...connectorSubjects, await prismaSubject({ after })]

describe('through the MySQL proxy', { timeout: 120_000 }, () => {
  const relay = startRelay({ after })
  const filling = startFilling({ after })

  for (const subject of subjects)
    test(`${subject.name} sees what it sees without it, of a table that is not filled`, async () => {
      assert.deepEqual(differences(await (await relay).compare(subject)), [])
    })

  for (const subject of subjects)
    test(`${subject.name} gets ids, rows, counts and errors as from AUTO_INCREMENT, of a table that is filled`, async () => {
      assert.deepEqual(differences(await (await filling).compare(subject)), [])
    })
})
