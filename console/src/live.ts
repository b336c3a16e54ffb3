/**
 * The live stream of the page, `GET /v1/live`, read by fetch with an Authorization header. It tells of all nodes of a cluster.
 *
 * Invariants
 *  1. At most one stream is open: for the names that the components shown ask for.
 *  2. None is open while the page is hidden, or after the last component that reads it.
 *  3. A stream that has ended is opened again, with growing pauses, unless the node has none.
 */
import { useEffect, useState } from 'preact/hooks'
import { Problem, send, withQuery } from './api.ts'
import { LiveFigures } from './live-figures.ts'
import { onAuthorization } from './session.ts'

const pauseMinMs = 1000
const pauseMaxMs = 15_000

/** What a component sees. */
export type Live = {
  readonly figures: LiveFigures | undefined
  /** Why there is no stream at present. */
  readonly problem: Problem | undefined
}

const readers = new Map<object, { readonly names: readonly string[]; readonly changed: () => void }>()
let live: Live = { figures: undefined, problem: undefined }
let stream: { readonly asked: string; readonly ended: AbortController } | undefined

/** The stream, for a component that shows it; the figures of `names` are part of it. */
export function useLive(names: readonly string[] = []): Live {
  const [, setTurn] = useState(0)
  const key = names.join('\n')
  useEffect(() => {
    const reader = {}
    readers.set(reader, {
      names: key === '' ? [] : key.split('\n'),
      changed: () => setTurn((last) => last + 1),
    })
    settle()
    return () => {
      readers.delete(reader)
      // The next page may ask for the same.
      setTimeout(settle)
    }
  }, [key])
  return live
}

document.addEventListener('visibilitychange', settle)
onAuthorization(() => {
  show({ figures: undefined, problem: undefined })
  close()
  settle()
})

function show(next: Live): void {
  live = next
  for (const { changed } of readers.values()) changed()
}

function close(): void {
  stream?.ended.abort()
  stream = undefined
}

/** Opens, closes or changes the stream, as what is shown needs it. */
function settle(): void {
  if (readers.size === 0 || document.hidden) return close()
  const names = [...new Set([...readers.values()].flatMap((each) => each.names))].sort()
  // A name with a comma cannot be asked for: its own page shows what the API tells.
  const asked = names.filter((name) => !name.includes(',')).join(',')
  if (stream?.asked === asked) return
  close()
  stream = { asked, ended: new AbortController() }
  void keepOpen(asked, stream.ended.signal)
}

async function keepOpen(asked: string, ended: AbortSignal): Promise<void> {
  let pauseMs = pauseMinMs
  while (!ended.aborted) {
    try {
      await read(asked, ended, () => {
        pauseMs = pauseMinMs
      })
    } catch (error) {
      if (ended.aborted) return
      const problem = error instanceof Problem ? error : new Problem(0, '', String(error))
      show({ ...live, problem })
      if (problem.status === 404 || problem.status === 401 || problem.status === 403) return
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs)
  }
}

async function read(asked: string, ended: AbortSignal, onTick: () => void): Promise<void> {
  const path = withQuery('/v1/live', { generators: asked })
  const response = await send({ method: 'GET', path }, ended)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const figures = new LiveFigures()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (ended.aborted) return
    if (done) throw new Problem(0, '', 'the stream has ended')
    const lines = (rest + value).split('\n')
    rest = lines.pop()!
    if (lines.length === 0) continue
    for (const line of lines) figures.take(JSON.parse(line))
    show({ figures, problem: undefined })
    onTick()
  }
}
