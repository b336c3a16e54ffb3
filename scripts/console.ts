/**
 * The console in dist/console: its document, that of the API reference, and their code and styles, which have hashes of themselves in
 * their names. Rolldown, which builds the program too, is all that Vite would add to Preact's JSX: there is no server of development
 * that would need more.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..')

/** Swagger UI, which shows the API at /docs: built by its authors, and changed in nothing. */
const viewer = 'node_modules/swagger-ui-dist/swagger-ui-bundle.js'

/** Builds the console into a folder; returns the files of which some is in it. */
export async function buildConsole(folder: string): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const write = (name: string, text: string) => {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 10)
    const file = name.replace('.', `-${hash}.`)
    writeFileSync(join(folder, file), text)
    return file
  }
  const main = await bundle('console/src/main.tsx')
  const docs = await bundle('console/src/docs/docs.ts')
  const plotStyle = readText('node_modules/uplot/dist/uPlot.min.css')
  const files: Readonly<Record<string, string>> = {
    'console.js': main.code,
    'console.css': `${plotStyle}\n${shortened(readText('console/style.css'))}`,
    'docs.js': docs.code,
    'viewer.js': withoutMap(readText(viewer)),
    'viewer.css': withoutMap(readText(viewer.replace('-bundle.js', '.css'))),
  }
  const written = Object.entries(files).map(([name, text]) => [name, write(name, text)] as const)
  for (const page of ['index.html', 'docs.html']) {
    const named = (text: string, [name, file]: readonly [string, string]) =>
      text.replace(`"${name}"`, `"/console/${file}"`)
    writeFileSync(join(folder, page), written.reduce(named, readText(`console/${page}`)))
  }
  const built = [...main.moduleIds, ...docs.moduleIds].map((path) => relative(root, path))
  return [...new Set([...built, viewer])]
}

/** The code of a page, and the files that it is made of. */
async function bundle(
  input: string,
): Promise<{ readonly code: string; readonly moduleIds: readonly string[] }> {
  const bundle = await rolldown({
    cwd: root,
    platform: 'browser',
    input,
    tsconfig: 'console/tsconfig.json',
    transform: { target: 'es2022' },
  })
  const { output } = await bundle.generate({ format: 'es', codeSplitting: false, minify: true })
  await bundle.close()
  return output[0]
}

/** A file whose source map is not served. */
function withoutMap(text: string): string {
  return text.replace(/\n(?:\/\/|\/\*)# sourceMappingURL=.*\s*$/, '\n')
}

/** A style sheet without comments and indentation. */
function shortened(style: string): string {
  return style.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/\s*\n\s*/g, '\n')
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
