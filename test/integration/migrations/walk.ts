/**
 * Walks through a page as a reader does who pastes each block.
 *
 * Invariants
 *  1. Blocks are carried out in the order of the page, each once, and as they stand there but for addresses.
 *  2. A block that fails, or prints something else than the page shows, fails the test and is named by its line.
 *  3. A `fahao serve` runs until the page starts another at the same address, or the test ends.
 *
 * `sh` is given to bash, `sql` to the client of the database that the heading names, `js` to node, and `yaml` and
 * `nginx` are kept under the name in their first line. The file that says where to listen starts nginx, which takes every
 * further one at once.
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseServer } from '../../launch/database.ts'
import type { Lifetime } from '../../launch/lifetime.ts'
import { freePort, temporaryFolder } from '../../launch/places.ts'
import { type RunningProcess, startProcess } from '../../launch/process.ts'
import { runProgram } from '../../launch/program.ts'
import { startBalancer } from './balancer.ts'
import { agrees, type Step, stepsOf } from './page.ts'

const repository = join(import.meta.dirname, '../../..')
const address = /\b((?:[a-z][\w-]*|127\.0\.0\.1)):(\d{4,5})\b/g

/** The servers that a page speaks of, by the addresses that it gives them: `db:3306`. */
export type Places = Readonly<Record<string, number>>

/** What a walk needs beside the page. */
export type WalkOptions = {
  readonly places?: Places
  readonly mysql?: DatabaseServer
  readonly postgres?: DatabaseServer
}

/** A page under way. */
export class Walk {
  readonly folder: string
  readonly #lifetime: Lifetime
  readonly #name: string
  readonly #steps: readonly Step[]
  readonly #options: WalkOptions
  readonly #ports: Map<string, number>
  readonly #nodes = new Map<string, RunningProcess>()
  #balancer: { reload: () => Promise<void> } | undefined
  #at = 0

  constructor(lifetime: Lifetime, name: string, options: WalkOptions) {
    this.#lifetime = lifetime
    this.#name = name
    this.#options = options
    this.#steps = stepsOf(name)
    this.#ports = new Map(Object.entries(options.places ?? {}))
    this.folder = temporaryFolder(lifetime)
    this.#layOut()
  }

  /** Carries out the blocks up to the next one that stands under another heading than `heading`. */
  async section(heading: string): Promise<void> {
    const first = this.#steps[this.#at]
    assert.ok(
      first?.headings.includes(heading),
      `the next block, ${this.#place()}, is not under "${heading}"`,
    )
    for (let step = this.#steps[this.#at]; step?.headings.includes(heading); step = this.#steps[++this.#at])
      await this.#carryOut(step)
  }

  /** Whether the whole page was carried out. */
  end(): void {
    assert.equal(this.#at, this.#steps.length, `${this.#place()} was not carried out`)
  }

  /** The port that stands for an address of the page. */
  async port(place: string): Promise<number> {
    const port = this.#ports.get(place) ?? (await freePort())
    this.#ports.set(place, port)
    return port
  }

  /** Runs a line as a reader would, and resolves to what it prints. */
  async shell(line: string): Promise<string> {
    return this.#shownAs(await this.#bash(await this.#placed(line)))
  }

  /** Ends the server at this address in good order. */
  async stop(place: string): Promise<void> {
    await this.#nodes.get(place)?.kill('SIGTERM')
    this.#nodes.delete(place)
  }

  async #carryOut(step: Step): Promise<void> {
    const text = await this.#placed(step.text)
    let printed = ''
    try {
      if (step.language === 'sh') printed = await this.#sh(step, text)
      else if (step.language === 'sql') printed = await this.#sql(step, text)
      else if (step.language === 'js') printed = await this.#js(text)
      else await this.#keep(step, text)
    } catch (error) {
      throw new Error(`${this.#place()}: ${error instanceof Error ? error.message : error}`)
    }
    if (step.shown === undefined) return
    const shown = this.#shownAs(printed)
    assert.ok(agrees(shown, step.shown), `${this.#place()} prints\n${shown}\nand not\n${step.shown}`)
  }

  async #sh(step: Step, text: string): Promise<string> {
    if (!text.startsWith('fahao serve')) return this.#bash(text)
    const place = /--http (\S+:\d+)/.exec(step.text)?.[1] ?? '127.0.0.1:7380'
    await this.stop(place)
    const http = await this.port(place)
    const resp = await this.port(place.replace(/:\d+$/, ':7379'))
    const running = await startProcess(this.#lifetime, {
      command: 'bash',
      args: ['-c', `exec ${text}`],
      cwd: this.folder,
      env: { ...this.#environment(), FAHAO_RESP: `127.0.0.1:${resp}`, FAHAO_HTTP: `127.0.0.1:${http}` },
      readyWhen: { probe: () => isReady(http) },
    })
    this.#nodes.set(place, running)
    return ''
  }

  #bash(text: string): Promise<string> {
    return runProgram(['bash', '-euo', 'pipefail', '-c', `exec 2>&1\n${text}`], {
      cwd: this.folder,
      env: this.#environment(),
    })
  }

  #sql(step: Step, text: string): Promise<string> {
    const isPostgres = step.headings.some((heading) => heading.includes('PostgreSQL'))
    const client = isPostgres
      ? ['psql', '--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', '--file=-']
      : ['mariadb', '--table']
    return runProgram(client, { cwd: this.folder, env: this.#environment(), input: text })
  }

  #js(text: string): Promise<string> {
    const file = join(this.folder, 'pasted.mjs')
    writeFileSync(file, text)
    return runProgram([process.execPath, file], { cwd: this.folder, env: this.#environment() })
  }

  async #keep(step: Step, text: string): Promise<void> {
    const name = /^# (\S+)/.exec(text)?.[1]
    assert.ok(name, `${this.#place()} does not say in its first line how the file is called`)
    writeFileSync(join(this.folder, name), text)
    const listen = step.language === 'nginx' && /listen (\d+);/.exec(step.text)?.[1]
    if (listen) {
      const port = await this.port(`127.0.0.1:${listen}`)
      writeFileSync(join(this.folder, name), text.replace(`listen ${listen};`, `listen 127.0.0.1:${port};`))
      this.#balancer = await startBalancer(this.#lifetime, this.folder, port)
    } else if (step.language === 'nginx') await this.#balancer?.reload()
  }

  /** The text with our ports instead of the page's. */
  async #placed(text: string): Promise<string> {
    for (const [place] of text.matchAll(address)) await this.port(place)
    return text.replace(address, (place) => `127.0.0.1:${this.#ports.get(place)}`)
  }

  /** What was printed, with the page's addresses instead of ours. */
  #shownAs(printed: string): string {
    const places = new Map([...this.#ports].map(([place, port]) => [`127.0.0.1:${port}`, place]))
    return printed.replace(address, (ours) => places.get(ours) ?? ours)
  }

  #place(): string {
    return `${this.#name}.md:${this.#steps[this.#at]?.line ?? 'end'}`
  }

  /** A home folder with clients that know their servers, a `fahao` on the path, and the clients' packages. */
  #layOut(): void {
    const { mysql } = this.#options
    const bin = join(this.folder, 'bin')
    mkdirSync(bin)
    symlinkSync(join(repository, 'node_modules'), join(this.folder, 'node_modules'))
    const program = join(repository, 'dist/fahao.js')
    assert.ok(existsSync(program), 'dist/ is missing: npm run build (npm test does it by itself)')
    writeFileSync(join(bin, 'fahao'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
    chmodSync(join(bin, 'fahao'), 0o755)
    if (!mysql) return
    const { username, password, port } = new URL(mysql.url('', 'admin'))
    const client = [`user=${username}`, `password=${password}`, 'host=127.0.0.1', `port=${port}`]
    writeFileSync(join(this.folder, '.my.cnf'), ['[client]', ...client, ''].join('\n'))
  }

  #environment(): Record<string, string> {
    const { postgres } = this.#options
    const own = { HOME: this.folder, PATH: `${join(this.folder, 'bin')}:${process.env.PATH}`, TZ: 'UTC' }
    if (!postgres) return own
    const { username, password, port } = new URL(postgres.url('', 'admin'))
    return {
      ...own,
      PGHOST: '127.0.0.1',
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      PGDATABASE: 'postgres',
    }
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  } catch {
    return false
  }
}
