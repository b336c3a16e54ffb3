/** Draws ids of each generator with fahao-client, and prints them: `node wide-ids-program.ts URL COUNT NAME…`. */
import { connect } from '../../client/src/index.ts'

const [url = '', count = '', ...names] = process.argv.slice(2)
const client = await connect(url, { timeoutMs: 60_000 })
const drawn: Record<string, string[]> = {}
for (const name of names) {
  const generator = await client.generator(name)
  const texts: string[] = []
  while (texts.length < Number(count)) {
    texts.push(...(await generator.nextTexts(Math.min(1000, Number(count) - texts.length))))
    texts.push(await generator.nextText())
  }
  drawn[name] = texts
}
await client.close()
console.log(JSON.stringify(drawn))
