/** Which Fahao this is. */
import { readFileSync } from 'node:fs'

/** The version in package.json, which lies two folders up from `src/node` and from `dist/node` alike. */
export const version: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version
