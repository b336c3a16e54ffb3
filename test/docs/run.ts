/**
 * Blocks of a page, run as a reader runs them: in a folder that stands for a clone of this repository, beside the reader's
 * own project, with the ports of the page replaced by free ones and some programs by what was built.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scope } from '../launch/lifetime.ts'
import { freePorts, temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, requireProgram, startProcess } from '../launch/process.ts'
import { killTree, processTree } from '../launch/process-tree.ts'
import { runProgram } from '../launch/program.ts'
import { type Block, namesPort, ports, shellParts, shownBy, startsServer } from './blocks.ts'

const repository = join(import.meta.dirname, '..', '..')
const fahao = `node ${join(repository, 'dist', 'fahao.js')}`

/** What runs in the place of a server of a page. */
const servers: readonly (readonly [RegExp, string])[] = [
  [/\bnpm start(?: --)?/, `exec ${fahao} serve --config examples/fahao.yaml`],
  [/\bnpm run cluster(?: --)?/, `exec node ${join(repository, 'scripts', 'cluster.ts')}`],
  [/\bnpx fahao serve/, `exec ${fahao} serve`],
]

/** What runs in the place of a program of a page. Other programs run as they are. */
const programs: Readonly<Record<string, string>> = {
  // dist/ is built, the packages that a page installs are there, and `npm test` is what runs this.
  npm: `case "$*" in ci | 'run build' | test | 'install ../fahao'* | 'pkg set type=module') ;; *) exit 1 ;; esac`,
  npx: `[ "$1" = fahao ] && shift && exec ${fahao} "$@"`,
  // An error that a server answers is an exit code.
  'redis-cli': `exec ${requireProgram('redis-cli')} -e "$@"`,
  curl: `exec ${requireProgram('curl')} --fail --silent --show-error "$@"`,
}

/** Functions that a page leaves to its readers. */
const ofTheReader = ['const stopIssuing = () => {}', 'const leaseAnother = () => {}']

/** Packages that `your-project` has, by their folders. */
const installed = {
  fahao: '.',
  'fahao-client': 'client',
  redis: 'node_modules/redis',
  ioredis: 'node_modules/ioredis',
}

const marker = '\u001e'

/** Runs the blocks in order. Rejects when one fails, or prints something else than it shows. What it starts ends with `scope`. */
export async function runChapter(
  scope: Scope,
  blocks: readonly Block[],
  page: readonly Block[],
): Promise<void> {
  const reader = await Reader.arrive(scope)
  // Before its own end: `npm run cluster` has six servers, in sessions of their own, which a signal to its group misses.
  scope.after(async () => {
    for (const pid of processTree(process.pid).slice(1)) await killTree(pid)
  })
  if (page.some(namesPort) && !startsServer(blocks[0]!)) await reader.serve('npm start')
  for (const block of blocks) {
    try {
      if (block.language === 'sh') await reader.paste(block.text)
      else await reader.runModule(block, page)
    } catch (error) {
      throw new Error(`the block at line ${block.line} does not work`, { cause: error })
    }
  }
}

/** One who follows a page. */
class Reader {
  readonly #scope: Scope
  readonly #folder: string
  readonly #firstPort: number
  readonly #env: Readonly<Record<string, string>>
  readonly #running = new Map<string, RunningProcess>()

  private constructor(scope: Scope, folder: string, firstPort: number) {
    this.#scope = scope
    this.#folder = folder
    this.#firstPort = firstPort
    this.#env = {
      PATH: `${join(folder, 'bin')}:${join(repository, 'node_modules', '.bin')}:${process.env.PATH}`,
      CLUSTER_PORT: `${firstPort}`,
      FAHAO_RESP: `127.0.0.1:${firstPort}`,
      FAHAO_HTTP: `127.0.0.1:${firstPort + 1}`,
      FAHAO_URL: `http://127.0.0.1:${firstPort + 1}`,
      TMPDIR: folder,
    }
  }

  /** With the folders fahao/, your-project/ and bin/. */
  static async arrive(scope: Scope): Promise<Reader> {
    const folder = temporaryFolder(scope)
    mkdirSync(join(folder, 'fahao'))
    symlinkSync(join(repository, 'examples'), join(folder, 'fahao', 'examples'))
    mkdirSync(join(folder, 'your-project', 'node_modules'), { recursive: true })
    writeFileSync(join(folder, 'your-project', 'package.json'), '{ "type": "module" }')
    for (const [name, path] of Object.entries(installed))
      symlinkSync(join(repository, path), join(folder, 'your-project', 'node_modules', name))
    mkdirSync(join(folder, 'bin'))
    for (const [name, script] of Object.entries(programs)) {
      writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`)
      chmodSync(join(folder, 'bin', name), 0o755)
    }
    return new Reader(scope, folder, await freePorts(ports.length))
  }

  /** Starts a server of a page; one that was started by the same command has to end first, as on the page. */
  async serve(command: string): Promise<void> {
    await this.#running.get(command)?.exited
    const [pattern, replacement] = servers.find(([each]) => each.test(command))!
    const server = await startProcess(this.#scope, {
      command: 'sh',
      args: ['-c', withPorts(command, this.#firstPort).replace(pattern, replacement)],
      cwd: join(this.#folder, 'fahao'),
      env: this.#env,
      readyWhen: { line: /is ready|three nodes are up/ },
      readyWithinMs: 60_000,
    })
    this.#running.set(command, server)
  }

  /** Pastes a block into a shell. */
  async paste(text: string): Promise<void> {
    for (const { server, commands } of shellParts(text)) {
      if (server !== undefined) await this.serve(server)
      else
        await this.#compare(
          commands,
          ['timeout', '60', 'sh', '-ec'],
          (line) => `echo ${marker}\n${line}\necho ${marker}`,
        )
    }
  }

  /** Runs a block as a module of your-project. A part of a program is run behind the declarations above it on the page. */
  async runModule(block: Block, page: readonly Block[]): Promise<void> {
    const above = page.slice(
      0,
      page.findIndex(({ line }) => line === block.line),
    )
    const missing = declarationsFor(block, above)
    const path = join(this.#folder, 'your-project', `ids.${block.language}`)
    // A program that closes what it opened ends by itself. One that goes on in the reader's own code has to be ended.
    const isWhole = missing.length === 0 && /\b(?:close|destroy|disconnect)\(\)|fetch\(/.test(block.text)
    const lines = [...missing, ...block.text.split('\n'), ...(isWhole ? [] : ['process.exit()'])]
    await this.#compare(lines, ['timeout', '60', process.execPath, path], printed, path)
  }

  /** Runs lines as one program, and compares what some print with what they show. */
  async #compare(
    lines: readonly string[],
    command: readonly string[],
    between: (line: string) => string,
    path?: string,
  ): Promise<void> {
    const showing = lines.filter((line) => shownBy(line) !== undefined && between(line) !== line)
    const program = withPorts(
      lines.map((line) => (showing.includes(line) ? between(line) : line)).join('\n'),
      this.#firstPort,
    )
    if (path !== undefined) writeFileSync(path, program)
    const cwd = join(this.#folder, path === undefined ? 'fahao' : 'your-project')
    const output = await runProgram(path === undefined ? [...command, program] : command, {
      cwd,
      env: this.#env,
    })
    const outputs = output.split(`${marker}\n`).filter((_, at) => at % 2 === 1)
    assert.equal(outputs.length, showing.length, output)
    for (const [at, line] of showing.entries()) assert.match(outputs[at]!.trim(), shownBy(line)!, line)
  }
}

/** A line of a module that shows a value, printing it between markers; any other line as it is. */
function printed(line: string): string {
  const [, indent, logged, expression] =
    /^( *)(?:console\.log\((.*)\)|((?:await )?[\w.]+(?:\(.*\))?)) \/\/ /.exec(line) ?? []
  const value = logged ?? expression
  if (value === undefined) return line
  return `${indent}console.log('${marker}'); console.log(${value}); console.log('${marker}')`
}

/** Lines above a block that declare the names which it uses and does not declare, and the names that those lines use. */
function declarationsFor({ text }: Block, above: readonly Block[]): string[] {
  const candidates = [
    ...above.flatMap((block) => (block.language === 'sh' ? [] : block.text.split('\n'))),
    ...ofTheReader,
  ]
  const known = new Set(text.split('\n').flatMap(namesDeclared))
  const found = new Set<string>()
  const search = (code: string) => {
    for (const name of namesUsed(code)) {
      if (known.has(name)) continue
      const line = candidates.find((each) => isOneLine(each) && namesDeclared(each).includes(name))
      if (line === undefined) continue
      for (const each of namesDeclared(line)) known.add(each)
      search(line)
      found.add(line)
    }
  }
  search(text)
  return [...found]
}

function namesDeclared(line: string): string[] {
  const names = /^(?:import|const) (?:\{(.*?)\}|(\w+)) /.exec(line)
  return (names?.[1] ?? names?.[2] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function namesUsed(code: string): string[] {
  const bare = code.replace(/'[^'\n]*'/g, '').replace(/\/\/.*$/gm, '')
  return [...bare.matchAll(/(?<![.\w])[a-zA-Z]\w*\b(?!:)/g)].map(([name]) => name)
}

function isOneLine(line: string): boolean {
  return line.split('(').length === line.split(')').length
}

/** A text with the ports of the pages replaced by those that begin with `first`. */
function withPorts(text: string, first: number): string {
  return ports.reduce(
    (replaced, port, at) => replaced.replace(new RegExp(`\\b${port}\\b`, 'g'), `${first + at}`),
    text,
  )
}
