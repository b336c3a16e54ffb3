/**
 * What errors advise: operations, which each interface writes in its own words. The message of an error has those of Redis's
 * commands and of the command line.
 */
import { type ErrorCode, FahaoError } from './errors.ts'

/** An operation on a generator. */
export type Step = {
  readonly operation: 'id.create' | 'id.alter'
  readonly name: string
  /** Undefined: a value of the caller's choice. */
  readonly options: Readonly<Record<string, string | number | undefined>>
}

/** Writes a step. */
export type Say = (step: Step) => string

const wordings = new WeakMap<FahaoError, (say: Say) => string>()

/** An error whose message contains steps. */
export function advising(code: ErrorCode, wording: (say: Say) => string): FahaoError {
  const error = new FahaoError(code, wording(sayCommand))
  wordings.set(error, wording)
  return error
}

/** The message in the words of an interface; undefined of an error without steps. */
export function adviceIn(say: Say, error: FahaoError): string | undefined {
  return wordings.get(error)?.(say)
}

/** `error` in the words of an interface, where it has steps. */
export function inWordsOf(say: Say, error: unknown): unknown {
  if (!(error instanceof FahaoError)) return error
  const message = adviceIn(say, error)
  if (message === undefined) return error
  const worded = new FahaoError(error.code, message, { cause: error.cause })
  if (error.stack !== undefined) worded.stack = error.stack.replace(error.message, () => message)
  return worded
}

const shown = (value: string | number | undefined) => value ?? 'N'

/** A command, and the verb of the command line. */
export function sayCommand({ operation, name, options }: Step): string {
  const given = Object.entries(options)
  const words = given.map(([option, value]) => ` ${option.toUpperCase()} ${shown(value)}`).join('')
  const flags = given.map(([option, value]) => ` --${option} ${shown(value)}`).join('')
  return `${operation.toUpperCase()} ${name}${words} (or fahao ${operation.slice(3)} ${name}${flags})`
}

/** Writes calls of methods. @param opening the method that opens a generator, or creates it with options: `fahao.open`. */
export function calls(opening: string): Say {
  const [object] = opening.split('.', 1)
  return ({ operation, name, options }) => {
    const entries = Object.entries(options).map(([option, value]) =>
      typeof value === 'string' ? `${option}: ${quoted(value)}` : `${option}: ${shown(value)}`,
    )
    const method = operation === 'id.create' ? opening : `${object}.${operation.slice(3)}`
    return `${method}(${[quoted(name), `{ ${entries.join(', ')} }`].join(', ')})`
  }
}

/** The words of fahao-client, which renders no errors of a node itself. */
export const sayClientCall = calls('client.generator')

/** How fahao-client names itself to nodes: in the name of its library, or in the header Accept. */
export const clientMark = 'fahao-client'

function quoted(text: string): string {
  return /['\\]/.test(text) ? JSON.stringify(text) : `'${text}'`
}
