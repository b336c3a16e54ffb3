import { MemoryStore, openMemory } from '../../src/engine/memory/engine.ts'
import { describeEngine } from './describeEngine.ts'

const gone = 'what it remembers ends with its process'

describeEngine({
  name: 'memory',
  store() {
    const store = new MemoryStore()
    return { open: (options) => openMemory(options, store) }
  },
  durable: gone,
  shared: gone,
  owned: true,
  freezes: 'it answers at once, whatever happens',
})
