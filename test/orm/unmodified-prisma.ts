/** Prisma with a model that says what its users write for a column with AUTO_INCREMENT. */
import type { Lifetime } from '../launch/lifetime.ts'
import type { Subject } from '../mysql-clients/report.ts'
import { installPackages } from './packages.ts'
import { generatePrisma } from './prisma-client.ts'
import { type Orders, ormSubject, type Reported, type Row } from './unmodified.ts'

await installPackages()
const { PrismaMariaDb } = await import('@prisma/adapter-mariadb')

const models = `
model Order {
  id       BigInt @id @default(autoincrement())
  customer String @unique
  amount   Int
  @@map("orders")
}
`

type Client = {
  readonly order: {
    create(args: { data: object }): Promise<{ id: bigint }>
    createMany(args: { data: readonly Row[] }): Promise<unknown>
    upsert(args: { where: object; create: Row; update: object }): Promise<{ id: bigint }>
  }
  $transaction<Result>(body: (client: Client) => Promise<Result>): Promise<Result>
  $disconnect(): Promise<void>
}

/** Generates its client, which takes seconds. */
export async function prismaSubject(lifetime: Lifetime): Promise<Subject> {
  const PrismaClient = await generatePrisma<Client>(lifetime, 'unmodified', 'mysql', models)
  return ormSubject('Prisma', async (url) => open(PrismaClient, url))
}

function open(PrismaClient: new (options: object) => Client, url: string): Orders {
  const { hostname, port, username, password, pathname } = new URL(url)
  const address = {
    host: hostname,
    port: Number(port),
    user: username,
    password,
    database: pathname.slice(1),
  }
  const client = new PrismaClient({ adapter: new PrismaMariaDb({ ...address, connectionLimit: 2 }) })
  const insert = async (row: Row, on = client): Promise<Reported> => (await on.order.create({ data: row })).id
  return {
    insert,
    async insertAll(rows) {
      await client.order.createMany({ data: rows })
      return []
    },
    inTransaction: (rows, error) =>
      client.$transaction(async (transaction) => {
        const ids: Reported[] = []
        for (const row of rows) ids.push(await insert(row, transaction))
        if (error) throw error
        return ids
      }),
    async upsert(row) {
      const { customer, amount } = row
      return (await client.order.upsert({ where: { customer }, create: row, update: { amount } })).id
    },
    close: () => client.$disconnect(),
  }
}
