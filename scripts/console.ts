/**
 * The console in dist/console: a document, its code and its style, which have hashes of themselves in their names. Rolldown, which
 * builds the program too, is all that Vite would add to Preact's JSX: there is no server of development that would need more.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..')

/** Builds the console into a folder; returns the files of which some is in it. */
export async function buildConsole(folder: string): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const bundle = await rolldown({
    cwd: root,
    platform: 'browser',
    input: 'console/src/main.tsx',
    tsconfig: 'console/tsconfig.json',
    transform: { target: 'es2022' },
  })
  const { output } = await bundle.generate({ format: 'es', codeSplitting: false, minify: true })
  await bundle.close()
  const write = (name: string, kind: string, text: string) => {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 10)
    const file = `${name}-${hash}.${kind}`
    writeFileSync(join(folder, file), text)
    return file
  }
  const [{ code, moduleIds }] = output
  const script = write('console', 'js', code)
  const plotStyle = readText('node_modules/uplot/dist/uPlot.min.css')
  const style = write('console', 'css', `${plotStyle}\n${shortened(readText('console/style.css'))}`)
  const document = readText('console/index.html')
    .replace('"console.js"', `"/console/${script}"`)
    .replace('"console.css"', `"/console/${style}"`)
  writeFileSync(join(folder, 'index.html'), document)
  return moduleIds.map((path) => relative(root, path))
}

/** A style sheet without comments and indentation. */
function shortened(style: string): string {
  return style.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/\s*\n\s*/g, '\n')
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
