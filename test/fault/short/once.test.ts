/** A few hundred requests with keys, on etcd. */
import { after, test } from 'node:test'
import { clusterEngines } from '../cluster-engines.ts'
import { onceEach } from '../once.ts'

const engine = await clusterEngines.etcd!({ after })
test('a cluster answers each request with a key once, whichever leader ends and answers are lost', (t) =>
  onceEach(t, engine, 300))
