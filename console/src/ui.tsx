/** The parts of which pages are made. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Problem } from './api.ts'
import type { Asked } from './asking.ts'
import { momentText } from './formats.ts'
import { t } from './texts.ts'

/** A heading of a page, with what can be done there. */
export function PageHead({
  title,
  children,
  lead,
}: {
  title: string
  children?: ComponentChildren
  lead?: string
}) {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {lead && <p class="soft">{lead}</p>}
      </div>
      <div class="actions">{children}</div>
    </header>
  )
}

/** A part of a page. */
export function Card(props: { title?: string; note?: string; wide?: boolean; children: ComponentChildren }) {
  return (
    <section class={props.wide ? 'card wide' : 'card'}>
      {props.title && <h2>{props.title}</h2>}
      {props.note && <p class="soft note">{props.note}</p>}
      {props.children}
    </section>
  )
}

/** A figure with its name. */
export function Figure({
  name,
  value,
  note,
}: {
  name: string
  value: ComponentChildren
  note?: string | undefined
}) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        {note && <span class="soft">{note}</span>}
      </dd>
    </div>
  )
}

/** How much attention something needs. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain'

/** A word with a colour; the word says it all. */
export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** A moment, on one line. */
export function Moment({ at }: { at: string | number | null }) {
  if (at === null) return '–'
  return <time>{momentText(at)}</time>
}

/** What went wrong, as the node says it. */
export function ProblemNote({ problem }: { problem: Problem | undefined }) {
  if (problem === undefined) return null
  const { status, code, message } = problem
  if (status === 0)
    return (
      <p class="problem" role="alert">
        {t.unreachable(message)}
      </p>
    )
  return (
    <p class="problem" role="alert">
      <a href={`/docs#${code}`}>{code}</a> {message}
      {status === 403 && <> {t.noPermission}</>}
    </p>
  )
}

/** What was asked for, once it is there; before that what is wrong, or that it is on its way. */
export function Shown<Answer>({
  asked,
  children,
}: {
  asked: Asked<Answer>
  children: (answer: Answer) => ComponentChildren
}) {
  const { answer, problem } = asked
  return (
    <>
      <ProblemNote problem={problem} />
      {answer === undefined
        ? problem === undefined && <p class="soft loading">{t.loading}</p>
        : children(answer)}
    </>
  )
}

/** A column of a table. */
export type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly numeric?: boolean
}

/** A table, which scrolls in itself where it is too wide. */
export function Table<Row>(props: {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  empty?: string
}) {
  const { caption, columns, rows, keyOf, empty = t.nothing } = props
  if (rows.length === 0) return <p class="soft">{empty}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="scroll" tabIndex={0} aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, numeric }) => (
              <th scope="col" class={numeric ? 'number' : ''}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ cell, numeric }) => (
                <td class={numeric ? 'number' : ''}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Names and values. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A line to copy. */
export function CopyLine({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <div class="copy-line">
      <div class="copy-head">
        <span class="soft">{label}</span>
        {navigator.clipboard && (
          <button type="button" class="quiet" onClick={copy}>
            {copied ? t.copied : t.copy}
          </button>
        )}
      </div>
      <pre>{text}</pre>
    </div>
  )
}

/** An input with its label, and what it means. */
export function Input(props: {
  label: string
  value: string
  onValue: (value: string) => void
  hint?: string | undefined
  type?: 'text' | 'password' | 'datetime-local'
  placeholder?: string
  required?: boolean
  autocomplete?: string
}) {
  const { label, value, onValue, hint, type = 'text', ...rest } = props
  return (
    <label class="input">
      <span>{label}</span>
      <input
        type={type as 'text'}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
        spellcheck={false}
        {...rest}
      />
      {hint && <small class="soft">{hint}</small>}
    </label>
  )
}

/** A choice with its label. */
export function Select(props: {
  label: string
  value: string
  onValue: (value: string) => void
  options: readonly (readonly [value: string, text: string])[]
  hidden?: boolean
}) {
  const { label, value, onValue, options, hidden } = props
  return (
    <label class="input">
      <span class={hidden ? 'hidden' : ''}>{label}</span>
      <select value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A box to tick, with its label. */
export function Check({
  label,
  value,
  onValue,
}: {
  label: string
  value: boolean
  onValue: (value: boolean) => void
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => onValue(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}
