/** The login: a user and a password, or a token. Tried by `GET /v1/whoami`. */
import { useState } from 'preact/hooks'
import { ask, type Problem } from './api.ts'
import { basicHeader, bearerHeader, keepAuthorization } from './session.ts'
import { t } from './texts.ts'
import { Input, ProblemNote } from './ui.tsx'

/** The form. `ended`: after a login that the node refuses by now. */
export function Login({ ended }: { ended: boolean }) {
  const [user, setUser] = useState('')
  const [password, setPassword] = useState('')
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<Problem>()
  const [busy, setBusy] = useState(false)
  const logIn = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setProblem(undefined)
    const header = token === '' ? basicHeader(user, password) : bearerHeader(token)
    const refused = await tryHeader(header)
    setBusy(false)
    if (refused === undefined) keepAuthorization(header)
    else setProblem(refused)
  }
  return (
    <form class="card login" onSubmit={logIn}>
      <h1>{t.logIn}</h1>
      {ended && problem === undefined && (
        <p class="problem" role="alert">
          {t.loginEnded}
        </p>
      )}
      <p class="soft">{t.loginLead}</p>
      <Input label={t.user} value={user} onValue={setUser} autocomplete="username" />
      <Input
        label={t.password}
        type="password"
        value={password}
        onValue={setPassword}
        autocomplete="current-password"
      />
      <Input
        label={t.orToken}
        type="password"
        value={token}
        onValue={setToken}
        autocomplete="off"
        hint={t.tokenHint}
      />
      <ProblemNote problem={problem} />
      <button type="submit" class="primary" disabled={busy}>
        {t.logIn}
      </button>
      <p class="soft">{t.sessionNote}</p>
    </form>
  )
}

/** Why a header is refused; undefined: it is not. */
async function tryHeader(header: string): Promise<Problem | undefined> {
  return await ask({ method: 'GET', path: '/v1/whoami' }, undefined, header).then(
    () => undefined,
    (problem: Problem) => problem,
  )
}
