// The drivers of Node, pg and postgres. Prints one line for each step, a name and a value. `cases.mjs DRIVER URL`.
import pg from 'pg'
import postgres from 'postgres'

const [driver = '', url = ''] = process.argv.slice(2)

function show(step, value) {
  console.log(`${step}\t${typeof value === 'string' ? value : JSON.stringify(value)}`)
}

async function withPg() {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const ids = async (query, values) => (await client.query(query, values)).rows.map(({ nextval }) => nextval)
  show('nextval', await ids("SELECT nextval('orders')"))
  show('parameter', await ids('SELECT nextval($1)', ['orders']))
  show('cast', await ids('SELECT nextval($1::regclass)', ['orders']))
  const named = { name: 'draw', text: 'SELECT nextval($1)', values: ['orders'] }
  show('named', [await ids(named), await ids(named), await ids(named)])
  show('many', await ids("SELECT nextval('orders') FROM generate_series(1, $1)", [5]))
  show('several', (await client.query('SELECT currval($1), lastval()', ['orders'])).rows)
  const two = await client.query("SELECT nextval('orders'); SELECT nextval('orders')")
  show(
    'two statements',
    two.map(({ rows }) => rows[0].nextval),
  )
  await client.query('BEGIN')
  await ids("SELECT nextval('orders')")
  await client.query('ROLLBACK')
  show('after rollback', await ids("SELECT nextval('orders')"))
  show('arrays', (await client.query({ text: "SELECT nextval('orders')", rowMode: 'array' })).rows)
  show('types', (await client.query('SELECT nextval($1) AS id', ['orders'])).fields.map(typeOf))
  show('binary', await ids({ text: "SELECT nextval('orders')", binary: true }))
  show('setval', (await client.query("SELECT setval('orders', $1)", [100])).rows)
  show('missing', await stateOf(client.query("SELECT nextval('missing')")))
  show('missing, prepared', await stateOf(client.query('SELECT nextval($1)', ['missing'])))
  show('syntax', await stateOf(client.query('SELEKT 1')))
  show('goes on', await ids("SELECT nextval('orders')"))
  await client.query('CREATE SEQUENCE created INCREMENT BY 10 START WITH 5')
  show('created', [await ids("SELECT nextval('created')"), await ids("SELECT nextval('created')")])
  await client.query('DROP SEQUENCE created')
  await client.end()
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  const drawn = await Promise.all(Array.from({ length: 16 }, () => pool.query("SELECT nextval('orders')")))
  show(
    'pool',
    drawn.map(({ rows }) => Number(rows[0].nextval)).sort((a, b) => a - b),
  )
  await pool.end()
}

function typeOf({ name, dataTypeID }) {
  return `${name} ${dataTypeID}`
}

async function stateOf(query) {
  try {
    await query
    return 'no error'
  } catch (error) {
    return error.code
  }
}

async function withPostgres(options) {
  const sql = postgres(url, { max: 1, ...options })
  const values = (rows) => rows.map(({ nextval }) => nextval)
  show('nextval', values(await sql`SELECT nextval('orders')`))
  show('parameter', values(await sql`SELECT nextval(${'orders'})`))
  show('again', values(await sql`SELECT nextval(${'orders'})`))
  show('many', values(await sql`SELECT nextval('orders') FROM generate_series(1, ${5})`))
  show('simple', values(await sql.unsafe("SELECT nextval('orders')").simple()))
  show('pipelined', (await Promise.all([1, 2, 3].map(() => sql`SELECT nextval('orders')`))).map(values))
  show(
    'described',
    (await sql`SELECT nextval('orders') AS id`.describe()).columns.map(({ name, type }) => `${name} ${type}`),
  )
  const rolledBack = sql.begin(async (inside) => {
    await inside`SELECT nextval('orders')`
    throw new Error('rolled back')
  })
  show('transaction', await rolledBack.catch(({ message }) => message))
  const saved = await sql.begin((inside) => inside.savepoint((point) => point`SELECT nextval('orders')`))
  show('savepoint', values(saved))
  const drawn = []
  await sql`SELECT nextval('orders') FROM generate_series(1, 5)`.cursor(2, (rows) => {
    drawn.push(...values(rows))
  })
  show('cursor', drawn)
  show('setval', [...(await sql`SELECT setval('orders', ${100})`)])
  show('missing', await stateOf(sql`SELECT nextval('missing')`))
  show('goes on', values(await sql`SELECT nextval('orders')`))
  await sql`CREATE SEQUENCE created INCREMENT BY 10 START WITH 5`
  show('created', values(await sql`SELECT nextval('created') FROM generate_series(1, 2)`))
  await sql`DROP SEQUENCE created`
  await sql.end()
}

if (driver === 'pg') await withPg()
else await withPostgres({ prepare: driver === 'postgres' })
