/** The texts of the console in the language of the reader. */

import { chinese } from './texts/chinese.ts'
import { english, type Texts } from './texts/english.ts'

/** The languages, each by its own name. */
export const languages = { en: 'English', zh: '中文' } as const

const key = 'fahao.language'
let chosen = initial()

/** The texts of now: importers see a change at the next time that they are drawn. */
export let t: Texts = textsOf(chosen)

/** The language of now. */
export function language(): string {
  return chosen
}

/** Keeps a choice. */
export function setLanguage(next: string): void {
  chosen = next
  localStorage.setItem(key, next)
  t = textsOf(next)
}

function initial(): string {
  const stored = localStorage.getItem(key)
  if (stored !== null && stored in languages) return stored
  return navigator.language.startsWith('zh') ? 'zh' : 'en'
}

function textsOf(language: string): Texts {
  return language === 'zh' ? chinese : english
}
