import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import type { Ids } from '../../client/src/orm/missing-ids.ts'
import { idExtension } from '../../client/src/orm/prisma.ts'
import { describeHook, type Given } from './contract.ts'
import { type Database, type DatabaseKind, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'
import { generatePrisma } from './prisma-client.ts'

await installPackages()
const { PrismaPg } = await import('@prisma/adapter-pg')
const { PrismaMariaDb } = await import('@prisma/adapter-mariadb')
const { PrismaLibSql } = await import('@prisma/adapter-libsql')

const models = `
model Order {
  // Makes the field optional to TypeScript, and adds no default to a table.
  id       BigInt @id @default(dbgenerated())
  short    Int    @default(dbgenerated())
  code     String @default(dbgenerated())
  customer String @unique
  items    Item[]
  @@map("orders")
}
model Item {
  id      BigInt @id @default(dbgenerated())
  orderId BigInt @map("order_id")
  title   String
  order   Order  @relation(fields: [orderId], references: [id])
  @@map("items")
}
`

type OrderData = {
  id?: bigint
  short?: number
  code?: string
  customer: string
  items?: { create?: ItemData[]; createMany?: { data: ItemData[] }; update?: object }
}
type ItemData = { id?: bigint; title: string }
type Orders = {
  create(args: { data: OrderData; include?: object }): Promise<{ id: bigint; items?: { id: bigint }[] }>
  createMany(args: { data: OrderData[] }): Promise<unknown>
  update(args: { where: object; data: Partial<OrderData> }): Promise<unknown>
  upsert(args: { where: object; create: OrderData; update: Partial<OrderData> }): Promise<unknown>
}
type Client = {
  readonly order: Orders
  readonly $extends: unknown
  $transaction(body: (client: Client) => Promise<void>): Promise<void>
  $disconnect(): Promise<void>
}

/** Generates the client of a database once. */
function generated(kind: DatabaseKind): Promise<new (options: object) => Client> {
  const provider = { postgres: 'postgresql', mariadb: 'mysql', sqlite: 'sqlite' }[kind]
  return generatePrisma<Client>({ after }, kind, provider, models)
}

const clients = new Map<DatabaseKind, ReturnType<typeof generated>>()

async function open({ kind, url }: Database, ids: Ids): Promise<Client> {
  const known = clients.get(kind) ?? generated(kind)
  clients.set(kind, known)
  return idExtension(ids)(new (await known)({ adapter: adapterOf(kind, url) }))
}

function adapterOf(kind: DatabaseKind, url: string) {
  if (kind === 'postgres') return new PrismaPg({ connectionString: url, max: 3 })
  if (kind === 'sqlite') return new PrismaLibSql({ url: `file:${url}`, intMode: 'bigint' })
  const { hostname, port, username, password, pathname } = new URL(url)
  return new PrismaMariaDb({
    ...{ host: hostname, port: Number(port), user: username, password, database: pathname.slice(1) },
    connectionLimit: 3,
  })
}

const data = (row: Given): OrderData => ({ ...row })

describeHook({
  name: 'Prisma',
  databases: ['postgres', 'mariadb', 'sqlite'],
  async open(database, { id, short, code }) {
    const client = await open(database, { Order: { id, short, code } })
    return {
      insert: (row) => client.order.create({ data: data(row) }),
      insertAll: (rows) => client.order.createMany({ data: rows.map(data) }),
      inTransaction: (rows, error) =>
        client.$transaction(async (transaction) => {
          for (const row of rows) await transaction.order.create({ data: data(row) })
          if (error) throw error
        }),
      close: () => client.$disconnect(),
    }
  },
})

describe('Prisma', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  async function scene(t: TestContext) {
    const { order, short, code } = await openGenerators(t)
    const database = await (await databases)(t)
    const client = await open(database, { Order: { id: order, short, code }, Item: { id: order } })
    t.after(() => client.$disconnect())
    return { orders: client.order, database, order }
  }

  test('fills nested creates in the batch of their parent, and leaves the arguments alone', async (t) => {
    const { orders, database, order } = await scene(t)
    const given = { customer: 'a', items: { create: [{ title: 'pen' }, { title: 'ink', id: 7n }] } }
    const made = await orders.create({ data: given, include: { items: true } })
    assert.deepEqual(order.calls, ['nextBatch 2'])
    assert.deepEqual(
      [made.id, ...made.items!.map(({ id }) => id)].map(String).sort(),
      [...order.ids, 7n].map(String).sort(),
    )
    assert.deepEqual(given, {
      customer: 'a',
      items: { create: [{ title: 'pen' }, { title: 'ink', id: 7n }] },
    })
    assert.equal((await database.query('SELECT * FROM items')).length, 2)
  })

  test('fills what an update and an upsert create, and nothing else of them', async (t) => {
    const { orders, database, order } = await scene(t)
    const where = { customer: 'a' }
    await orders.upsert({ where, create: { customer: 'a' }, update: { code: 'never' } })
    const [id] = order.ids.map(String)
    await orders.update({
      where,
      data: { items: { createMany: { data: [{ title: 'x' }, { title: 'y' }] } } },
    })
    await orders.upsert({
      where,
      create: { customer: 'a' },
      update: { code: 'new', items: { create: [{ title: 'z' }] } },
    })
    const [row, ...others] = await database.orders()
    assert.deepEqual([row?.id, row?.code, others], [id, 'new', []])
    assert.deepEqual(order.calls, ['next', 'nextBatch 2', 'nextBatch 2'])
    assert.equal((await database.query('SELECT * FROM items')).length, 3)
  })
})
