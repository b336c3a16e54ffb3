import type { Command } from 'commander'
import type { CheckedText } from '../../operations/check.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer, table } from '../terminal.ts'

/** `fahao check` */
export function addCheck(command: Command): void {
  command.description(
    'Tells whether texts can have been issued by a generator, and what mistyped ones may have been. The user needs the permission id.check.',
  )
  addServerOptions(command)
    .addHelpText(
      'after',
      `
Examples:
  fahao check coupon K3X9-7QTM
  fahao check coupon k3x97qtm k3x97qmt --json`,
    )
    .action(async (name: string, texts: string[], options: ServerOptions) => {
      const path = `/v1/generators/${encodeURIComponent(name)}/check`
      const answer = await ask<{ checked: CheckedText[] }>(options, 'POST', path, { body: { texts } })
      const rows = answer.checked.map(({ text, verdict, why, mayBe }) => [
        text,
        verdict,
        [...(why === null ? [] : [why]), ...(mayBe.length > 0 ? [`may be ${mayBe.join(', ')}`] : [])].join(
          '; ',
        ),
      ])
      printAnswer(options, answer, table(['text', 'verdict', ''], rows))
    })
}
