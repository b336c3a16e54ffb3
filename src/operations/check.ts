/** `ID.CHECK`, and `POST /v1/generators/{name}/check`: whether texts can have been issued, and what mistyped ones may have been. */
import { z } from 'zod'
import { addressOf } from '../base/address.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { IssuedBelow } from '../catalogue/issued-below.ts'
import { nearTexts } from '../ids/near-texts.ts'
import type { OperationContext } from './context.ts'
import { httpOperation } from './operation.ts'

/** The most texts of one request. */
const textsMax = 100
/** Longer texts are no ids, and what they may have been is not looked for. */
const textMax = 256
/** How many texts are tried for those of one request that were mistyped, and how many are named for each. */
const triesMax = 1000
const namedMax = 5
/** How many of those tried are looked up for one text: each is a guess, as if the caller had asked for it. */
const guessesMax = 20
/** The time of a request, as the bytes of a reply that take as long. */
const work = 200_000

const verdicts = ['malformed', 'never-issued', 'may-have-been-issued'] as const

const checked = z
  .object({
    text: z.string(),
    verdict: z.enum(verdicts),
    id: z
      .string()
      .nullable()
      .meta({ description: 'the raw id that the text is read as; null: it is malformed' }),
    why: z.string().nullable().meta({ description: 'why it was never issued, or is malformed' }),
    mayBe: z.array(z.string()).meta({
      description:
        'texts as they are issued: what one that was typed otherwise means, and what one that was not issued may have been, one error of a person away',
    }),
  })
  .meta({ id: 'CheckedText' })

/** What is said of one text. */
export type CheckedText = z.output<typeof checked>

const body = z.strictObject({
  texts: z
    .array(z.string().max(textMax))
    .min(1, 'must have a text at least')
    .max(textsMax, `must have ${textsMax} texts at most`)
    .meta({ description: 'as people have typed them' }),
})

/** See above. */
export const checkOperation = httpOperation({
  name: 'id.check',
  summary: 'Tells whether texts can have been issued, and what mistyped ones may have been.',
  notes: `\`never-issued\` is certain, whichever node or caller issues: the id is at or above all that is reserved durably, or none that the generator makes. \`may-have-been-issued\` says no more than that. \`malformed\`: it is no text of the format as it is now. One request checks up to ${textsMax} texts, tries up to ${triesMax} others for those that were not issued, looks up to ${guessesMax} well-formed ones up for each, and names up to ${namedMax}. A user that may ask can try texts: so the permission \`id.check\` is in the category \`@check\` alone, and \`QUOTA\` is the answer where fewer than the texts of a request are left of 100 for a user, and of 1,000 for an address. Each text that was not issued takes one, also one that was looked up for another; a user gets one back each second, and an address ten.`,
  http: {
    id: 'check',
    method: 'POST',
    path: '/v1/generators/{name}/check',
    tag: 'ids',
    body,
    answer: [
      'What is said of each text.',
      z.object({ checked: z.array(checked) }).meta({ id: 'CheckedTexts' }),
    ],
    errors: ['ERR', 'NOGENERATOR', 'LIMIT', 'UNAVAILABLE'],
    example: {
      name: 'order',
      body: { texts: ['9000000000000000000'] },
      answer: {
        checked: [
          {
            text: '9000000000000000000',
            verdict: 'never-issued',
            id: '9000000000000000000',
            why: 'no id at or above it has been issued or reserved',
            mayBe: [],
          },
        ],
      },
    },
  },
  run: (context: OperationContext, { name, texts }) => check(context, name, texts),
})

/** See `checkOperation`. */
export async function check(
  { caller, catalogue, server }: OperationContext,
  name: string,
  texts: readonly string[],
): Promise<{ readonly checked: CheckedText[] }> {
  if (texts.length > textsMax || texts.some((text) => text.length > textMax))
    throw new FahaoError(
      'LIMIT',
      `a request checks ${textsMax} texts of ${textMax} characters at most; ask again for more`,
    )
  const { checks } = server.access
  const [user, { host }] = [caller.access.user, addressOf(caller.address)]
  checks.take(user, host, texts.length)
  let issued: IssuedBelow
  try {
    await server.turns.take(work)
    issued = await catalogue.issuedBelow(name)
  } catch (error) {
    checks.giveBack(user, host, texts.length)
    throw error
  }
  // Nothing else runs from here on: what is left of the limits is left to the last text.
  const checked = texts.map((text) => verdictOf(issued, text))
  checks.giveBack(user, host, checked.filter(isIssued).length)
  const left = checks.left(user, host)
  const tries = { left: triesMax, guesses: left }
  const answered = checked.map((each) =>
    isIssued(each) ? each : { ...each, mayBe: nearby(issued, each, tries) },
  )
  if (tries.guesses < left) checks.take(user, host, left - tries.guesses)
  return { checked: answered }
}

const isIssued = ({ verdict }: CheckedText): boolean => verdict === 'may-have-been-issued'

function verdictOf(issued: IssuedBelow, text: string): CheckedText {
  const read = idIn(issued, text)
  const id = typeof read === 'bigint' ? read : undefined
  const why = typeof read === 'bigint' ? issued.never(read) : read
  if (id !== undefined && why === undefined) {
    const own = asIssued(issued, id, text)
    const mayBe = own === text ? [] : [own]
    return { text, verdict: 'may-have-been-issued', id: String(id), why: null, mayBe }
  }
  return {
    text,
    verdict: id === undefined ? 'malformed' : 'never-issued',
    id: id === undefined ? null : String(id),
    why: why ?? null,
    mayBe: [],
  }
}

/** The text of an id as it is issued; as it was typed where it has a date or a node, which an id does not tell. */
function asIssued({ format }: IssuedBelow, id: bigint, typed: string): string {
  if (format === undefined) return String(id)
  return format.needsNode || format.needsTime ? typed : format.format(id)
}

/** The id of a text, or why it is none. */
function idIn({ format }: IssuedBelow, text: string): bigint | string {
  try {
    if (format !== undefined) return format.parse(text)
  } catch (error) {
    if (hasCode(error, 'ERR')) return error.message
    throw error
  }
  return /^(?:0|[1-9]\d{0,18})$/.test(text) && BigInt(text) < 2n ** 63n
    ? BigInt(text)
    : 'it is no whole number below 2^63'
}

/** Texts that may have been issued, each of another id. */
function nearby(
  issued: IssuedBelow,
  { text, id }: CheckedText,
  tries: { left: number; guesses: number },
): string[] {
  const found: string[] = []
  const seen = new Set(id === null ? [] : [BigInt(id)])
  let guesses = Math.min(guessesMax, tries.guesses)
  for (const near of nearTexts(text, issued.signs, issued.lengths)) {
    if (guesses === 0 || tries.left-- <= 0 || found.length === namedMax) break
    const other = idIn(issued, near)
    if (typeof other === 'string' || seen.has(other)) continue
    seen.add(other)
    if (issued.never(other) === undefined) found.push(asIssued(issued, other, near))
    else {
      guesses--
      tries.guesses--
    }
  }
  return found
}
