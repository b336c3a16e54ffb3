/** Packages that only some users need: each is loaded when it is used, and installed by who uses it. */
import manifest from '../../package.json' with { type: 'json' }
import { FahaoError } from '../base/errors.ts'

type PackageName = keyof typeof manifest.peerDependencies

/** The package whose `import()` is `loading`. Rejects with ENGINE, which says how it is installed, if it is missing. */
export function packageOf<Module>(name: PackageName, loading: Promise<Module>): Promise<Module> {
  return loading.catch((cause) => {
    throw new FahaoError('ENGINE', `the package ${name} is missing: ${installationOf(name)}`, { cause })
  })
}

/** What installs a package, of the major version that Fahao is tested with. */
export function installationOf(name: PackageName): string {
  const [major] = /\d+/.exec(manifest.peerDependencies[name]) ?? ['latest']
  return `install it with 'npm install ${name}@${major}'`
}
