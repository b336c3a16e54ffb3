/** Generators themselves: create, alter, drop. */
import { FahaoError } from '../base/errors.ts'
import type { GeneratorChanges } from '../catalogue/catalogue.ts'
import type { GeneratorInput } from '../catalogue/generator-options.ts'
import { key } from './argument.ts'
import type { OperationContext } from './context.ts'
import { generatorOperation, operation } from './operation.ts'

/** The errors of what reads a generator. */
export const readErrors = ['ERR', 'NOGENERATOR', 'UNAVAILABLE', 'SHUTDOWN'] as const
/** The errors of what changes one. */
export const writeErrors = [...readErrors, 'CONFLICT', 'UNKNOWN', 'NOTOWNER'] as const

/** ID.DROP, and `DELETE /v1/generators/{name}`. */
export const dropOperation = operation({
  name: 'id.drop',
  permission: 'manage',
  effect: 'write',
  change: 'drop',
  summary: 'Drops a generator.',
  args: { name: key('name') },
  reply: '1, or 0 where there was none.',
  notes: 'The bound of the name is kept: created again, it continues above every id it has issued.',
  http: {
    id: 'dropGenerator',
    method: 'DELETE',
    path: '/v1/generators/{name}',
    tag: 'generators',
    answer: ['It is gone.'],
    errors: writeErrors,
    none: (name) =>
      new FahaoError('NOGENERATOR', `no generator '${name}'; GET /v1/generators lists what there is`),
    example: { name: 'order' },
  },
  run: ({ catalogue }, { name }) => catalogue.drop(name),
})

/** Options without objects: each has one text. */
export type Plain<Options> = { readonly [Name in keyof Options]: Exclude<Options[Name], object> }

/** ID.CREATE. */
export const createOperation = generatorOperation({
  name: 'id.create',
  permission: 'manage',
  change: 'create',
  run: (
    { catalogue }: OperationContext,
    { name, options }: { readonly name: string; readonly options: Plain<GeneratorInput> },
  ): Promise<unknown> => catalogue.createUnopened(name, options),
})

/** ID.ALTER. */
export const alterOperation = generatorOperation({
  name: 'id.alter',
  permission: 'manage',
  change: 'alter',
  run: (
    { catalogue }: OperationContext,
    { name, changes }: { readonly name: string; readonly changes: Plain<GeneratorChanges> },
  ): Promise<unknown> => catalogue.alter(name, changes),
})
