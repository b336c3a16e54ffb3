/** Templates of the names of a series, such as `invoice:{tenant}`. */
import { FahaoError } from '../base/errors.ts'

/** What stands for the tenant in a template. */
export const tenantField = '{tenant}'

/** What stands for `{tenant}` in a name; undefined: the name is not of the template. */
export function tenantIn(template: string, name: string): string | undefined {
  const [before = '', after = ''] = template.split(tenantField)
  const isLong = name.length > before.length + after.length
  if (!isLong || !name.startsWith(before) || !name.endsWith(after)) return undefined
  return name.slice(before.length, name.length - after.length)
}

/** Throws ERR unless a text is a template of names. */
export function checkTemplate(template: string): void {
  if (template.split(tenantField).length !== 2)
    throw new FahaoError(
      'ERR',
      `template '${template}' has not one ${tenantField}; write it like invoice:${tenantField}`,
    )
}
