/**
 * What can be asked: one declarative record for each operation, beside its use case. `commands/` makes a Redis command of it,
 * `http/` a route; the reference pages, COMMAND DOCS, the OpenAPI document, the table of permissions and the audit trail come
 * from these.
 */
import type { z } from 'zod'
import type { ChangeEvent } from '../audit/audit-entry.ts'
import type { ErrorCode, FahaoError } from '../base/errors.ts'
import type { Argument, Arguments, ValuesOf } from './argument.ts'
import type { OperationContext } from './context.ts'

/** How HTTP serves an operation. */
export type HttpForm = {
  /** OpenAPI's operationId. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The parameters of the path, `{name}`, are the arguments without a token. */
  readonly path: string
  readonly tag: 'ids' | 'generators' | 'workers' | 'namespaces' | 'users' | 'cluster' | 'engine' | 'server'
  /** The body, whose members are the arguments with a token; absent: they stand in the query. */
  readonly body?: z.ZodType
  /** The answer in JSON: what it is, and its shape. Without a shape the answer has no body. */
  readonly answer: readonly [description: string, shape?: z.ZodType]
  /** The status of the answer. Default: 200, or 204 without a body. */
  readonly status?: 201
  /** What status 404 says where the answer is false or undefined, from the first argument; or the error instead. */
  readonly none?: (name: string) => string | FahaoError
  readonly errors: readonly ErrorCode[]
  readonly example: Example
}

/** An example of a request, and of its answer in JSON. */
export type Example = {
  /** The first parameter of the path. */
  readonly name?: string
  /** The second one. */
  readonly lease?: string
  readonly query?: string
  readonly body?: unknown
  readonly answer?: unknown
}

/** One operation. */
export type Operation<Args extends Arguments = Arguments, Answer = unknown> = {
  /** As rules of users name it: `id.lease`, or `id.worker|claim`. */
  readonly name: string
  /** The permission that a user needs. */
  readonly permission: 'issue' | 'read' | 'manage' | 'admin'
  readonly effect: 'write' | 'readonly'
  /** Every node answers it, whatever generator it names and whichever node leads that. Only for what draws no id. */
  readonly anyNode?: true
  /** The permissions with names that no command of Redis has, and the categories of each. */
  readonly permissions?: Readonly<Record<string, readonly string[]>>
  /** What the audit trail records of a request that has succeeded, for its first argument. */
  readonly change?: ChangeEvent
  /** One sentence. */
  readonly summary: string
  readonly args: Args
  /** The form of Redis's reply, for the reference page. */
  readonly reply: string
  /** Details. `{count}` is the argument of this name, and `{nil}` nothing, as each transport writes them: see `notesOf`. */
  readonly notes?: string
  /** Redis's error for a token that is none of its arguments. Default: a syntax error. */
  readonly unknown?: string
  readonly http: HttpForm
  /** Carries it out, for a caller that may. Throws or rejects with the FahaoError that the caller receives. */
  run(context: OperationContext, values: ValuesOf<Args>): Answer | Promise<Answer>
  /** The part of the answer that Redis's reply is. Default: all of it. */
  readonly replied?: 'OK' | Part<Answer>
}

/**
 * An operation on one generator, as callers inside the process and nodes ask for it. The grammars of Redis and HTTP for it are
 * their own.
 */
export type GeneratorOperation<Values extends { readonly name: string }, Answer> = Pick<
  Operation,
  'name' | 'permission' | 'change'
> & {
  run(context: OperationContext, values: Values): Answer | Promise<Answer>
}

/** Declared as a method, so that a list can hold operations of different answers. */
type Part<Answer> = { of(answer: Answer): unknown }['of']

/** An operation that only HTTP serves. Its values are the parameters of the path, and the members of the query or of the body. */
export type HttpOperation<
  Path extends string = string,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodType,
  Answer = unknown,
> = Pick<Operation, 'name' | 'permissions' | 'summary' | 'notes' | 'change'> & {
  readonly query?: Query
  readonly http: HttpForm & { readonly path: Path; readonly body?: Body }
  /** What the operation has changed, for the audit trail. Default: the last parameter of the path. */
  changed?(values: Given<Path, Query, Body>, answer: Answer): string
  run(context: OperationContext, values: Given<Path, Query, Body>): Answer | Promise<Answer>
}

type Given<Path, Query extends z.ZodObject, Body extends z.ZodType> = InPath<Path> &
  z.output<Query> &
  z.input<Body>

type InPath<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Parameter in Name]: string } & InPath<Rest>
  : unknown

/** The record; this call finds out the types of the values and of the answer. */
export function httpOperation<
  const Path extends string,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodType,
  Answer = unknown,
>(record: HttpOperation<Path, Query, Body, Answer>): HttpOperation {
  return record as HttpOperation
}

/** As `httpOperation`, of an operation that Redis has too. */
export function operation<Args extends Arguments, Answer>(
  record: Operation<Args, Answer>,
): Operation<Args, Answer> {
  return record
}

/** As `operation`, of one on a generator. */
export function generatorOperation<Values extends { readonly name: string }, Answer>(
  record: GeneratorOperation<Values, Answer>,
): GeneratorOperation<Values, Answer> {
  return record
}

/** The notes as a transport writes the names of arguments, and nothing. */
export function notesOf(
  { notes, args }: Pick<Operation, 'notes' | 'args'>,
  spell: (name: string, argument: Argument) => string,
  nil: string,
): string | undefined {
  return notes?.replaceAll(/\{(\w+)\}/g, (whole, name) => {
    const argument = args[name]
    return argument === undefined ? (name === 'nil' ? nil : whole) : spell(name, argument)
  })
}
