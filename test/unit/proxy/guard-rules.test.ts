/** Which CHECKs and triggers count as guards, as servers show them; and when the tables are looked at. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  type ColumnType,
  type Guard,
  isGuardingCheck,
  isGuardingTrigger,
  type Query,
  readGuards,
  triggerDdl,
} from '../../../src/proxy/guard-rules.ts'
import { Guards, type ReadGuards } from '../../../src/proxy/known-guards.ts'
import { parseFilledColumn } from '../../../src/proxy/sql/configured-columns.ts'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'
import { FakeClock } from '../fake-clock.ts'
import { standing, startScene } from './obedient-server.ts'

const integers: ColumnType = { holds: 'integers', max: 2n ** 63n - 1n }
const texts: ColumnType = { holds: 'texts', max: 40, isUnicode: true }
const order = parseFilledColumn('shop.orders.id=order')

describe('a CHECK that is a guard', () => {
  for (const clause of [
    '`id` > 0',
    '(`id` > 0)',
    '`id` >= 1',
    '(`id` <> 0)',
    '0 < `id`',
    '`id` > 1000',
    '(0 <> `id`)',
  ])
    test(`of an integer: ${clause}`, () => assert.equal(isGuardingCheck(clause, 'id', integers), true))
  for (const clause of [
    "`id` <> ''",
    "(`id` <> _utf8mb4\\'\\')",
    "('' < `id`)",
    'char_length(`id`) > 0',
    '(length(`id`) >= 3)',
  ])
    test(`of a text: ${clause}`, () => assert.equal(isGuardingCheck(clause, 'id', texts), true))
  for (const clause of [
    '`id` >= 0',
    '`id` > -1',
    '`id` <> 5',
    '`id` < 5',
    '`no` > 0',
    '`id` > 0 or `v` > 0',
    '`id` > 0 and `v` > 0',
    'f(`id`) > 0',
    '`id` > 0.5',
    '1 <= `v`',
    '`i``d` > 0',
  ])
    test(`is not: ${clause}`, () => assert.equal(isGuardingCheck(clause, 'id', integers), false))
  test('of a text is none that refuses no empty text', () => {
    for (const clause of ["`id` <> 'x'", '`id` > 0', "`id` like '%'", 'char_length(`id`) >= 0'])
      assert.equal(isGuardingCheck(clause, 'id', texts), false, clause)
  })
  test('names exactly the column', () => {
    assert.equal(isGuardingCheck('`theid` > 0', 'the id', integers), false)
    assert.equal(isGuardingCheck('`the id` > 0', 'the id', integers), true)
  })
})

describe('a trigger that is a guard', () => {
  const body = (condition: string) =>
    `IF ${condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no; id'; END IF`
  test('is the one that is printed, and one that differs in spaces, quotes and BEGIN', () => {
    const [, printed = ''] = /FOR EACH ROW\n(.*)\/\//s.exec(triggerDdl(order, integers)) ?? []
    assert.equal(isGuardingTrigger(printed, 'id', integers), true)
    const [, ofTexts = ''] = /FOR EACH ROW\n(.*)\/\//s.exec(triggerDdl(order, texts)) ?? []
    assert.equal(isGuardingTrigger(ofTexts, 'id', texts), true)
    for (const each of [
      body('new.id is null or new.id <= 0'),
      `BEGIN ${body('(NEW.`id` IS NULL OR NEW.id = 0)')}; END`,
      body('NEW.id IS NULL OR NEW.id < 1'),
    ])
      assert.equal(isGuardingTrigger(each, 'id', integers), true, each)
  })
  for (const each of [
    body('NEW.id <= 0'),
    body('NEW.id IS NULL'),
    body('NEW.id IS NULL OR NEW.id = 5'),
    body('NEW.id IS NULL OR NEW.id < 0'),
    body('NEW.id IS NULL OR NEW.v <= 0'),
    body('NEW.id IS NULL OR NEW.id <= 0 AND NEW.v = 1'),
    `SET NEW.id = 1; ${body('NEW.id IS NULL OR NEW.id <= 0')}`,
    body('NEW.id IS NULL OR NEW.id <= 0').replace('45000', '01000'),
  ])
    test(`is not: ${each}`, () => assert.equal(isGuardingTrigger(each, 'id', integers), false))
})

describe('what is seen of a table', () => {
  /** A server with one table, whose column also has these facts. */
  const server =
    (facts: Record<string, string | null>, version = '10.11.6-MariaDB'): Query =>
    async (sql) => {
      if (sql.includes('@@version')) return [{ version, lower_case: '0' }]
      if (sql.includes('TABLE_TYPE')) return [{ type: 'BASE TABLE' }]
      if (sql.includes('COLUMN_NAME'))
        return [
          {
            name: 'id',
            value: null,
            nullable: 'NO',
            type: 'bigint',
            declared: 'bigint(20)',
            extra: '',
            comment: '',
            charset: null,
            ...facts,
          },
        ]
      return sql.includes('CHECK_CLAUSE') ? [{ clause: '`id` > 0' }] : []
    }
  const seen = async (query: Query): Promise<Guard> =>
    [...(await readGuards(query, [order])).guards.values()][0]!

  test('stands with NOT NULL and a CHECK', async () => {
    assert.deepEqual((await seen(server({}))).missing, [])
  })
  for (const [facts, missing] of [
    [{ nullable: 'YES' }, /may be NULL/],
    [{ value: '5' }, /has a default/],
    [{ value: 'NULL' }, /has a default/],
    [{ extra: 'DEFAULT_GENERATED' }, /has a default/],
    [{ extra: 'auto_increment' }, /has AUTO_INCREMENT/],
    [{ type: 'double', declared: 'double' }, /type double does not hold ids/],
    [{ type: 'binary', declared: 'binary(16)' }, /type binary\(16\) does not hold ids/],
  ] as const)
    test(`does not stand with ${JSON.stringify(facts)}`, async () => {
      assert.match((await seen(server(facts))).missing.join(), missing)
    })
  test('of a server without CHECKs needs a trigger, whose statement is printed', async () => {
    const guard = await seen(server({}, '5.7.44'))
    assert.match(guard.missing.join(), /no guard/)
    assert.match(guard.ddl.join(), /CREATE TRIGGER/)
  })
  for (const [switchedOff, version, marker, rows] of [
    ['MariaDB', '10.11.6-MariaDB', 'check_constraint_checks', [{ Value: 'OFF' }]],
    ['MySQL', '9.7.0', "t.ENFORCED = 'YES'", []],
  ] as const)
    test(`is none with a CHECK that is switched off in ${switchedOff}`, async () => {
      const query = server({}, version)
      const guard = await seen(async (sql, values) => (sql.includes(marker) ? rows : query(sql, values)))
      assert.match(guard.missing.join(), /no guard/)
    })
  test('is no CHECK of a CHAR in which the empty text may be spaces', async () => {
    const clauses = { pad: "`id` <> ''", size: 'char_length(`id`) > 0' }
    for (const [collation, clause, by] of [
      ['utf8mb4_bin', clauses.pad, 'CHECK'],
      ['utf8mb4_bin', clauses.size, undefined],
      ['utf8mb4_0900_ai_ci', clauses.pad, undefined],
      ['utf8mb4_nopad_bin', clauses.pad, undefined],
    ] as const) {
      const query = server({ type: 'char', declared: 'char(9)', charset: 'utf8mb4', collation, length: '9' })
      const guard = await seen(async (sql, values) =>
        sql.includes('CHECK_CLAUSE') ? [{ clause }] : query(sql, values),
      )
      assert.equal(guard.by, by, `${collation} ${clause}`)
    }
  })
  test('is no trigger behind which another one may set the id', async () => {
    const [, guarding = ''] = /FOR EACH ROW\n(.*)\/\//s.exec(triggerDdl(order, integers)) ?? []
    for (const [bodies, by] of [
      [[guarding], 'trigger'],
      [['SET NEW.ID = 0', guarding, 'SET NEW.item = 3'], 'trigger'],
      [[guarding, 'SET NEW.`ID` = 0'], undefined],
    ] as const) {
      const query = server({})
      const guard = await seen(async (sql, values) => {
        if (sql.includes('CHECK_CLAUSE')) return []
        return sql.includes('ACTION_STATEMENT') ? bodies.map((body) => ({ body })) : query(sql, values)
      })
      assert.equal(guard.by, by, bodies.join())
    }
  })
  for (const [facts, type] of [
    [{}, { holds: 'integers', max: 2n ** 63n - 1n }],
    [
      { type: 'int', declared: 'int(10) unsigned' },
      { holds: 'integers', max: 2n ** 32n - 1n },
    ],
    [
      { type: 'tinyint', declared: 'tinyint(4)' },
      { holds: 'integers', max: 127n },
    ],
    [
      { type: 'decimal', declared: 'decimal(10,0)', digits: '10', scale: '0' },
      { holds: 'integers', max: 9_999_999_999n },
    ],
    [{ type: 'decimal', declared: 'decimal(10,2)', digits: '10', scale: '2' }, undefined],
    [
      { type: 'varchar', declared: 'varchar(9)', charset: 'latin1', length: '9' },
      { holds: 'texts', max: 9, isUnicode: false },
    ],
  ] as const)
    test(`has the ids that ${'declared' in facts ? facts.declared : 'bigint'} holds`, async () =>
      assert.deepEqual((await seen(server(facts))).type, type))
})

test('a server without CHECKs gets the trigger for a column that has to change nothing else', async () => {
  const facts = {
    type: 'text',
    declared: 'text',
    nullable: 'NO',
    charset: null,
    collation: null,
    comment: '',
  }
  const query = async (sql: string): Promise<Record<string, string | null>[]> => {
    if (sql.includes('@@version')) return [{ version: '5.7.44', lower_case: '0' }]
    if (sql.includes('TABLE_TYPE')) return [{ type: 'BASE TABLE' }]
    return sql.includes('COLUMN_NAME') ? [{ name: 'id', value: null, extra: '', ...facts }] : []
  }
  const { guards } = await readGuards(query, [order])
  assert.deepEqual(
    [...guards.values()].map(({ ddl }) => ddl),
    [[triggerDdl(order, texts)]],
  )
})

describe('the guards of a proxy', () => {
  test('are looked at again after a definition, also one that passes while they are looked at', async () => {
    let looks = 0
    let forgets = 1
    const guards = new Guards([order], async (columns) => {
      looks++
      if (forgets-- > 0) guards.forget(order)
      return standing(columns)
    })
    assert.deepEqual((await guards.look(order, 0)).missing, [])
    assert.equal(looks, 2)
    await guards.look(order, 0)
    assert.equal(looks, 2)
    guards.forget(order)
    assert.equal(guards.of(order), undefined)
  })

  test('that are missing are looked at once for all statements that wait, and not for one that came before a look', async () => {
    const clock = new FakeClock()
    let looks = 0
    const guards = new Guards(
      [order],
      async (columns) => {
        looks++
        const found = await standing(columns)
        return {
          ...found,
          guards: new Map([...found.guards].map(([key, guard]) => [key, { ...guard, missing: ['a guard'] }])),
        }
      },
      {},
      clock,
    )
    await guards.look(order, guards.begun)
    const came = guards.begun
    const waiting = [1, 2, 3].map(() => guards.look(order, came))
    await clock.pass(200)
    await Promise.all(waiting)
    assert.equal(looks, 2)
    assert.equal(guards.look(order, came) instanceof Promise, false)
  })

  test('stay as they were seen while the server cannot be asked', async () => {
    let isAway = false
    const reasons: string[] = []
    const look = async () => {
      if (isAway) throw new Error('away')
      return standing([order])
    }
    const guards = new Guards([order], look, { onUnseen: (reason) => void reasons.push(reason) })
    await guards.start()
    isAway = true
    await guards.start()
    assert.deepEqual(guards.of(order)?.missing, [])
    guards.forget(order)
    await assert.rejects(async () => guards.look(order, 0), { code: 'UNAVAILABLE' })
    assert.deepEqual(reasons, ['away', 'away'])
    guards.close()
  })
})

describe('a statement that needs an id', () => {
  const insert = 'INSERT INTO orders (item) VALUES (1)'
  const isError = (packet: Buffer) => (packet[4] === 0xff ? packet.readUInt16LE(5) : 0)
  /** A proxy whose table lacks a guard while `lacks` is set. */
  const sceneWith = async (t: TestContext) => {
    const state = { lacks: true, looks: 0 }
    const look: ReadGuards = async (columns) => {
      state.looks++
      const found = await standing(columns)
      if (!state.lacks) return found
      const lacking = [...found.guards].map(
        ([column, guard]) => [column, { ...guard, missing: ['no guard'] }] as const,
      )
      return { ...found, guards: new Map(lacking) }
    }
    const scene = await startScene(t, undefined, undefined, undefined, look)
    return { ...scene, state, client: await scene.login() }
  }

  test('is not sent where its table has no guard, as text and to be prepared; one that gives its id is', async (t) => {
    const { client, statements, named } = await sceneWith(t)
    for (const command of [3, 0x16]) {
      client.send(command, insert)
      assert.equal(isError(await client.reply()), 1235)
    }
    client.send(3, 'INSERT INTO orders (id) VALUES (7)')
    assert.equal(isError(await client.reply()), 0)
    assert.deepEqual([statements, named], [['INSERT INTO orders (id) VALUES (7)'], []])
  })

  test('is filled if the guard was made before it came, also right behind a look that saw none', async (t) => {
    const { client, state } = await sceneWith(t)
    client.send(3, insert)
    assert.equal(isError(await client.reply()), 1235)
    state.lacks = false
    client.send(3, insert)
    assert.equal(isError(await client.reply()), 0)
  })

  test('looks at its table again once a definition of it has passed and is answered', async (t) => {
    const { client, statements, state } = await sceneWith(t)
    state.lacks = false
    client.send(3, insert)
    assert.equal(isError(await client.reply()), 0)
    state.lacks = true
    const looks = state.looks
    client.send(3, 'ALTER TABLE orders DROP CONSTRAINT fahao_orders_id')
    await client.reply()
    client.send(3, insert)
    assert.equal(isError(await client.reply()), 1235)
    assert.ok(state.looks > looks)
    assert.equal(statements.length, 2)
  })
})

test('a table that was defined past the proxy is looked at for an INSERT without a list of columns', async (t) => {
  let isMade = false
  const clock = new FakeClock()
  const look: ReadGuards = async (columns) => {
    const found = await standing(columns)
    const absent = { missing: ['there is no table'], columns: [], type: undefined, by: undefined }
    const guards = [...found.guards].map(([column, guard]) => [column, { ...guard, ...absent }] as const)
    return isMade ? found : { ...found, guards: new Map(guards) }
  }
  const { login, statements } = await startScene(t, undefined, undefined, clock, look)
  const client = await login()
  for (isMade of [false, true]) {
    await clock.pass(1000)
    client.send(3, 'INSERT INTO orders VALUES (NULL, 1, 2)')
    assert.equal((await client.reply())[4], 0)
  }
  assert.equal(statements[0], 'INSERT INTO orders VALUES (NULL, 1, 2)')
  assert.match(statements[1] ?? '', /VALUES \(LAST_INSERT_ID\(1\), 1, 2\)$/)
})

test('a prepared definition has its table looked at again behind each of its executions', async (t) => {
  let looks = 0
  const look: ReadGuards = async (columns) => {
    looks++
    return standing(columns)
  }
  const { login } = await startScene(t, undefined, undefined, undefined, look)
  const client = await login()
  client.send(0x16, 'ALTER TABLE orders MODIFY id BIGINT NULL')
  assert.equal((await client.reply())[4], 0)
  for (let round = 0; round < 2; round++) {
    const before = looks
    client.socket.write(packetOf(commandOf(0x17, Buffer.from([1, 0, 0, 0, 0, 1, 0, 0, 0]))))
    assert.equal((await client.reply())[4], 0)
    client.send(3, 'INSERT INTO orders (n) VALUES (1)')
    assert.equal((await client.reply())[4], 0)
    assert.equal(looks, before + 1)
  }
})

test('a statement to prepare that gives all ids passes before its table has been looked at', async (t) => {
  const { login } = await startScene(t, undefined, undefined, undefined, () =>
    Promise.reject(new Error('away')),
  )
  const client = await login()
  client.send(0x16, 'INSERT INTO orders (id) VALUES (7)')
  assert.equal((await client.reply())[4], 0)
})
