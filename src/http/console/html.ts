/** Pages without any outside file: one stylesheet, text that cannot become markup, a strict content policy. */
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'

/** HTML that needs no more escaping. Only `html` makes it. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The parts of a template: text is escaped, HTML is not, lists are joined. */
export type Part = string | number | Html | readonly Html[]

/** Builds HTML; everything put in is escaped unless it is HTML already. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((fixed, index) => fixed + written(parts[index] ?? '')).join(''))
}

function written(part: Part): string {
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map(({ text }: Html) => text).join('\n')
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const style = `
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #e4e8ee); --soft: light-dark(#586474, #9aa6b5);
  --paper: light-dark(#fbfaf7, #14181e); --card: light-dark(#fff, #1b2129); --line: light-dark(#dfe3e8, #303946);
  --mark: light-dark(#b3261e, #ff8a7a); --link: light-dark(#0b5cad, #7db7f5) }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
main { max-width: 58rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 } h1 span { color: var(--mark) }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem } h3 { margin: 2rem 0 .25rem; font-size: 1.05rem }
p { margin: .4rem 0 } a { color: var(--link) } .soft { color: var(--soft) }
pre, code { font: .9rem/1.55 ui-monospace, Menlo, Consolas, monospace }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem 1rem; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
.wide { overflow-x: auto; margin-bottom: 1rem } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600; font-size: .9rem }
nav { margin: 1rem 0 } nav a { margin-right: 1rem; white-space: nowrap } .method { color: var(--mark); font-weight: 700 }
:target { scroll-margin-top: 1rem; outline: 2px solid var(--mark); outline-offset: 4px; border-radius: 4px }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }`

/**
 * Headers of a page: it may load nothing and use no device, and no other page may frame it or hold its window. Where TLS is
 * spoken, the browser keeps to it for a day: longer would bind other services of the same host too.
 */
export function pageHeaders({ protocol }: FastifyRequest): Readonly<Record<string, string>> {
  return protocol === 'https' ? { ...headers, 'strict-transport-security': 'max-age=86400' } : headers
}

const headers = Object.freeze({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src '${hash(style)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
})

/** A whole page. */
export function page(language: string, title: string, body: Html): string {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`.text
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
