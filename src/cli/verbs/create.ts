import type { Command } from 'commander'
import { nearest } from '../../base/nearest.ts'
import type { GeneratorAnswer } from '../../http/native/shapes.ts'
import { kinds } from '../../issuing/issuer.ts'
import { UsageError } from '../exit-codes.ts'
import { addGeneratorFlags, givenGeneratorOptions } from '../generator-flags.ts'
import { specialties } from '../generator-text.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { fields, print, printJson } from '../terminal.ts'

/** `fahao create` */
export function addCreate(program: Command): void {
  const command = program
    .command('create <name>')
    .summary('create a generator')
    .description('Creates a generator. Repeating it with the same options changes nothing.')
  addGeneratorFlags(addServerOptions(command))
    .addHelpText(
      'after',
      `
Examples:
  fahao create order --kind sequence                   1, 2, 3 … in strict order
  fahao create user --kind segment --start 100000      in order per node, fast on a fleet
  fahao create event --kind snowflake                  time, worker id, sequence
  fahao create sms --kind segment --format 'sms_{id}'  text around the id
  fahao create coupon --kind segment --within shuffled --format 'coupon_{id:8}{check:luhn}'`,
    )
    .action(async (name: string, options: ServerOptions) => {
      const body = givenGeneratorOptions(command)
      if (!kinds.some((kind) => kind === body.kind))
        throw new UsageError(`${ofNoKind(body.kind)}; give --kind ${kinds.join('|')}`)
      const generator = await ask<GeneratorAnswer>(options, 'PUT', generatorPath(name), { body })
      if (options.json) printJson(generator)
      else print(...created(generator))
    })
}

function ofNoKind(given: string | number | undefined): string {
  if (given === undefined) return 'a generator has a kind'
  const meant = nearest(String(given), kinds)
  return `'${given}' is no kind${meant === undefined ? '' : `, ${meant} is near`}`
}

/** What is special about it; `info` shows the rest. */
function created(generator: GeneratorAnswer): string[] {
  return fields([
    ['name', generator.name],
    ['kind', generator.kind],
    ['options', specialties(generator)],
    ['an id', `fahao next ${generator.name}`],
    ['everything about it', `fahao info ${generator.name}`],
  ])
}
