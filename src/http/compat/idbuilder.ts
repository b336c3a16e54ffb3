/**
 * IdBuilder's HTTP API: the routes `/id-builder/…` issue an id as a number or a string. The parameter `code` is the name of
 * a rule in IdBuilder, and of a generator here.
 */
import type { FastifyRequest } from 'fastify'
import { describe, FahaoError, hasCode } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import { isInOrder } from '../../catalogue/definition.ts'
import { findFor, type IssuingNode, openFor } from '../issuing-node.ts'
import { type CompatApi, type CompatRoute, issueOne, parameterOf } from './api.ts'
import { contentTypes, intOf, missingParameter, noNumber, SpringFailure } from './spring.ts'

/** The ids of one path. */
type IdForm = {
  readonly path: string
  /** Whether ids are in order. */
  readonly ordered: boolean
  /** Whether ids have their format, instead of the bare number. */
  readonly text: boolean
}

const forms: readonly IdForm[] = [
  { path: 'increase-id', ordered: false, text: false },
  { path: 'increase-id-str', ordered: false, text: true },
  { path: 'increase-seq-id', ordered: true, text: false },
  { path: 'increase-seq-id-str', ordered: true, text: true },
]

/** Everything under IdBuilder's paths. */
export function idBuilderApi(node: IssuingNode): CompatApi {
  return { routes: forms.map((form) => route(node, form)) }
}

function route(node: IssuingNode, form: IdForm): CompatRoute {
  return {
    methods: ['GET'],
    path: `/id-builder/${form.path}`,
    issues: true,
    access: { command: 'id.next', name: codeOf },
    failure: builderFailure,
    handler(request, reply) {
      const code = codeOf(request)
      if (code === undefined || code === '') throw missingParameter('int', 'code')
      return issueOne(reply, {
        known: findFor(node, request, code),
        open: () => openFor(node, request, code).catch((error) => Promise.reject(asInt(code, error))),
        check(generator) {
          refuseOtherOrder(generator, form)
          if (form.text) refuseBareNumbers(generator)
        },
        show: (generator, run) => (form.text ? generator.text(run.first) : run.toString()),
        contentType: form.text ? contentTypes.text : contentTypes.json,
      })
    },
  }
}

/** The name of the rule. Spring reads an int: `007` and `+7` are 7. A name that is no number is another generator's here. */
function codeOf(request: FastifyRequest): string | undefined {
  const given = parameterOf(request, 'code')
  const code = given === undefined ? undefined : intOf(given)
  return code === undefined ? given : String(code)
}

/** `error`, or Spring's refusal of a `code` that is no number, if no generator has that name. */
function asInt(code: string, error: unknown): unknown {
  const isUnknown = hasCode(error, 'NOGENERATOR') || hasCode(error, 'ERR')
  return isUnknown && intOf(code) === undefined ? noNumber('int', code, error) : error
}

function refuseOtherOrder({ name, definition }: Generator, { ordered, text }: IdForm): void {
  const keepsOrder = isInOrder(definition)
  if (keepsOrder === ordered) return
  const other = `increase-${keepsOrder ? 'seq-' : ''}id${text ? '-str' : ''}`
  const which = keepsOrder ? 'in order' : 'in no order'
  throw new FahaoError('WRONGTYPE', `the ids of '${name}' come ${which}; get them from /id-builder/${other}`)
}

/** IdBuilder never answered the number alone as a text: it could be one that it has written of another id. */
function refuseBareNumbers({ name, definition }: Generator): void {
  if (definition.format !== undefined) return
  throw new FahaoError(
    'WRONGTYPE',
    `'${name}' has no format for its texts; IdBuilder's were biz_code, node index and id: ID.ALTER ${name} FORMAT biz_code{node}{id}`,
  )
}

/** An unknown code, or one of the other kind, caused a null pointer in IdBuilder. */
function builderFailure(error: unknown): SpringFailure | undefined {
  if (!(error instanceof FahaoError)) return undefined
  const wrongCode = error.code === 'NOGENERATOR' || error.code === 'WRONGTYPE' || error.code === 'ERR'
  const exception = wrongCode ? 'java.lang.NullPointerException' : 'java.lang.IllegalStateException'
  return new SpringFailure(500, exception, describe(error), error)
}
