/**
 * Patterns of LIKE and of regular expressions. Both are matched in time linear in the text, whatever the pattern: LIKE with one
 * place to go back to, regular expressions by following all their states at once (Thompson's construction, with the captures
 * of Pike's machine). Every step counts against the budget.
 */
import type { Budget } from './budget.ts'
import { compilePattern, type Instruction, type Program } from './regular-expression.ts'
import { SqlError } from './sql-error.ts'

const programs = new Map<string, Program>()
const programsMax = 200
/** Of longer patterns only the last one is kept. */
const keptLength = 200
let last: { readonly key: string; readonly program: Program } | undefined

/** Whether `text` matches a pattern of LIKE. `escapeChar` is one character or none. */
export function matchesLike(text: string, pattern: string, escapeChar: string, budget: Budget): boolean {
  const tokens = likeTokens(pattern, escapeChar)
  const chars = Array.from(text)
  let [at, next, anyAt, resumeAt] = [0, 0, -1, 0]
  while (at < chars.length) {
    budget.step()
    const token = tokens[next]
    if (token === any) {
      anyAt = next++
      resumeAt = at
    } else if (token !== undefined && (token === one || token === chars[at])) {
      next++
      at++
    } else if (anyAt >= 0) {
      next = anyAt + 1
      at = ++resumeAt
    } else return false
  }
  while (tokens[next] === any) next++
  return next === tokens.length
}

const any = Symbol('%')
const one = Symbol('_')

function likeTokens(pattern: string, escapeChar: string): (string | symbol)[] {
  const chars = Array.from(pattern)
  const tokens: (string | symbol)[] = []
  for (let index = 0; index < chars.length; index++) {
    const char = chars[index]!
    if (char === escapeChar) {
      const escaped = chars[++index]
      if (escaped === undefined)
        throw new SqlError('22025', 'LIKE pattern must not end with escape character')
      tokens.push(escaped)
    } else tokens.push(char === '%' ? any : char === '_' ? one : char)
  }
  return tokens
}

/** The one text that a pattern `^(…)$` or `^…$` of plain characters matches, or undefined. */
export function exactText(pattern: string): string | undefined {
  const body = /^\^\((.*)\)\$$/s.exec(pattern)?.[1] ?? /^\^(.*)\$$/s.exec(pattern)?.[1]
  if (body === undefined || !/^(?:[^.*+?()[\]{}|^$\\]|\\\W)*$/.test(body)) return undefined
  return body.replace(/\\(\W)/g, '$1')
}

/** Whether a regular expression matches somewhere in `text`. Throws SqlError 2201B for a pattern that is none. */
export function matchesPattern(text: string, pattern: string, caseless: boolean, budget: Budget): boolean {
  return search(programOf(pattern, caseless, budget), Array.from(text), 0, budget) !== undefined
}

/** regexp_replace, with the flags `g` and `i`. */
export function replacePattern(
  text: string,
  pattern: string,
  to: string,
  flags: string,
  budget: Budget,
): string {
  if (/[^gic]/.test(flags)) throw new SqlError('22023', `invalid regular expression option: "${flags}"`)
  const program = programOf(pattern, flags.includes('i'), budget)
  const chars = Array.from(text)
  let result = ''
  let done = 0
  for (let at = 0; at <= chars.length; ) {
    const found = search(program, chars, at, budget)
    if (!found) break
    const [start, end] = [found[0]!, found[1]!]
    const group = (index: number) =>
      found[2 * index] === undefined ? '' : chars.slice(found[2 * index], found[2 * index + 1]).join('')
    budget.step(to.length >> 4)
    let size = result.length
    const replaced = to.replace(/\\([1-9&\\])/g, (_, which: string) => {
      const part = which === '\\' ? '\\' : group(which === '&' ? 0 : Number(which))
      size += part.length
      budget.demand(size)
      return part
    })
    result += chars.slice(done, start).join('') + replaced
    budget.demand(result.length)
    done = end
    at = end > start ? end : end + 1
    if (!flags.includes('g')) break
  }
  return result + chars.slice(done).join('')
}

function programOf(pattern: string, caseless: boolean, budget: Budget): Program {
  const key = `${caseless ? 'i' : 'c'}${pattern}`
  const known = last?.key === key ? last.program : programs.get(key)
  if (known) return known
  const program = compilePattern(pattern, caseless, budget)
  if (pattern.length < keptLength) {
    if (programs.size >= programsMax) programs.clear()
    programs.set(key, program)
  } else last = { key, program }
  return program
}

type Thread = { readonly at: number; readonly captures: readonly (number | undefined)[] }

/** The captures of the first match from `from` on: start and end of the whole, then of each group. */
function search(
  program: Program,
  chars: readonly string[],
  from: number,
  budget: Budget,
): (number | undefined)[] | undefined {
  let threads: Thread[] = []
  let found: (number | undefined)[] | undefined
  for (let at = from; ; at++) {
    budget.step(1 + (program.length >> 4))
    const seen = new Uint8Array(program.length)
    const ready: Thread[] = []
    for (const thread of threads) follow(program, thread, chars, at, seen, ready, budget)
    if (!found) follow(program, { at: 0, captures: [at] }, chars, at, seen, ready, budget)
    threads = []
    for (const { at: place, captures } of ready) {
      const instruction = program[place]!
      if (instruction.kind === 'match') {
        found = [...captures]
        found[1] = at
        // Threads behind this one have less priority.
        break
      }
      if (instruction.kind !== 'char') continue
      budget.step(1 + (instruction.parts >> 4))
      if (at < chars.length && instruction.admits(chars[at]!)) threads.push({ at: place + 1, captures })
    }
    if (at >= chars.length || (threads.length === 0 && found)) return found
  }
}

/** Adds the threads that `thread` leads to without a character, in the order of their priority. */
function follow(
  program: Program,
  thread: Thread,
  chars: readonly string[],
  at: number,
  seen: Uint8Array,
  ready: Thread[],
  budget: Budget,
): void {
  const open = [thread]
  for (let next = open.pop(); next; next = open.pop()) {
    budget.step()
    if (seen[next.at]) continue
    seen[next.at] = 1
    const instruction: Instruction = program[next.at]!
    if (instruction.kind === 'char' || instruction.kind === 'match') ready.push(next)
    else if (instruction.kind === 'split')
      open.push({ ...next, at: instruction.second }, { ...next, at: instruction.first })
    else if (instruction.kind === 'jump') open.push({ ...next, at: instruction.to })
    else if (instruction.kind === 'save') {
      const captures = next.captures.slice()
      captures[instruction.slot] = at
      budget.step(captures.length >> 6)
      open.push({ at: next.at + 1, captures })
    } else if (instruction.holds(chars, at)) open.push({ ...next, at: next.at + 1 })
  }
}
