/** Reads the command line, runs one verb, and turns an error into one sentence and an exit code. */
import { Command } from 'commander'
import { version } from '../installation/version.ts'
import { exitCodeAfter, exitCodes } from './exit-codes.ts'
import { refuseRepeats } from './repeatable-options.ts'

/** A verb. */
type Verb = {
  /** Its name and its arguments. */
  readonly usage: string
  /** What it does, in the help of the program. */
  readonly summary: string
  /** Loads what gives the command its flags, its help and its action. */
  readonly load: () => Promise<(command: Command) => void>
}

/** The verbs under each heading of the help. The help of the program loads none of them. */
const groups: Readonly<Record<string, readonly Verb[]>> = {
  'Running a server:': [
    {
      usage: 'serve',
      summary: 'run a server',
      load: async () => (await import('./verbs/serve.ts')).addServe,
    },
    {
      usage: 'proxy',
      summary: 'run a MySQL proxy',
      load: async () => (await import('./verbs/proxy.ts')).addProxy,
    },
    {
      usage: 'config',
      summary: 'show every setting, and where it comes from',
      load: async () => (await import('./verbs/serve.ts')).addConfig,
    },
    {
      usage: 'backup <file>',
      summary: 'copy the store, while servers use it',
      load: async () => (await import('./verbs/backup.ts')).addBackup,
    },
    {
      usage: 'restore <file>',
      summary: 'put a copy in the place of the store',
      load: async () => (await import('./verbs/backup.ts')).addRestore,
    },
    {
      usage: 'import [names...]',
      summary: 'move generators out of the table of Leaf, an IdBuilder or tinyid',
      load: async () => (await import('./verbs/import.ts')).addImport,
    },
    {
      usage: 'lower <name>',
      summary: 'move a counter back, after a mistake',
      load: async () => (await import('./verbs/bounds.ts')).addLower,
    },
  ],
  'Asking a server:': [
    {
      usage: 'next <name>',
      summary: 'get ids',
      load: async () => (await import('./verbs/generators.ts')).addNext,
    },
    {
      usage: 'create <name>',
      summary: 'create a generator',
      load: async () => (await import('./verbs/generators.ts')).addCreate,
    },
    {
      usage: 'alter <name>',
      summary: 'change options of a generator',
      load: async () => (await import('./verbs/generators.ts')).addAlter,
    },
    {
      usage: 'drop <name>',
      summary: 'drop a generator',
      load: async () => (await import('./verbs/generators.ts')).addDrop,
    },
    {
      usage: 'list',
      summary: 'list generators',
      load: async () => (await import('./verbs/generators.ts')).addList,
    },
    {
      usage: 'info <name>',
      summary: 'show a generator',
      load: async () => (await import('./verbs/generators.ts')).addInfo,
    },
    {
      usage: 'top',
      summary: 'watch rates, buffers, errors and nodes',
      load: async () => (await import('./verbs/top.ts')).addTop,
    },
    {
      usage: 'doctor',
      summary: 'look for what may go wrong',
      load: async () => (await import('./verbs/doctor.ts')).addDoctor,
    },
    {
      usage: 'leases',
      summary: 'worker ids of snowflakes in use, and their holders',
      load: async () => (await import('./verbs/leases.ts')).addLeases,
    },
    {
      usage: 'ledger [name]',
      summary: 'export a ledger, or check an export',
      load: async () => (await import('./verbs/ledger.ts')).addLedger,
    },
    {
      usage: 'namespace',
      summary: 'quotas of teams, users and generators',
      load: async () => (await import('./verbs/namespace.ts')).addNamespace,
    },
    {
      usage: 'user',
      summary: 'users and their permissions',
      load: async () => (await import('./verbs/user.ts')).addUser,
    },
    {
      usage: 'token',
      summary: 'credentials for programs',
      load: async () => (await import('./verbs/token.ts')).addToken,
    },
    {
      usage: 'cluster',
      summary: 'look at a cluster, move leadership',
      load: async () => (await import('./verbs/cluster.ts')).addCluster,
    },
    {
      usage: 'advance',
      summary: 'raise every bound, after an engine has forgotten',
      load: async () => (await import('./verbs/bounds.ts')).addAdvance,
    },
    {
      usage: 'audit',
      summary: 'what was changed or refused, and for which user',
      load: async () => (await import('./verbs/audit.ts')).addAudit,
    },
  ],
  'Working things out:': [
    {
      usage: 'decode <id>',
      summary: 'take an id apart',
      load: async () => (await import('./verbs/decode.ts')).addDecode,
    },
    {
      usage: 'check <name> <text...>',
      summary: 'whether texts can have been issued',
      load: async () => (await import('./verbs/check.ts')).addCheck,
    },
    {
      usage: 'encode <moment>',
      summary: 'the smallest id of a moment',
      load: async () => (await import('./verbs/moments.ts')).addEncode,
    },
    {
      usage: 'bounds',
      summary: 'the ids of a span of time, as a condition of SQL',
      load: async () => (await import('./verbs/moments.ts')).addBounds,
    },
    {
      usage: 'advise',
      summary: 'work out step, horizon and layout from a peak rate or a running server',
      load: async () => (await import('./verbs/advise.ts')).addAdvise,
    },
    {
      usage: 'help [verb]',
      summary: 'show the help of a verb',
      load: async () => (command) => {
        command.description('Shows the help of a verb, or of the program: the same as VERB --help.')
      },
    },
    {
      usage: 'version',
      summary: 'print the version',
      load: async () => (command) => {
        command.description('Prints the version of the program: the same as --version.')
      },
    },
    {
      usage: 'completion',
      summary: 'a script that completes verbs and flags in your shell',
      load: async () => (await import('./verbs/completion.ts')).addCompletion,
    },
  ],
}

/** Runs the program; resolves to its exit code. `argv` as in `process.argv`. */
export async function main(argv: readonly string[]): Promise<number> {
  // A reader that closes the pipe, as in `fahao list | head`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok.code)
    throw error
  })
  const words = plainWords(argv.slice(2))
  return exitCodeAfter(async () => {
    const root = await program((verb) => verb === words[0] || words[0] === 'completion')
    await root.parseAsync(words, { from: 'user' })
  }, argv.includes('--json'))
}

/** `help VERB` and `version` in the form that every verb, and the program, have for them. */
function plainWords([verb, ...rest]: readonly string[]): readonly string[] {
  if (verb === 'help') return [...rest, '--help']
  if (verb === 'version') return ['--version', ...rest]
  return verb === undefined ? [] : [verb, ...rest]
}

/** The program with all verbs. @param isLoaded which of them get their flags, their help and their action. */
export async function program(isLoaded: (verb: string) => boolean): Promise<Command> {
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
  for (const [heading, verbs] of Object.entries(groups)) {
    root.commandsGroup(heading)
    for (const { usage, summary, load } of verbs) {
      const command = root.command(usage).summary(summary)
      if (isLoaded(command.name())) (await load())(command)
    }
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
