/** The texts of the console in the language of the reader. */

import { keepLanguage, language } from './language.ts'
import { chinese } from './texts/chinese.ts'
import { english, type Texts } from './texts/english.ts'

/** The texts of now: importers see a change at the next time that they are drawn. */
export let t: Texts = textsOf(language())

/** Keeps a choice. */
export function setLanguage(next: string): void {
  keepLanguage(next)
  t = textsOf(next)
}

function textsOf(language: string): Texts {
  return language === 'zh' ? chinese : english
}
