/** Some conversations of `npm run fuzz:mysql`. */
import { test } from 'node:test'
import fc from 'fast-check'
import { checkHonest, checkHostile, honest, hostile } from './mysql.ts'

test('honest conversations pass the MySQL proxy the same however their bytes are cut', () =>
  fc.assert(fc.asyncProperty(honest, checkHonest), { numRuns: 150 }))

test('hostile clients and servers of MySQL harm nothing but their own connection', () =>
  fc.assert(fc.asyncProperty(hostile, checkHostile), { numRuns: 400 }))
