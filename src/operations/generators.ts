/** Generators themselves: drop. What Redis and HTTP ask in ways of their own, create, alter, show and list, they do by themselves. */
import { FahaoError } from '../base/errors.ts'
import { key } from './argument.ts'
import { operation } from './operation.ts'

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
