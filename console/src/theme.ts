/** The colours as the state of components. */
import { useEffect, useState } from 'preact/hooks'
import { keepTheme, onSystemTheme, shownTheme, type Theme } from './theme-choice.ts'

const listeners = new Set<() => void>()
onSystemTheme(tell)

/** Keeps a choice and shows it. */
export function chooseTheme(theme: Theme): void {
  keepTheme(theme)
  tell()
}

/** What is shown. A component that uses it is drawn again at a change. */
export function useTheme(): 'light' | 'dark' {
  const [, setTurn] = useState(0)
  useEffect(() => {
    const listener = () => setTurn((last) => last + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return shownTheme()
}

function tell(): void {
  for (const listener of listeners) listener()
}
