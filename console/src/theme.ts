/** Dark or light: as the system has it, unless the reader chooses. */
import { useEffect, useState } from 'preact/hooks'

/** What a reader can choose. */
export const themes = ['system', 'light', 'dark'] as const
/** A choice of the reader. */
export type Theme = (typeof themes)[number]

const key = 'fahao.theme'
const listeners = new Set<() => void>()
const system = matchMedia('(prefers-color-scheme: dark)')
system.addEventListener('change', tell)

/** The choice of now. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(key)
  return themes.find((each) => each === stored) ?? 'system'
}

/** Keeps a choice and shows it. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  showTheme()
  tell()
}

/** Gives the document the colours of the choice. */
export function showTheme(): void {
  document.documentElement.dataset.theme = chosenTheme()
}

/** What is shown: `light` or `dark`. A component that uses it is drawn again at a change. */
export function useTheme(): 'light' | 'dark' {
  const [, setTurn] = useState(0)
  useEffect(() => {
    const listener = () => setTurn((last) => last + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  const chosen = chosenTheme()
  return chosen === 'dark' || (chosen === 'system' && system.matches) ? 'dark' : 'light'
}

function tell(): void {
  for (const listener of listeners) listener()
}
