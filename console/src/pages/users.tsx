/** Users with their rules, and tokens without their secrets. */
import type { Token, User } from '../answers.ts'
import { useAsked } from '../asking.ts'
import { momentText } from '../formats.ts'
import type { Route } from '../route.ts'
import { t } from '../texts.ts'
import { Badge, Card, Moment, PageHead, Shown, Table } from '../ui.tsx'

/** The page. */
export function UsersPage(_: { route: Route }) {
  const users = useAsked<{ users: readonly User[] }>('/v1/users')
  const tokens = useAsked<{ tokens: readonly Token[] }>('/v1/tokens')
  return (
    <>
      <PageHead title={t.nav.users} lead={t.usersLead} />
      <div class="cards">
        <Card title={t.usersTitle} wide>
          <Shown asked={users}>
            {(answer) => (
              <Table
                caption={t.usersTitle}
                rows={answer.users}
                keyOf={({ name }) => name}
                columns={[
                  { head: t.name, cell: ({ name }) => name },
                  {
                    head: t.state,
                    cell: ({ enabled }) => (
                      <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? t.on : t.off}</Badge>
                    ),
                  },
                  {
                    head: t.passwords,
                    cell: ({ nopass, passwords }) =>
                      nopass ? <Badge tone="warn">{t.anyPassword}</Badge> : String(passwords),
                    numeric: true,
                  },
                  { head: t.patterns, cell: ({ patterns }) => <code>{patterns.join(' ') || '–'}</code> },
                  { head: t.mayRun, cell: ({ commands }) => <code>{commands.join(' ') || '–'}</code> },
                ]}
              />
            )}
          </Shown>
        </Card>
        <Card title={t.tokensTitle} note={t.tokensNote} wide>
          <Shown asked={tokens}>
            {(answer) => (
              <Table
                caption={t.tokensTitle}
                rows={answer.tokens}
                keyOf={({ id }) => id}
                columns={[
                  { head: t.tokenId, cell: ({ id }) => <code>{id}</code> },
                  { head: t.user, cell: ({ user }) => user },
                  { head: t.label, cell: ({ label }) => label },
                  {
                    head: t.state,
                    cell: ({ valid }) => (
                      <Badge tone={valid ? 'good' : 'bad'}>{valid ? t.valid : t.invalid}</Badge>
                    ),
                  },
                  {
                    head: t.narrowed,
                    cell: ({ rules }) => (rules.length === 0 ? t.allOfUser : <code>{rules.join(' ')}</code>),
                  },
                  {
                    head: t.created,
                    cell: ({ created, createdBy }) => (
                      <>
                        <Moment at={created} />, {createdBy}
                      </>
                    ),
                  },
                  {
                    head: t.expires,
                    cell: ({ expires }) => (expires === null ? t.never : momentText(expires)),
                    numeric: true,
                  },
                ]}
              />
            )}
          </Shown>
        </Card>
      </div>
    </>
  )
}
