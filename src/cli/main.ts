/** Reads the command line, runs one verb, and turns an error into one sentence and an exit code. */
import { Command } from 'commander'
import { version } from '../installation/version.ts'
import { exitCodeAfter, exitCodes } from './exit-codes.ts'
import { refuseRepeats } from './repeatable-options.ts'

/** Adds one verb, or a few that belong together, to the program. */
type Add = (root: Command) => void

/**
 * The verbs under each heading of the help. The file of a verb is loaded when it is run, or when all are shown: each call
 * of a command pays for what is loaded.
 */
const groups: Readonly<Record<string, Readonly<Record<string, () => Promise<Add>>>>> = {
  'Running a server:': {
    serve: async () => (await import('./verbs/serve.ts')).addServe,
    proxy: async () => (await import('./verbs/proxy.ts')).addProxy,
    config: async () => (await import('./verbs/serve.ts')).addConfig,
    backup: async () => (await import('./verbs/backup.ts')).addBackup,
    restore: async () => (await import('./verbs/backup.ts')).addRestore,
    import: async () => (await import('./verbs/import.ts')).addImport,
    lower: async () => (await import('./verbs/bounds.ts')).addLower,
  },
  'Asking a server:': {
    next: async () => (await import('./verbs/generators.ts')).addNext,
    create: async () => (await import('./verbs/generators.ts')).addCreate,
    alter: async () => (await import('./verbs/generators.ts')).addAlter,
    drop: async () => (await import('./verbs/generators.ts')).addDrop,
    list: async () => (await import('./verbs/generators.ts')).addList,
    info: async () => (await import('./verbs/generators.ts')).addInfo,
    leases: async () => (await import('./verbs/leases.ts')).addLeases,
    namespace: async () => (await import('./verbs/namespace.ts')).addNamespace,
    user: async () => (await import('./verbs/user.ts')).addUser,
    token: async () => (await import('./verbs/token.ts')).addToken,
    cluster: async () => (await import('./verbs/cluster.ts')).addCluster,
    advance: async () => (await import('./verbs/bounds.ts')).addAdvance,
    audit: async () => (await import('./verbs/audit.ts')).addAudit,
  },
  'Working things out:': {
    decode: async () => (await import('./verbs/decode.ts')).addDecode,
    advise: async () => (await import('./verbs/advise.ts')).addAdvise,
    completion: async () => (await import('./verbs/completion.ts')).addCompletion,
  },
}

/** Runs the program; resolves to its exit code. `argv` as in `process.argv`. */
export async function main(argv: readonly string[]): Promise<number> {
  // A reader that closes the pipe, as in `fahao list | head`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok.code)
    throw error
  })
  return exitCodeAfter(
    async () => program(await loadVerbs(argv[2])).parseAsync(argv),
    argv.includes('--json'),
  )
}

/** What adds the verb `only`, or every verb if there is none of this name or it names them all, under the headings of the help. */
export async function loadVerbs(only?: string): Promise<Readonly<Record<string, readonly Add[]>>> {
  const all = Object.entries(groups).map(([heading, verbs]) => [heading, Object.entries(verbs)] as const)
  const isVerb = only !== 'completion' && all.some(([, verbs]) => verbs.some(([name]) => name === only))
  const loaded: Record<string, Add[]> = {}
  for (const [heading, verbs] of all)
    loaded[heading] = await Promise.all(
      verbs.filter(([name]) => !isVerb || name === only).map(([, load]) => load()),
    )
  return loaded
}

/** The program with these verbs, their flags and their help. */
export function program(verbs: Readonly<Record<string, readonly Add[]>>): Command {
  const root = new Command('fahao')
    .description(
      'Unique 64-bit ids, handed out: over Redis’s protocol, over HTTP, and from this command line.',
    )
    .version(version)
    .helpCommand(false)
    // Options behind a verb are those of the verb: `proxy check` has some that `proxy` has too.
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('(--help lists verbs and flags)')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false, minWidthToWrap: 20 })
  for (const [heading, adding] of Object.entries(verbs)) {
    root.commandsGroup(heading)
    for (const add of adding) add(root)
  }
  root.addHelpText('after', epilogue())
  refuseRepeats(root)
  return root
}

function epilogue(): string {
  const codes = Object.values(exitCodes).map(({ code, meaning }) => `  ${code}  ${meaning}`)
  return `
Examples:
  fahao serve                                   RESP on 127.0.0.1:7379, HTTP on 127.0.0.1:7380
  fahao create order --kind sequence
  fahao next order
  fahao next order --count 1000 --json

Exit codes:
${codes.join('\n')}`
}
