/**
 * A change that a reader may make: what it does and what cannot be undone stand before the button, with the same as a command and as
 * curl. Where it destroys, the name has to be typed.
 */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ask, type Problem, type Request } from '../api.ts'
import { shellWord } from '../formats.ts'
import { authorization } from '../session.ts'
import { t } from '../texts.ts'
import { CopyLine, Input, ProblemNote } from '../ui.tsx'

/** The same as a command of `fahao`. */
export type Command = {
  readonly verb: readonly string[]
  readonly options?: readonly string[]
  /** What it is about: the name of a generator. */
  readonly about?: readonly string[]
}

/** What an action is. */
export type ActionProps = {
  /** On the button that opens it. */
  readonly label: string
  readonly title: string
  readonly does: readonly string[]
  /** What cannot be undone. */
  readonly undo: string
  /** Given where it destroys: it has to be typed. */
  readonly name?: string
  /** What is sent; undefined: an input is missing. */
  readonly request: Request | undefined
  readonly command: Command
  readonly children?: ComponentChildren
  readonly onDone?: (answer: unknown) => void
}

/** A button, and the dialog that it opens. */
export function Action(props: ActionProps) {
  const { label, title, does, undo, name, request, command, children, onDone } = props
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const [shown, setShown] = useState(false)
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<Problem>()
  const [done, setDone] = useState<{ readonly answer: unknown }>()
  const [busy, setBusy] = useState(false)
  const open = () => {
    setTyped('')
    setProblem(undefined)
    setDone(undefined)
    setShown(true)
  }
  // What gets the focus is there by then.
  useLayoutEffect(() => {
    if (shown) dialog.current!.showModal()
  }, [shown])
  const close = () => dialog.current!.close()
  const submit = async (event: Event) => {
    event.preventDefault()
    if (request === undefined) return
    setBusy(true)
    setProblem(undefined)
    await ask<unknown>(request).then(
      (answer) => setDone({ answer }),
      (refused: Problem) => setProblem(refused),
    )
    setBusy(false)
  }
  const closed = () => {
    setShown(false)
    if (done !== undefined) onDone?.(done.answer)
  }
  return (
    <>
      <button type="button" class={name === undefined ? '' : 'danger'} onClick={open}>
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={heading} onClose={closed}>
        {shown && (
          <form onSubmit={submit}>
            <h2 id={heading}>{title}</h2>
            {done === undefined ? (
              <>
                {children}
                <h3>{t.whatItDoes}</h3>
                <ul>
                  {does.map((each) => (
                    <li>{each}</li>
                  ))}
                </ul>
                <h3>{t.cannotBeUndone}</h3>
                <p>{undo}</p>
                <CopyLine label={t.asCommand} text={lineOf(command)} />
                {request !== undefined && <CopyLine label={t.asCurl} text={curlOf(request)} />}
                {name !== undefined && (
                  <Input label={t.typeName(name)} value={typed} onValue={setTyped} autocomplete="off" />
                )}
                <ProblemNote problem={problem} />
                <div class="actions end">
                  <button type="button" onClick={close}>
                    {t.cancel}
                  </button>
                  <button
                    type="submit"
                    class={name === undefined ? 'primary' : 'danger'}
                    disabled={busy || request === undefined || (name !== undefined && typed !== name)}
                  >
                    {label}
                  </button>
                </div>
              </>
            ) : (
              <>
                <p role="status">{t.done}</p>
                {done.answer !== undefined && <pre>{JSON.stringify(done.answer, undefined, 2)}</pre>}
                <div class="actions end">
                  <button type="button" class="primary" onClick={close}>
                    {t.close}
                  </button>
                </div>
              </>
            )}
          </form>
        )}
      </dialog>
    </>
  )
}

/** A command as a line of a shell. A password is asked for or is FAHAO_PASSWORD, a token is FAHAO_TOKEN: they are not shown. */
function lineOf({ verb, options = [], about = [] }: Command): string {
  const user = userOf(authorization())
  return [
    'fahao',
    ...verb,
    ...options,
    // Unless it is where every command asks.
    ...(location.origin === 'http://127.0.0.1:7380' ? [] : ['--url', location.origin]),
    ...(user === undefined ? [] : ['--user', user]),
    // A name that begins so would be read as an option.
    ...(about.some((each) => each.startsWith('-')) ? ['--'] : []),
    ...about,
  ]
    .map(shellWord)
    .join(' ')
}

/** The request as a line of curl, which asks for a password; a token is FAHAO_TOKEN. */
export function curlOf({ method, path, body }: Request): string {
  const header = authorization()
  const user = userOf(header)
  const words = [
    'curl',
    '-X',
    method,
    ...(user === undefined ? [] : ['-u', user]),
    ...(body === undefined ? [] : ['-H', 'content-type: application/json', '-d', JSON.stringify(body)]),
    `${location.origin}${path}`,
  ].map(shellWord)
  if (header !== undefined && user === undefined)
    words.splice(1, 0, '-H', '"authorization: Bearer $FAHAO_TOKEN"')
  return words.join(' ')
}

/** Who has logged in with a password; undefined: there is no login, or it is a token. */
function userOf(header: string | undefined): string | undefined {
  if (!header?.startsWith('Basic ')) return undefined
  const bytes = Uint8Array.from(atob(header.slice('Basic '.length)), (each) => each.charCodeAt(0))
  return new TextDecoder().decode(bytes).split(':')[0]!
}
