/** The invariants of the objects that a test has used hold after it. Importing this file is enough. */
import { afterEach } from 'node:test'
import { brokenInvariant } from '../invariants.ts'

afterEach(() => {
  const error = brokenInvariant()
  if (error !== undefined) throw error
})
