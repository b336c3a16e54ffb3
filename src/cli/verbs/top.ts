import { type Command, Option } from 'commander'
import { stayAlive, systemClock, type Timer } from '../../base/clock.ts'
import { describe, hasCode } from '../../base/errors.ts'
import { UsageError } from '../exit-codes.ts'
import { approximateDuration } from '../generator-text.ts'
import { type Figures, lookAtNodes, NodeFigures } from '../node-figures.ts'
import { addServerOptions, type ServerOptions } from '../server-api.ts'
import { bold, grouped, printAnswer, table } from '../terminal.ts'

type TopOptions = ServerOptions & { readonly once?: true }

/** `fahao top` */
export function addTop(command: Command): void {
  command.description(
    'Shows what the nodes of an installation do, and again each second: ids per second, how long buffered ids last without the engine, what ends first, errors, the state of each node. Reads the live stream of the node at --url, which tells of all nodes of its cluster. q ends it.',
  )
  addServerOptions(command)
    .addOption(new Option('--once', 'print it once, with the rates of one second; so does --json'))
    .addHelpText(
      'after',
      `
Examples:
  fahao top
  fahao top --once
  fahao top --json | jq .perSecond`,
    )
    .action(async (options: TopOptions) => {
      // Timers of the clock do not.
      const alive = stayAlive()
      try {
        if (options.once || options.json) await printOnce(options)
        else await watch(options)
      } finally {
        alive.cancel()
      }
    })
}

async function printOnce(options: TopOptions): Promise<void> {
  const figures = await lookAtNodes(options, ratesOf)
  printAnswer(options, figures, topLines(figures))
}

/** How many ticks there are to a rate. */
const ratesOf = 2
/** In raw mode it is a character, and no signal. */
const controlC = 3
/** Of a terminal that does not tell. */
const rowsUsual = 24
/** The pause before the node is asked again, in ms. */
const pauseMs = 1000

async function watch(options: TopOptions): Promise<void> {
  if (!process.stdout.isTTY) throw new UsageError('top redraws a terminal, and stdout is none; give --once')
  const nodes = new NodeFigures(options)
  const left = new AbortController()
  // Not before the first answer: it may ask for a password.
  let screen: Screen | undefined
  const show = () => {
    screen ??= new Screen(left)
    screen.draw(topLines(nodes.figures()))
  }
  try {
    for (;;) {
      const failure = await nodes.follow(left.signal, show).then(
        () => new Error('its stream has ended'),
        (error) => error,
      )
      if (left.signal.aborted) return
      if (screen === undefined || isRefusal(failure)) throw failure
      nodes.lose(describe(failure))
      show()
      await screen.rest(pauseMs)
    }
  } finally {
    screen?.close()
  }
}

/** Whether the node refuses this user, and will again. */
function isRefusal(error: unknown): boolean {
  return hasCode(error, 'NOAUTH') || hasCode(error, 'WRONGPASS') || hasCode(error, 'NOPERM')
}

/** The terminal's second page, without a cursor, until a key or a signal leaves it. `close` puts back what it was. */
class Screen {
  readonly #left: AbortController
  #timer: Timer | undefined
  #wake: () => void = () => {}
  readonly #signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  readonly #leave = () => {
    this.#left.abort()
    this.#wake()
  }
  readonly #onKey = (keys: Buffer) => {
    if (keys.includes('q') || keys.includes(controlC)) this.#leave()
  }

  /** @param left is aborted when it is left. */
  constructor(left: AbortController) {
    this.#left = left
    const { stdin, stdout } = process
    if (stdin.isTTY) stdin.setRawMode(true).on('data', this.#onKey)
    for (const signal of this.#signals) process.on(signal, this.#leave)
    // No cursor, and lines are cut at the edge.
    stdout.write('\x1b[?1049h\x1b[?25l\x1b[?7l')
  }

  /** Shows the lines that fit. */
  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, (process.stdout.rows || rowsUsual) - 1)
    process.stdout.write(`\x1b[H${shown.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`)
  }

  /** Resolves after this time, or when the screen is left. */
  rest(ms: number): Promise<void> {
    if (this.#left.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#timer = systemClock.timer(ms, resolve)
    })
  }

  close(): void {
    this.#timer?.cancel()
    for (const signal of this.#signals) process.off(signal, this.#leave)
    process.stdout.write('\x1b[?7h\x1b[?25h\x1b[?1049l')
    if (process.stdin.isTTY) process.stdin.off('data', this.#onKey).setRawMode(false).pause()
  }
}

/** The figures, line by line. */
export function topLines(figures: Figures): string[] {
  const { perSecond, bufferedSeconds, endsFirst, nodes, generators } = figures
  const ends = generators.find(({ name }) => name === endsFirst)
  return [
    bold(`${rate(perSecond)} ids per second on ${nodes.length === 1 ? 'one node' : `${nodes.length} nodes`}`),
    bufferedSeconds === null
      ? 'no ids are used: buffered ids last without the engine'
      : `without the engine the first generator would have no ids in ${approximateDuration(bufferedSeconds)}`,
    ends === undefined
      ? 'no generator has an end in sight'
      : `${ends.name} ends first, in ${approximateDuration(ends.endsSeconds!)}`,
    `errors per second: ${errorsText(figures.errors)}`,
    '',
    ...table(['NODE', 'STATE', 'PER SECOND', 'LASTS', 'CPU', 'MEMORY', 'VERSION', ''], nodes.map(nodeRow)),
    '',
    ...table(
      ['GENERATOR', 'KIND', 'PER SECOND', 'BY CALLERS', 'BUFFERED', 'LASTS', 'WAITING', 'ENDS'],
      generators.map(generatorRow),
    ),
  ]
}

function nodeRow({ node, state, reason, version, ...row }: Figures['nodes'][number]): string[] {
  return [
    node,
    state,
    rate(row.perSecond),
    lasts(row.bufferedSeconds),
    row.cpu === null ? '' : `${Math.round(row.cpu * 100)} %`,
    row.memoryBytes === null ? '' : `${Math.round(row.memoryBytes / 1024 ** 2)} MiB`,
    version ?? '',
    reason ?? '',
  ]
}

function generatorRow({ name, kind, ...row }: Figures['generators'][number]): string[] {
  return [
    name,
    kind,
    rate(row.perSecond),
    rate(row.callersPerSecond),
    grouped(Math.round(row.buffered)),
    lasts(row.bufferedSeconds),
    grouped(row.waiting),
    lasts(row.endsSeconds),
  ]
}

function errorsText(errors: Figures['errors']): string {
  const shown = Object.entries(errors).map(([code, perSecond]) => `${code} ${rate(perSecond)}`)
  return shown.length === 0 ? 'none' : shown.join(', ')
}

function rate(perSecond: number): string {
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))
}

function lasts(seconds: number | null): string {
  return seconds === null ? '' : approximateDuration(seconds)
}
