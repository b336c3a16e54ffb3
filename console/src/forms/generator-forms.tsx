/** What can be done to a generator: create, alter, move forward, drop, draw a sample. */
import { useState } from 'preact/hooks'
import { type Definition, type Generator, type Kind, kinds } from '../answers.ts'
import { generatorPath } from '../api.ts'
import { go, linkTo } from '../route.ts'
import { t } from '../texts.ts'
import { Check, Input, Select } from '../ui.tsx'
import { Action } from './action.tsx'

const periodOptions = ['period', 'zone', 'yearStart', 'width', 'keep']
const counterOptions = [
  'start',
  'increment',
  'offset',
  'gene',
  'max',
  'step',
  'horizon',
  'issueTimeout',
  'format',
  ...periodOptions,
]
/** The options that forms have, by what takes them. The API names what does not fit. */
const optionsOf: Readonly<Record<Kind, readonly string[]>> = {
  sequence: counterOptions,
  segment: [...counterOptions, 'within'],
  timestamp: ['layout', 'epoch', 'node', 'sequenceStart', 'borrowMax', 'horizon', 'issueTimeout', 'format'],
  snowflake: ['layout', 'epoch', 'sequenceStart', 'borrowMax', 'issueTimeout', 'format'],
}
/** A change of one of these begins a new incarnation. */
const fixed = [
  'kind',
  'increment',
  'offset',
  'gene',
  'within',
  'scramble',
  'layout',
  'epoch',
  'node',
  ...periodOptions,
]
/** Options of a creation that an alteration does not have. */
const onlyAtCreation = ['start']

type Values = Readonly<Record<string, string>>

/** Creates a generator, and shows it. */
export function CreateGenerator() {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('sequence')
  const [values, setValues] = useState<Values>({})
  const options = { kind, ...given(values, optionsOf[kind]) }
  return (
    <Action
      label={t.create}
      title={t.createTitle}
      does={[t.createDoes, t.kindMeaning[kind]]}
      undo={t.createUndo}
      command={{ verb: ['create'], options: flagsOf(options), about: [name === '' ? 'NAME' : name] }}
      request={name === '' ? undefined : { method: 'PUT', path: generatorPath(name), body: options }}
      onDone={() => go(linkTo('generators', [name]))}
    >
      <Input label={t.name} value={name} onValue={setName} required autocomplete="off" />
      <Select
        label={t.kind}
        value={kind}
        onValue={(each) => setKind(each as Kind)}
        options={kinds.map((each) => [each, each])}
      />
      <Options names={optionsOf[kind]} values={values} onValues={setValues} />
    </Action>
  )
}

/** Changes options of a generator. */
export function AlterGenerator({ generator, onDone }: { generator: Generator; onDone: () => void }) {
  const { name, definition } = generator
  const [kind, setKind] = useState(definition.kind)
  const [values, setValues] = useState<Values>({})
  const names = optionsOf[kind].filter((each) => !onlyAtCreation.includes(each))
  const changes = { ...(kind === definition.kind ? {} : { kind }), ...given(values, names) }
  const begins = Object.keys(changes).filter((each) => fixed.includes(each))
  return (
    <Action
      label={t.alter}
      title={t.alterTitle(name)}
      does={[t.alterDoes, ...(begins.length === 0 ? [] : [t.alterIncarnation(begins.join(', '))])]}
      undo={begins.length === 0 ? t.alterUndo : t.alterUndoIncarnation}
      {...(begins.length === 0 ? {} : { name })}
      command={{ verb: ['alter'], options: flagsOf(changes), about: [name] }}
      request={
        Object.keys(changes).length === 0
          ? undefined
          : { method: 'PATCH', path: generatorPath(name), body: changes }
      }
      onDone={() => {
        setValues({})
        onDone()
      }}
    >
      <Select
        label={t.kind}
        value={kind}
        onValue={(each) => setKind(each as Kind)}
        options={kinds.map((each) => [each, each])}
      />
      <Options names={names} values={values} onValues={setValues} definition={definition} />
    </Action>
  )
}

/** Moves a counter forward. */
export function MoveFloor({ generator, onDone }: { generator: Generator; onDone: () => void }) {
  const { name, kind, bound } = generator
  const [floor, setFloor] = useState('')
  const [now, setNow] = useState(false)
  const [force, setForce] = useState(false)
  const ok = /^\d{1,19}$/.test(floor)
  const body = { floor, ...(now ? { now } : {}), ...(force ? { force } : {}) }
  return (
    <Action
      label={t.moveFloor}
      title={t.floorTitle(name)}
      does={[
        t.floorDoes(ok ? floor : 'ID'),
        ...(kind === 'segment' ? [now ? t.floorNow : t.floorLater] : []),
      ]}
      undo={t.floorUndo}
      name={name}
      command={{
        verb: ['alter'],
        options: ['--floor', ok ? floor : 'ID', ...(now ? ['--now'] : []), ...(force ? ['--force'] : [])],
        about: [name],
      }}
      request={ok ? { method: 'PATCH', path: generatorPath(name), body } : undefined}
      onDone={onDone}
    >
      <Input
        label={t.floor}
        value={floor}
        onValue={setFloor}
        hint={bound === null ? undefined : t.boundIs(bound)}
      />
      {kind === 'segment' && <Check label={t.floorNowLabel} value={now} onValue={setNow} />}
      <Check label={t.floorForce} value={force} onValue={setForce} />
    </Action>
  )
}

/** Drops a generator, and shows the list. */
export function DropGenerator({ name }: { name: string }) {
  return (
    <Action
      label={t.drop}
      title={t.dropTitle(name)}
      does={[t.dropDoes, t.dropKeeps]}
      undo={t.dropUndo}
      name={name}
      command={{ verb: ['drop'], about: [name] }}
      request={{ method: 'DELETE', path: generatorPath(name) }}
      onDone={() => go(linkTo('generators'))}
    />
  )
}

/** Draws ids, which are used up by it. */
export function DrawSample({ name, onDone }: { name: string; onDone?: () => void }) {
  const [count, setCount] = useState('1')
  const ok = /^[1-9]\d{0,3}$/.test(count)
  return (
    <Action
      label={t.draw}
      title={t.drawTitle(name)}
      does={[t.drawDoes(ok ? count : 'N')]}
      undo={t.drawUndo}
      command={{ verb: ['next'], options: count === '1' ? [] : ['--count', count], about: [name] }}
      request={
        ok
          ? { method: 'POST', path: `${generatorPath(name)}/next${count === '1' ? '' : `?count=${count}`}` }
          : undefined
      }
      onDone={() => onDone?.()}
    >
      <Input label={t.count} value={count} onValue={setCount} />
    </Action>
  )
}

/** Inputs of options; what is left empty is not sent. */
function Options(props: {
  names: readonly string[]
  values: Values
  onValues: (values: Values) => void
  definition?: Definition
}) {
  const { names, values, onValues, definition } = props
  return (
    <details>
      <summary>{t.options}</summary>
      <p class="soft">{definition === undefined ? t.emptyIsDefault : t.emptyStays}</p>
      <div class="option-grid">
        {names.map((name) => (
          <Input
            key={name}
            label={name}
            value={values[name] ?? ''}
            onValue={(value) => onValues({ ...values, [name]: value })}
            hint={t.optionHints[name]}
            placeholder={definition?.[name] === undefined ? '' : String(definition[name])}
          />
        ))}
      </div>
    </details>
  )
}

function given(values: Values, names: readonly string[]): Values {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value.trim() !== '' && names.includes(name)),
  )
}

/** `{ stepMax: '5' }` as `--step-max 5`. */
function flagsOf(options: Values): string[] {
  return Object.entries(options).flatMap(([name, value]) => [
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    value,
  ])
}
