/** Answers of the API as the state of a component. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ask, type Problem } from './api.ts'

/** The newest answer, and the problem of the newest request if it had one. */
export type Asked<Answer> = {
  readonly answer: Answer | undefined
  readonly problem: Problem | undefined
  /** Asks again, now. */
  readonly again: () => void
}

/** After how long what was not answered is asked again, on pages that ask once. */
const againMs = 5000

/**
 * The answer of a GET, again each `everyMs` while the page is shown. An answer of another path is not shown. `undefined`: nothing is asked.
 */
export function useAsked<Answer>(path: string | undefined, everyMs?: number): Asked<Answer> {
  return useLoaded<Answer>(path, (signal) => ask<Answer>({ method: 'GET', path: path! }, signal), everyMs)
}

/** The same of what `load` resolves to, for as long as `key` is the same. */
export function useLoaded<Answer>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<Answer>,
  everyMs?: number,
): Asked<Answer> {
  const [state, setState] = useState<{ key?: string; answer?: Answer; problem?: Problem }>({})
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (key === undefined) return
    const ended = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    // Whether nothing is asked now, and there is a next time.
    let waits = false
    const run = async () => {
      waits = false
      let nextMs = everyMs
      try {
        const answer = await load(ended.signal)
        if (!ended.signal.aborted) setState({ key, answer })
      } catch (problem) {
        if (ended.signal.aborted) return
        setState((last) => ({ ...(last.key === key ? last : { key }), problem: problem as Problem }))
        if (passes(problem as Problem)) nextMs ??= againMs
      }
      waits = nextMs !== undefined
      if (waits && !ended.signal.aborted && !document.hidden) timer = setTimeout(run, nextMs)
    }
    const shown = () => {
      clearTimeout(timer)
      if (!document.hidden && waits) void run()
    }
    document.addEventListener('visibilitychange', shown)
    void run()
    return () => {
      document.removeEventListener('visibilitychange', shown)
      clearTimeout(timer)
      ended.abort()
    }
  }, [key, everyMs, turn])
  const again = useCallback(() => setTurn((last) => last + 1), [])
  const { answer, problem } = state.key === key ? state : {}
  return { answer, problem, again }
}

/** Whether the same request may be answered later: the node or its store was away. */
function passes({ status }: Problem): boolean {
  return status === 0 || status >= 500
}
