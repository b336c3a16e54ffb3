/** The console: it is drawn into the page that the node serves at `/console`. */
import { render } from 'preact'
import { App } from './app.tsx'
import { showTheme } from './theme-choice.ts'

// The address of the first steps, which is short, shows this page of the console.
if (location.pathname === '/') history.replaceState(undefined, '', '/console#/start')
showTheme()
render(<App />, document.getElementById('app')!)
