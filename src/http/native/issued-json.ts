/** Ids as the JSON of an answer. It ends with a line break, for terminals. */
import type { Generator } from '../../catalogue/catalogue.ts'
import type { Run } from '../../ids/run.ts'
import type { Frame } from '../batch.ts'

/** Its content type. */
export const jsonType = 'application/json; charset=utf-8'

/** What stands around many ids. */
export const jsonFrame: Frame = { head: '{"ids":["', separator: '","', tail: '"]}\n' }

/** One id. */
export function oneInJson(generator: Generator, run: Run): string {
  // Digits need no escaping.
  if (generator.definition.format === undefined) return `{"ids":["${run.toString()}"]}\n`
  return textInJson(generator.text(run.first))
}

/** One id by its text. */
export function textInJson(text: string): string {
  return `${JSON.stringify({ ids: [text] })}\n`
}
