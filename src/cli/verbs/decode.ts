import type { Command } from 'commander'
import { describeText, type IdDescription } from '../../ids/inspect.ts'
import { parseLayout } from '../../ids/layout-text.ts'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { fields, printAnswer } from '../terminal.ts'

type DecodeOptions = ServerOptions & { readonly layout?: string; readonly generator?: string }

/** A counter's id has no layout. */
type Decoded = Partial<IdDescription>

/** `fahao decode` */
export function addDecode(command: Command): void {
  command.description(
    'Takes an id apart: when it was issued, by which node. Without --generator no server is needed, and the layout is twitter unless --layout names another; with --generator the server knows the layout, and reads formats.',
  )
  addServerOptions(command)
    .option(
      '--layout <LAYOUT>',
      'a preset, or fields: time:41,node:10,sequence:12;epoch=… (default: twitter)',
    )
    .option('--generator <NAME>', 'the generator that issued the id')
    .addHelpText(
      'after',
      `
Examples:
  fahao decode 1888944671579078978
  fahao decode 1888944671579078978 --layout leaf
  fahao decode sms_1042 --generator sms`,
    )
    .action(async (id: string, options: DecodeOptions) => {
      const decoded = await decode(id, options)
      const { fields: named, ...others } = decoded
      printAnswer(options, decoded, fields(Object.entries({ ...others, ...named })))
    })
}

async function decode(id: string, options: DecodeOptions): Promise<Decoded> {
  const { layout, generator } = options
  if (layout !== undefined && generator !== undefined)
    throw new UsageError('give --layout or --generator, not both: a generator has a layout')
  if (generator === undefined) return describeText(parseLayout(layout ?? 'twitter'), id)
  return ask(options, 'GET', '/v1/decode', { query: { id, generator } })
}
