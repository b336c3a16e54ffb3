/** The generators that matter most on a node, each with its figures: one request for each, a few at a time. */
import type { Generator, GeneratorPage } from './answers.ts'
import { ask, generatorPath, Problem, withQuery } from './api.ts'
import { type Asked, useLoaded } from './asking.ts'

const namesMax = 60
const atOnce = 4
const everyMs = 60_000

/** What was looked at. */
export type Details = { readonly generators: readonly Generator[]; readonly more: boolean }

/** The details of `names` first, then of the first of the list; of `namesMax` at most. */
export function useDetails(names: readonly string[]): Asked<Details> {
  // The names as they were first known: the order of the busiest changes each second.
  const key = names.length === 0 ? 'list' : 'busiest'
  return useLoaded(key, (signal) => load(names, signal), everyMs)
}

async function load(names: readonly string[], signal: AbortSignal): Promise<Details> {
  const path = withQuery('/v1/generators', { limit: namesMax })
  const page = await ask<GeneratorPage>({ method: 'GET', path }, signal)
  const all = [...new Set([...names, ...page.generators.map(({ name }) => name)])]
  const open = all.slice(0, namesMax)
  const generators: Generator[] = []
  const work = async () => {
    for (let name = open.shift(); name !== undefined; name = open.shift()) {
      const found = await detail(name, signal)
      if (found !== undefined) generators.push(found)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { generators, more: all.length > namesMax || page.next !== null }
}

/** A generator; undefined: it was dropped meanwhile, or the reader may not see it. */
async function detail(name: string, signal: AbortSignal): Promise<Generator | undefined> {
  return await ask<Generator>({ method: 'GET', path: generatorPath(name) }, signal).catch(
    (error: unknown) => {
      if (error instanceof Problem && (error.status === 404 || error.status === 403)) return undefined
      throw error
    },
  )
}
