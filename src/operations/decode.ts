/** `GET /v1/decode`: the parts of an id. */
import { z } from 'zod'
import { demandPermission } from '../auth/access.ts'
import { FahaoError } from '../base/errors.ts'
import { layoutOf } from '../catalogue/definition.ts'
import { periodsOf } from '../catalogue/periods.ts'
import { geneIn } from '../ids/gene.ts'
import { describeId, describePeriodId, describeText } from '../ids/inspect.ts'
import { parseLayout } from '../ids/layout-text.ts'
import { existing } from './drawing.ts'
import { httpOperation } from './operation.ts'
import { periodIdShape } from './shapes.ts'

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
    gene: z.string().optional().meta({ description: 'the lowest bits, where the caller gives them' }),
    fields: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'the fixed fields of the layout that have a name' }),
    ...periodIdShape,
  })
  .meta({ id: 'DecodedId' })

/** `GET /v1/decode` */
export const decodeOperation = httpOperation({
  name: 'id.decode',
  summary: 'Decodes an id.',
  notes: 'Give `layout` for an id of any origin, or `generator` for one that this server has formatted.',
  query,
  http: {
    id: 'decode',
    method: 'GET',
    path: '/v1/decode',
    tag: 'ids',
    answer: ['Its parts.', answer],
    errors: ['ERR', 'NOGENERATOR', 'UNAVAILABLE'],
    example: {
      query: 'id=1888944671579078978&layout=twitter',
      answer: {
        id: '1888944671579078978',
        layout: 'twitter',
        date: '2025-02-10T13:34:39.256Z',
        unixMs: '1739194479256',
        time: '450359504599',
        node: '360',
        sequence: '322',
      },
    },
  },
  async run({ caller, catalogue }, { id: text, layout, generator: name }) {
    if (name === undefined) return describeText(parseLayout(layout ?? 'twitter'), text)
    demandPermission(caller.access, 'id.decode', name)
    if (layout !== undefined) throw new FahaoError('ERR', 'give either layout or generator')
    const generator = await existing(catalogue, name)
    const { kind, definition } = generator
    const id = generator.parse(text)
    const { gene } = definition
    const periods = periodsOf(definition)
    const inPeriod = periods && describePeriodId(periods, id)
    if (inPeriod !== undefined) return { kind, ...inPeriod }
    if (definition.layout === undefined)
      return { id: String(id), kind, ...(gene !== undefined && { gene: String(geneIn(id, gene)) }) }
    return { kind, ...describeId(layoutOf(definition), id) }
  },
})
