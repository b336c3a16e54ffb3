/** The first id: drawn here, and the same as two lines to copy. It creates a generator only by a button that says so. */
import { useState } from 'preact/hooks'
import type { GeneratorPage } from '../answers.ts'
import { ask, generatorPath, type Problem, send, withQuery } from '../api.ts'
import { useLoaded } from '../asking.ts'
import { shellWord } from '../formats.ts'
import { curlOf } from '../forms/action.tsx'
import { linkTo } from '../route.ts'
import { t } from '../texts.ts'
import { Card, CopyLine, PageHead, ProblemNote, Shown } from '../ui.tsx'

/** The generator that is created where there is none, and the one in the lines of the node. */
const sample = 'order'

/** The page. */
export function StartPage() {
  const asked = useLoaded('start', chosenGenerator)
  return (
    <>
      <PageHead title={t.nav.start} lead={t.startLead} />
      <Shown asked={asked}>
        {({ name }) => <FirstId name={name ?? sample} exists={name !== undefined} />}
      </Shown>
      <Card title={t.startFurther}>
        <ul>
          <li>
            <a href={linkTo('')}>{t.nav['']}</a> — {t.startOverview}
          </li>
          <li>
            <a href="/docs">{t.apiReference}</a> — {t.startDocs}
          </li>
        </ul>
      </Card>
    </>
  )
}

/** A sequence, because its ids are the easiest to recognise; else any. A user that may not list them has none. */
async function chosenGenerator(signal: AbortSignal): Promise<{ readonly name: string | undefined }> {
  const path = withQuery('/v1/generators', { limit: 100 })
  const { generators } = await ask<GeneratorPage>({ method: 'GET', path }, signal)
  return { name: (generators.find(({ kind }) => kind === 'sequence') ?? generators[0])?.name }
}

function FirstId({ name, exists }: { name: string; exists: boolean }) {
  const [id, setId] = useState<string>()
  const [problem, setProblem] = useState<Problem>()
  const [busy, setBusy] = useState(false)
  const [created, setCreated] = useState(exists)
  const path = generatorPath(name)
  const draw = { method: 'POST', path: `${path}/next` } as const
  const lines = useLoaded('lines', async (signal) =>
    (await send({ method: 'GET', path: '/' }, signal)).text(),
  )
  const redis = lines.answer?.split('\n').find((line) => line.startsWith('redis-cli'))
  const run = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      if (!created) await ask({ method: 'PUT', path, body: { kind: 'sequence' } })
      setCreated(true)
      setId((await ask<{ ids: string[] }>(draw)).ids[0])
    } catch (refused) {
      setProblem(refused as Problem)
    }
    setBusy(false)
  }
  return (
    <Card title={t.firstIdTitle} note={created ? t.drawNote : t.startNone}>
      <div class="actions">
        <button type="button" class="primary" onClick={run} disabled={busy}>
          {created ? t.drawOne(name) : t.createAndDraw(name)}
        </button>
        {created && <a href={linkTo('generators', [name])}>{name}</a>}
      </div>
      <output class="first-id" aria-live="polite">
        {id}
      </output>
      <ProblemNote problem={problem} />
      {redis !== undefined && (
        <CopyLine label={t.withRedis} text={redis.replace(/ order$/, () => ` ${shellWord(name)}`)} />
      )}
      <CopyLine label={t.asCurl} text={curlOf(draw)} />
    </Card>
  )
}
