/** The language of the reader. */

/** The languages, each by its own name. */
export const languages = { en: 'English', zh: '中文' } as const

const key = 'fahao.language'
let chosen = initial()

/** The language of now. */
export function language(): string {
  return chosen
}

/** Keeps a choice. */
export function keepLanguage(next: string): void {
  chosen = next
  localStorage.setItem(key, next)
}

function initial(): string {
  const stored = localStorage.getItem(key)
  if (stored !== null && stored in languages) return stored
  return navigator.language.startsWith('zh') ? 'zh' : 'en'
}
