/** The console: it is drawn into the page that the node serves at `/console`. */
import { render } from 'preact'
import { App } from './app.tsx'
import { showTheme } from './theme.ts'

showTheme()
render(<App />, document.getElementById('app')!)
