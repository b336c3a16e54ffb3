/** `GET /v1/decode`: the parts of an id. */
import { z } from 'zod'
import { FahaoError } from '../../base/errors.ts'
import { layoutOf } from '../../catalogue/definition.ts'
import { existing } from '../../commands/drawing.ts'
import { describeId } from '../../ids/inspect.ts'
import { parseLayout } from '../../ids/layout-text.ts'
import type { FahaoNode } from '../../node/node.ts'
import { demandPermission } from '../caller.ts'
import { jsonAnswer, type Operation, readQuery } from '../operation.ts'

const query = z.strictObject({
  id: z.string().max(400).meta({ description: 'the id: a whole number, or as the generator formats it' }),
  layout: z.string().max(400).optional().meta({
    description: 'a preset’s name or a layout’s text (default twitter)',
  }),
  generator: z.string().optional().meta({ description: 'whose id it is, instead of `layout`' }),
})

const answer = z
  .object({
    id: z.string().meta({ description: 'the raw id, without format' }),
    kind: z.string().optional().meta({ description: 'where a generator was named' }),
    layout: z.string().optional().meta({ description: 'its name, or its text; absent for counters' }),
    date: z.string().optional().meta({ description: 'when its unit of time began, ISO 8601' }),
    unixMs: z.string().optional(),
    time: z.string().optional().meta({ description: 'units of the layout since its epoch' }),
    node: z.string().optional(),
    sequence: z.string().optional(),
  })
  .meta({ id: 'DecodedId' })

/** `GET /v1/decode` */
export function decodeOperation({ catalogue }: FahaoNode): Operation {
  async function decodeWith(name: string, text: string): Promise<z.output<typeof answer>> {
    const generator = await existing(catalogue, name)
    const { kind, definition } = generator
    const id = generator.parse(text)
    if (definition.layout === undefined) return { id: String(id), kind }
    return { kind, ...describeId(layoutOf(definition), id) }
  }

  return {
    id: 'decode',
    method: 'GET',
    path: '/v1/decode',
    tag: 'ids',
    command: 'id.decode',
    summary: 'Decodes an id.',
    notes: 'Give `layout` for an id of any origin, or `generator` for one that this server has formatted.',
    query,
    answers: { 200: jsonAnswer('Its parts.', answer) },
    errors: ['ERR', 'NOGENERATOR', 'UNAVAILABLE'],
    example: { query: 'id=1888944671579078978&layout=twitter' },
    async handler(request) {
      const { id, layout, generator } = readQuery(query, request)
      if (generator === undefined) return describeId(parseLayout(layout ?? 'twitter'), wholeId(id))
      demandPermission(request.access, 'id.decode', generator)
      if (layout === undefined) return decodeWith(generator, id)
      throw new FahaoError('ERR', 'give either layout or generator')
    },
  }
}

function wholeId(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text)
  throw new FahaoError(
    'ERR',
    `'${text.slice(0, 40)}' is no whole number of at most 19 digits; name its generator to read a format`,
  )
}
