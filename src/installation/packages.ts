/** Packages that only some users need: each is loaded when it is used, and installed by who uses it. */
import manifest from '../../package.json' with { type: 'json' }
import { describe, FahaoError } from '../base/errors.ts'

type PackageName = keyof typeof manifest.peerDependencies

/**
 * The package whose `import()` is `loading`. Rejects with ENGINE, which says how it is installed, in the major version that Fahao is
 * tested with.
 */
export function packageOf<Module>(name: PackageName, loading: Promise<Module>): Promise<Module> {
  return loading.catch((cause) => {
    const [major] = /\d+/.exec(manifest.peerDependencies[name]) ?? ['latest']
    const [why] = describe(cause).split('\n')
    const isMissing = why!.startsWith(`Cannot find package '${name}'`)
    const what = isMissing ? 'is missing: install it' : `cannot be loaded (${why}): install it again`
    throw new FahaoError('ENGINE', `the package ${name} ${what} with 'npm install ${name}@${major}'`, {
      cause,
    })
  })
}
