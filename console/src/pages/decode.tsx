/** Ids taken apart, moments as ids, and a sample. */
import { useState } from 'preact/hooks'
import { type DecodedId, decode, encode } from '../../../src/ids/id-parts.ts'
import { type Layout, ones } from '../../../src/ids/layout.ts'
import { layouts } from '../../../src/ids/presets.ts'
import type { Decoded, Generator, GeneratorPage } from '../answers.ts'
import { ask, generatorPath, Problem, withQuery } from '../api.ts'
import { useLoaded } from '../asking.ts'
import { Bits, layoutOf } from '../bits.tsx'
import { momentText } from '../formats.ts'
import { DrawSample } from '../forms/generator-forms.tsx'
import { go, linkTo, type Route } from '../route.ts'
import { t } from '../texts.ts'
import { Card, CopyLine, Facts, Input, PageHead, Select, Shown, Table } from '../ui.tsx'

/** As many generators are looked through for who may have written an id. */
const generatorsMax = 1000
/** As many texts are tried with the node. */
const triedMax = 20
const dayMs = 86_400_000

/** The page. */
export function DecodePage({ route: { query } }: { route: Route }) {
  const [id, setId] = useState(query.get('id') ?? '')
  const [generator, setGenerator] = useState(query.get('generator') ?? '')
  const [sample, setSample] = useState('')
  const decode = (event: Event) => {
    event.preventDefault()
    go(linkTo('decode', [], { id: id.trim(), generator: generator.trim() }))
  }
  const asked = query.get('id')
  return (
    <>
      <PageHead title={t.nav.decode} lead={t.decodeLead} />
      <Card title={t.decodeTitle}>
        <form class="search" onSubmit={decode}>
          <Input label={t.idOrText} value={id} onValue={setId} required />
          <Input label={t.generatorIfKnown} value={generator} onValue={setGenerator} />
          <button type="submit" class="primary">
            {t.decode}
          </button>
        </form>
        {asked !== undefined && (
          <Answer key={`${asked} ${query.get('generator')}`} id={asked} generator={query.get('generator')} />
        )}
      </Card>
      <Encode />
      <Card title={t.draw} note={t.drawNote}>
        <div class="search">
          <Input label={t.generator} value={sample} onValue={setSample} />
          {sample !== '' && <DrawSample name={sample} />}
        </div>
      </Card>
    </>
  )
}

/** A way in which an id can be read. */
type Reading = {
  readonly by: string
  readonly decoded: Decoded
  readonly layout: Layout | undefined
  readonly link?: string
}

function Answer({ id, generator }: { id: string; generator: string | undefined }) {
  const asked = useLoaded('answer', (signal) => readings(id, generator, signal))
  return (
    <Shown asked={asked}>
      {(found) =>
        found.length === 0 ? (
          <p>{/^\d+$/.test(id) ? t.onlyCounters : t.noReading}</p>
        ) : (
          <>
            {found.length > 1 && <p class="soft">{t.severalReadings(found.length)}</p>}
            {found.map((each) => (
              <OneReading key={each.by} reading={each} />
            ))}
          </>
        )
      }
    </Shown>
  )
}

function OneReading({ reading: { by, decoded, layout, link } }: { reading: Reading }) {
  const { id, date, node, sequence, kind, label, ends, number } = decoded
  return (
    <section class="reading">
      <h3>{link === undefined ? by : <a href={link}>{by}</a>}</h3>
      <Facts
        facts={[
          [t.rawId, <code>{id}</code>],
          ...(kind === undefined ? [] : [[t.kind, kind] as const]),
          ...(label === undefined ? [] : [[t.period, t.periodUntil(label, momentText(ends!))] as const]),
          ...(number === undefined ? [] : [[t.numberInPeriod, number] as const]),
          ...(date === undefined ? [] : [[t.time, `${momentText(date)} (${date})`] as const]),
          ...(node === undefined ? [] : [[t.workerId, node] as const]),
          ...(sequence === undefined ? [] : [[t.sequenceField, sequence] as const]),
        ]}
      />
      {layout !== undefined && <Bits layout={layout} id={BigInt(id)} of={by} />}
    </section>
  )
}

async function readings(id: string, generator: string | undefined, signal: AbortSignal): Promise<Reading[]> {
  if (generator !== undefined && generator !== '') return [await readBy(id, generator, signal)]
  const path = withQuery('/v1/generators', { limit: generatorsMax })
  const { generators } = await ask<GeneratorPage>({ method: 'GET', path }, signal)
  if (/^\d{1,19}$/.test(id)) {
    const own = generators.flatMap(({ name, definition }) => {
      const layout = layoutOf(definition.layout)
      return layout === undefined ? [] : [{ by: name, layout, link: linkTo('generators', [name]) }]
    })
    const presets = Object.entries(layouts).map(([by, layout]) => ({ by: `${t.layout} ${by}`, layout }))
    const layoutNames = own.length > 0 ? own : presets
    return layoutNames.flatMap((each) => {
      const decoded = readLocally(id, each.layout)
      return decoded === undefined ? [] : [{ ...each, decoded }]
    })
  }
  const beginsAs = (format: unknown) => {
    const literal = /^[^{]*/.exec(String(format))![0]
    return format !== undefined && id.startsWith(literal)
  }
  const tried = generators.filter(({ definition }) => beginsAs(definition.format)).slice(0, triedMax)
  const found = await Promise.all(
    tried.map(({ name }) =>
      readBy(id, name, signal).catch((error: unknown) => {
        if (error instanceof Problem && error.status === 400) return undefined
        throw error
      }),
    ),
  )
  return found.filter((each) => each !== undefined)
}

/** As the node reads an id of a generator. */
async function readBy(id: string, name: string, signal: AbortSignal): Promise<Reading> {
  const path = withQuery('/v1/decode', { id, generator: name })
  const decoded = await ask<Decoded>({ method: 'GET', path }, signal)
  const { definition } = await ask<Generator>({ method: 'GET', path: generatorPath(name) }, signal)
  return { by: name, decoded, layout: layoutOf(definition.layout), link: linkTo('generators', [name]) }
}

/** A number by a layout; undefined where the layout cannot have made it, or its time would be in the future. */
function readLocally(text: string, layout: Layout): Decoded | undefined {
  const read = decodedBy(layout, BigInt(text))
  if (read === undefined || read.time === 0n) return undefined
  const unixMs = read.unixUs / 1000n
  if (unixMs > BigInt(Date.now() + dayMs)) return undefined
  return {
    id: text,
    date: new Date(Number(unixMs)).toISOString(),
    ...(layout.nodeBits > 0 ? { node: String(read.node) } : {}),
    ...(layout.sequenceBits > 0 ? { sequence: String(read.sequence) } : {}),
  }
}

function decodedBy(layout: Layout, id: bigint): DecodedId | undefined {
  try {
    return decode(layout, id)
  } catch {
    return undefined
  }
}

/** The first and the last id that a layout has for a moment. */
function Encode() {
  const [moment, setMoment] = useState('')
  const [layoutText, setLayoutText] = useState('twitter')
  const [custom, setCustom] = useState('')
  const layout = layoutOf(layoutText === '' ? custom : layoutText)
  const range = layout === undefined || moment === '' ? undefined : idsAt(layout, new Date(moment).getTime())
  return (
    <Card title={t.encodeTitle} note={t.encodeNote}>
      <div class="search">
        <Input label={t.moment} type="datetime-local" value={moment} onValue={setMoment} hint={t.localTime} />
        <Select
          label={t.layout}
          value={layoutText}
          onValue={setLayoutText}
          options={[...Object.keys(layouts).map((each) => [each, each] as const), ['', t.otherLayout]]}
        />
        {layoutText === '' && (
          <Input
            label={t.layoutTextLabel}
            value={custom}
            onValue={setCustom}
            placeholder="time:41,node:10,sequence:12;…"
          />
        )}
      </div>
      {layout === undefined && <p class="problem">{t.noLayout}</p>}
      {moment !== '' && layout !== undefined && range === undefined && (
        <p class="problem">{layout.scatterBits > 0 ? t.scatteredLayout : t.outsideLayout}</p>
      )}
      {range !== undefined && (
        <>
          <Table
            caption={t.encodeTitle}
            rows={[range]}
            keyOf={({ first }) => first}
            columns={[
              { head: t.firstId, cell: ({ first }) => <code>{first}</code> },
              { head: t.lastId, cell: ({ last }) => <code>{last}</code> },
            ]}
          />
          <CopyLine label={t.sqlSince} text={`WHERE id >= ${range.first}`} />
        </>
      )}
    </Card>
  )
}

function idsAt(
  layout: Layout,
  unixMs: number,
): { readonly first: string; readonly last: string } | undefined {
  const time = (BigInt(Math.round(unixMs)) * 1000n - BigInt(layout.epochUs)) / BigInt(layout.unitUs)
  if (layout.scatterBits > 0 || Number.isNaN(unixMs) || time < 0n || time > ones(layout.timeBits))
    return undefined
  const first = encode(layout, { time })
  const free =
    ones(layout.geneBits) |
    (ones(layout.nodeBits) << BigInt(layout.nodeShift)) |
    (ones(layout.sequenceBits) << BigInt(layout.sequenceShift))
  return { first: String(first), last: String(first | free) }
}
