/** The choice of colours: as the system has them, dark or light. */

/** What a reader can choose. */
export const themes = ['system', 'light', 'dark'] as const
/** A choice of the reader. */
export type Theme = (typeof themes)[number]

const key = 'fahao.theme'
const system = matchMedia('(prefers-color-scheme: dark)')

/** Calls `listener` when the system changes its colours. */
export function onSystemTheme(listener: () => void): void {
  system.addEventListener('change', listener)
}

/** The choice of now. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(key)
  return themes.find((each) => each === stored) ?? 'system'
}

/** Keeps a choice and shows it. */
export function keepTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  showTheme()
}

/** Gives the document the colours of the choice. */
export function showTheme(): void {
  document.documentElement.dataset.theme = chosenTheme()
}

/** What is shown. */
export function shownTheme(): 'light' | 'dark' {
  const chosen = chosenTheme()
  return chosen === 'dark' || (chosen === 'system' && system.matches) ? 'dark' : 'light'
}
