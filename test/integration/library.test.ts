/** The library as it is built, in processes of its own: how they end, what they leave, and what they share. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { decode, layouts } from '../../src/ids.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import { assertDistinct, assertIncreasing } from './examples.ts'

const library = pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', 'index.js')).href

/** A process whose program is `body`, with `fahao` open on `engine`. Ready when it prints `ready`. */
function program(t: TestContext, engine: string, body: string, options = ''): Promise<RunningProcess> {
  const code = `
    import { openFahao, FahaoError } from '${library}'
    const fahao = await openFahao({ engine: '${engine}' ${options} })
    console.log('ready')
    ${body}`
  return startProcess(t, {
    command: process.execPath,
    args: ['--input-type=module', '--eval', code],
    readyWhen: { line: /^ready$/ },
  })
}

/** Runs a program to its end, which must be a good one, and returns what it printed after `ready`. */
async function run(t: TestContext, engine: string, body: string, options = ''): Promise<string[]> {
  const running = await program(t, engine, body, options)
  assert.deepEqual(await running.exited, { code: 0, signal: null }, running.output())
  return running.output().trim().split('\n').slice(1)
}

/** Whole lines that look like this. */
function lines(running: RunningProcess, pattern: RegExp): string[] {
  const all = running.output().split('\n').slice(0, -1)
  return all.filter((line) => pattern.test(line))
}

async function untilLines(running: RunningProcess, pattern: RegExp, count: number): Promise<string[]> {
  while (lines(running, pattern).length < count) {
    assert.equal(running.exit(), undefined, running.output())
    await new Promise((again) => setTimeout(again, 5))
  }
  return lines(running, pattern)
}

function store(t: TestContext): string {
  return `sqlite:${join(temporaryFolder(t), 'ids.db')}`
}

const draw = (name: string, kind: string, count: number) => `
  const ${name} = await fahao.open('${name}', { kind: '${kind}' })
  for (let drawn = 0; drawn < ${count}; drawn++) console.log('${name}', String(await ${name}.next()))`

function idsOf(printed: readonly string[], name: string): string[] {
  return printed.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
}

describe('a process with the library', () => {
  test('gets the same line of ids in every life that was closed', async (t) => {
    const engine = store(t)
    const body = `${draw('order', 'sequence', 3)}\nawait fahao.close()`
    const runs = [await run(t, engine, body), await run(t, engine, body)]
    assert.deepEqual(idsOf(runs.flat(), 'order'), ['1', '2', '3', '4', '5', '6'])
  })

  test('ends by itself, with and without a close', async (t) => {
    const engine = store(t)
    const used = `${draw('order', 'sequence', 3)}${draw('event', 'snowflake', 3)}`
    await run(t, engine, `${used}\nawait fahao.close()`)
    // The buffered ids are a gap then, and are never issued again.
    const first = await run(t, engine, used)
    const second = await run(t, engine, used)
    for (const name of ['order', 'event']) {
      assertIncreasing([...idsOf(first, name), ...idsOf(second, name)])
    }
  })

  test('ends after its calls are answered, also those that wait for time to pass', async (t) => {
    const layout = 'time:41,node:10,sequence:2;unit=ms;epoch=2020-01-01T00:00:00Z'
    const printed = await run(
      t,
      store(t),
      `const some = await fahao.open('some', { kind: 'snowflake', layout: '${layout}', borrowMax: '0ms' })
       for (let drawn = 0; drawn < 100; drawn++) await some.next()
       const few = await fahao.open('few', { kind: 'segment', max: '10' })
       console.log(await few.nextBatch(20).catch(({ code }) => code))`,
    )
    assert.deepEqual(printed, ['EXHAUSTED'])
  })

  test('may close without having used anything, and twice', async (t) => {
    await run(t, store(t), 'await fahao.close(); await fahao.close()')
    await run(t, store(t), 'await fahao[Symbol.asyncDispose]()')
  })

  test('is told, after close, that this node is stopping', async (t) => {
    const printed = await run(
      t,
      store(t),
      `const order = await fahao.open('order', { kind: 'sequence' })
      await fahao.close()
      for (const late of [() => order.next(), () => order.nextBatch(5), () => fahao.open('order')]) {
        await late().then(() => console.log('no error'), (error) => console.log(error instanceof FahaoError, error.code))
      }
      console.log(order.tryNext())`,
    )
    assert.deepEqual(printed, ['true SHUTDOWN', 'true SHUTDOWN', 'true SHUTDOWN', 'undefined'])
  })

  test('repeats nothing after kill -9, whatever it was at', async (t) => {
    const engine = store(t)
    const endless = ['order sequence', 'user segment', 'event snowflake', 'txn timestamp'].map((words) => {
      const [name, kind] = words.split(' ')
      return `(async () => {
        const generator = await fahao.open('${name}', { kind: '${kind}' })
        for (;;) {
          console.log('${name}', String(await generator.next()), (await generator.nextBatch(50)).join(' '))
          // Buffered ids come without a turn of the event loop: the other callers would never get theirs.
          await new Promise((turn) => setImmediate(turn))
        }
      })()`
    })
    const all = new Map<string, string[]>()
    for (let life = 0; life < 4; life++) {
      const running = await program(t, engine, `await Promise.all([${endless.join(',')}])`)
      await untilLines(running, /^txn /, 20 + 30 * life)
      await running.kill()
      for (const line of lines(running, /^(order|user|event|txn) \d/)) {
        const [name, ...ids] = line.split(' ')
        all.set(name!, [...(all.get(name!) ?? []), ...ids])
      }
    }
    assert.equal(all.size, 4)
    for (const ids of all.values()) assertIncreasing(ids)
  })
})

describe('two processes with the library on one file', () => {
  const stay = `process.stdin.resume(); setInterval(() => {}, 1000)`
  const report = `.then((id) => console.log('got', String(id)), (error) => console.log('refused', error.code, error.message))`

  test('share per-node kinds without a duplicate; the strict ones belong to the first', async (t) => {
    const engine = store(t)
    const perNode = `${draw('user', 'segment', 2000)}${draw('event', 'snowflake', 2000)}`
    const owner = await program(
      t,
      engine,
      `${draw('order', 'sequence', 1)}\nconsole.log('mine');${perNode}\n${stay}`,
    )
    await untilLines(owner, /^mine$/, 1)
    const other = await run(
      t,
      engine,
      `${perNode}
      await fahao.open('order').then((order) => order.next())${report}
      await fahao.close()`,
    )
    await untilLines(owner, /^event /, 2000)
    for (const name of ['user', 'event']) {
      const own = lines(owner, /^\w+ \d+$/)
      assertIncreasing(idsOf(own, name))
      assertIncreasing(idsOf(other, name))
      assertDistinct([...idsOf(own, name), ...idsOf(other, name)])
    }
    assert.match(other.at(-1)!, new RegExp(`^refused NOTOWNER .*${owner.pid}`))
  })

  test('the strict kinds pass to the next process that opens the file after the first has ended', async (t) => {
    const engine = store(t)
    const owner = await program(t, engine, `${draw('order', 'sequence', 5)}\n${stay}`)
    const before = idsOf(await untilLines(owner, /^order /, 5), 'order')
    await owner.kill()
    const after = idsOf(await run(t, engine, `${draw('order', 'sequence', 5)}\nawait fahao.close()`), 'order')
    assertIncreasing([...before, ...after])
  })
})

describe('two processes with the library on one database', () => {
  test('have worker ids of their own, and a sequence in strict order between them', async (t) => {
    const postgres = await startPostgres(t)
    const engine = await postgres.newDatabase()
    const body = `${draw('user', 'segment', 500)}${draw('event', 'snowflake', 500)}${draw('order', 'sequence', 50)}
      setInterval(() => {}, 1000)`
    const both = await Promise.all([0, 1].map(() => program(t, engine, body)))
    for (const running of both) await untilLines(running, /^order /, 50)
    const [first, second] = both.map((running) => lines(running, /^\w+ \d+$/))
    for (const name of ['user', 'event', 'order']) {
      for (const printed of [first!, second!]) assertIncreasing(idsOf(printed, name))
      assertDistinct([...idsOf(first!, name), ...idsOf(second!, name)])
    }
    const workers = [first!, second!].map(
      (printed) => decode(layouts.twitter, BigInt(idsOf(printed, 'event')[0]!)).node,
    )
    assert.equal(new Set(workers).size, 2)
  })
})
