/** Each statement of the corpus, directly and through the proxy: the same answers and the same rows, ids apart. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readCorpus, type Script, type Statement } from './corpus.ts'
import { type DeviationName, deviations } from './differences.ts'
import { deprecateEof, foundRows, sessionTrack } from './mysql-client.ts'
import { SameIds } from './same-ids.ts'
import type { Stage } from './stage.ts'
import { runScript, type Transcript } from './transcripts.ts'

const corpus = readCorpus()
const scripts = corpus.flatMap((file) => file.scripts)
const statements = scripts.flatMap((script) => script.statements)
/** Scripts do not name it: after an error, LAST_INSERT_ID() is undefined until an id is generated. */
const implied: DeviationName = 'failed'
/** Each script with one set of capabilities, and the next with the next. */
const capabilities = [0, deprecateEof, foundRows, deprecateEof | sessionTrack]

/** Registers the tests. */
export function corpusSuite(stage: () => Stage): void {
  describe('the corpus of statements', () => {
    test('has at least 1,200 statements', () => {
      assert.ok(statements.length >= 1200, `${statements.length} statements`)
    })

    test('has a statement for each difference from AUTO_INCREMENT', () => {
      const used = new Set<string | undefined>(statements.map(({ apart }) => apart))
      const unused = Object.keys(deviations).filter((name) => name !== implied && !used.has(name))
      assert.deepEqual(unused, [])
    })

    for (const file of corpus) {
      describe(file.name, () => {
        for (const script of file.scripts) {
          test(script.title, async () => {
            const { direct, proxied } = stage()
            const asked = capabilities[scripts.indexOf(script) % capabilities.length]!
            const [left, right] = await Promise.all([
              runScript(script, direct, false, asked),
              runScript(script, proxied, true, asked),
            ])
            new Comparison(script).compare(left, right)
          })
        }
      })
    }
  })
}

/** What differs between the two sides of a script. */
class Comparison {
  readonly #script: Script
  readonly #same = new SameIds()
  readonly #found: string[] = []
  /** Whether LAST_INSERT_ID() is the same on both sides. */
  #isLastIdKnown = true

  constructor(script: Script) {
    this.#script = script
  }

  compare(direct: Transcript, proxied: Transcript): void {
    const answers = new Map(direct.statements.map(({ place, lines }) => [place, lines]))
    for (const [at, { place, lines }] of proxied.statements.entries()) {
      const statement = this.#script.statements[at]!
      if (!statement.isGuarded) this.#statement(statement, answers.get(place)!, lines)
      else if (!lines.some((line) => guardsError.test(line)))
        this.#found.push(`${place}: ${lines.join('\n')}`)
    }
    for (const [at, line] of proxied.tables.entries())
      if (!this.#same.compare(direct.tables[at] ?? '', line))
        this.#found.push(`rows\n  direct:  ${direct.tables[at]}\n  proxied: ${line}`)
    assert.equal(proxied.tables.length, direct.tables.length)
    assert.ok(this.#found.length === 0, `\n${this.#found.join('\n')}`)
  }

  #statement(statement: Statement, direct: readonly string[], proxied: readonly string[]): void {
    const { place, sql, apart } = statement
    if (apart !== undefined || direct.some((line) => line.startsWith('error '))) this.#isLastIdKnown = false
    else if (direct.some((line) => / insertId=\d{10} /.test(line))) this.#isLastIdKnown = true
    let isApart = false
    for (let index = 0; index < Math.max(direct.length, proxied.length); index++) {
      // The server does not know of errors that the proxy makes, and shows none.
      if (index > 0 && /^error \S+ \S+ fahao proxy: /.test(proxied[index - 1]!)) continue
      const [left, right] = alike(direct[index] ?? 'nothing', proxied[index] ?? 'nothing')
      const areLastIds = lastId.test(left) && lastId.test(right)
      if (areLastIds && !this.#isLastIdKnown && apart === undefined) continue
      if (apart !== undefined && withoutInsertId(left) === withoutInsertId(right)) {
        isApart ||= !this.#same.canBeSame(left, right)
      } else if (!this.#same.compare(left, right)) {
        this.#found.push(`${place} ${sql}\n  direct:  ${left}\n  proxied: ${right}`)
        return
      }
    }
    if (apart !== undefined && !isApart) this.#found.push(`${place} ${sql}\n  is not apart`)
  }
}

/** No default, NULL, or a CHECK that refuses: as an error, or as a warning of IGNORE. */
const guardsError = /^error (?:1364|1048|4025) |^\[\["Warning","(?:1364|1048|4025)"/

/** The answer to SELECT LAST_INSERT_ID(). */
const lastId = /^\[\["\d+"\]\]$/

/** Takes away what may differ. */
function alike(direct: string, proxied: string): [direct: string, proxied: string] {
  // The server shows a part of the text, which is edited; or the proxy says that it cannot be read.
  if (syntaxError.test(direct)) return [withoutText(direct), withoutText(proxied)]
  return [direct, proxied.replace(/^(error \d+ \S+) fahao proxy: /, '$1 ')]
}

const syntaxError = /^error 1064 |^\[\["Error","1064"/

function withoutText(line: string): string {
  return line.replace(/(?<=^error 1064 42000).*|(?<="1064").*/s, '')
}

/** Without the id of an OK packet, and without LAST_INSERT_ID(). */
function withoutInsertId(line: string): string {
  return line.replace(/(?<= insertId=)\d+/, '').replace(lastId, '')
}
