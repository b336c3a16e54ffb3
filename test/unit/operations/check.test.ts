/** ID.CHECK: what is said of typed texts, the work that it may cost, and its limits. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CheckLimits } from '../../../src/auth/check-limits.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { type CheckedText, check, checkOperation } from '../../../src/operations/check.ts'
import type { OperationContext } from '../../../src/operations/context.ts'
import { type Node, startNode } from '../catalogue/node.ts'
import { Dice } from '../dice.ts'
import { FakeClock } from '../fake-clock.ts'

const unlimited = { take() {}, giveBack() {}, left: () => 1e6 }
const coupons: GeneratorInput = { kind: 'segment', scramble: true, format: '{id:8:crockford}{check:mod37-2}' }

function contextOf({ catalogue }: Pick<Node, 'catalogue'>, checks: unknown = unlimited): OperationContext {
  const server = { access: { checks }, turns: { take: async () => {} } }
  const caller = { access: { user: 'till' }, address: '10.0.0.1:5000' }
  return { catalogue, server, caller } as unknown as OperationContext
}

/** `count` texts that were issued. */
async function issued({ catalogue }: Node, count: number, name = 'coupon'): Promise<string[]> {
  const generator = await catalogue.open(name)
  const runs = await generator.draw(count)
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => generator.text(run.at(at))))
}

async function said(node: Node, ...texts: string[]): Promise<CheckedText[]> {
  return (await check(contextOf(node), 'coupon', texts)).checked
}

/** A text with one error of a person; undefined: the error makes no other text. */
function mistyped(text: string, error: number, dice: Dice): string | undefined {
  const at = dice.below(text.length - 1)
  const [one, other] = [text[at]!, text[at + 1]!]
  const alike: Record<string, string> = {
    5: 'S',
    S: '5',
    8: 'B',
    B: '8',
    2: 'Z',
    Z: '2',
    6: 'G',
    G: '6',
    V: 'U',
  }
  const changed = [
    text.slice(0, at) + other + one + text.slice(at + 2),
    text.slice(0, at) + (alike[one] ?? one) + text.slice(at + 1),
    text.slice(0, at) + text.slice(at + 1),
    text.slice(0, at) + one + text.slice(at),
  ][error % 4]!
  return changed === text ? undefined : changed
}

describe('what is said of a text', () => {
  test('is that it may have been issued, that it never was, or that it is malformed', async () => {
    const node = await startNode({
      generators: { coupon: { kind: 'sequence', format: 'c{id:6}{check:luhn}' } },
    })
    const [first] = await issued(node, 3)
    assert.equal(first, 'c0000018')
    const last = (await node.catalogue.open('coupon')).text(999_999n)
    const [may, wrong, far, short] = await said(node, first!, 'c0000019', last, 'c00018')
    assert.deepEqual(may, { text: first, verdict: 'may-have-been-issued', id: '1', why: null, mayBe: [] })
    assert.deepEqual([wrong!.verdict, wrong!.id], ['malformed', null])
    assert.match(wrong!.why!, /check digit/)
    assert.deepEqual([far!.verdict, far!.id], ['never-issued', '999999'])
    assert.match(far!.why!, /no id at or above it/)
    assert.match(short!.why!, /characters/)
    await node.stop()
  })

  test('names the text that a mistyped one may have been', async () => {
    const node = await startNode({ generators: { coupon: coupons } })
    const [text] = await issued(node, 1)
    for (const wrong of [text!.slice(1), `${text!.slice(0, 3)}${text!.slice(2)}`])
      assert.deepEqual((await said(node, wrong))[0]!.mayBe, [text], wrong)
    await node.stop()
  })

  test('names texts as they are issued, also where the missing sign is one of check digits alone', async () => {
    const format = '{id:6:alphabet=234679ACDEFGHJKMNPQRTXYZ:group=3}{check:mod37-2}'
    const node = await startNode({ generators: { coupon: { kind: 'segment', format } } })
    for (const text of await issued(node, 40)) {
      const [lenient, short] = await said(node, text.replace('-', '').toLowerCase(), text.slice(0, -1))
      assert.deepEqual([lenient!.verdict, lenient!.mayBe], ['may-have-been-issued', [text]])
      assert.ok(short!.mayBe.includes(text), `${text}: ${short!.mayBe}`)
    }
    await node.stop()
  })

  test('takes none of 1,000 mistyped codes for another one, and names the right one of most', async () => {
    const node = await startNode({ generators: { coupon: coupons } })
    const codes = new Set(await issued(node, 1000))
    const dice = new Dice(11)
    let [typed, caught, repaired] = [0, 0, 0]
    let error = 0
    for (const code of codes) {
      const wrong = mistyped(code, error++, dice)
      if (wrong === undefined) continue
      const [{ verdict, mayBe }] = (await said(node, wrong)) as [CheckedText]
      typed++
      if (verdict !== 'may-have-been-issued') caught++
      // Look-alikes that are no digits are read as the digit that is meant: then nothing was mistyped.
      else assert.ok(mistypedReadsAs(node, wrong, code), `${wrong} for ${code}`)
      if (mayBe.includes(code) || verdict === 'may-have-been-issued') repaired++
    }
    assert.ok(typed > codes.size * 0.6, `${typed}`)
    assert.ok(repaired / typed > 0.99, `${typed} typed, ${caught} caught, ${repaired} repaired`)
    await node.stop()
  })

  test('costs no more for texts that are meant to cost much', async (t) => {
    const node = await startNode({ generators: { coupon: { kind: 'segment', format: '{id::base62}' } } })
    await issued(node, 1)
    const hostile = [
      '',
      '\u0000',
      '‮',
      '😀'.repeat(64),
      'O0Il1'.repeat(51),
      '-'.repeat(256),
      '{id}',
      '9'.repeat(256),
    ]
    const texts = Array.from({ length: 100 }, (_, at) => hostile[at % hostile.length]!)
    const { format } = await node.catalogue.issuedBelow('coupon')
    const parse = t.mock.method(format!, 'parse')
    assert.equal((await said(node, ...texts)).length, 100)
    assert.ok(parse.mock.callCount() <= 1100, `${parse.mock.callCount()}`)
    for (const [over, of] of [
      [Array.from({ length: 101 }, () => '1'), '100 texts'],
      [['1'.repeat(257)], '256 characters'],
      [Array.from({ length: 100_000 }, () => '1'), '100 texts'],
    ] as const)
      await assert.rejects(said(node, ...over), { code: 'LIMIT', message: new RegExp(of) })
    await node.stop()
  })
})

function mistypedReadsAs({ catalogue }: Node, text: string, code: string): boolean {
  const generator = catalogue.find('coupon')!
  return generator.parse(text) === generator.parse(code)
}

describe('the limits of ID.CHECK', () => {
  test('are of texts that were not issued, for a user and for a network', async () => {
    const clock = new FakeClock()
    const limits = new CheckLimits(clock)
    limits.take('till', '10.0.0.1', 100)
    const quota = {
      code: 'QUOTA',
      message: /have been checked by this user or from this address; retry in 1 s$/,
    }
    assert.throws(() => limits.take('till', '10.0.0.2', 1), quota)
    for (let user = 1; user < 10; user++) limits.take(`other${user}`, '10.0.0.1', 100)
    assert.throws(() => limits.take('last', '10.0.0.1', 1), quota)
    limits.take('last', '10.0.0.2', 1)
    await clock.pass(1000)
    limits.take('till', '10.0.0.1', 1)
    assert.equal(limits.left('till', '10.0.0.1'), 0)
  })

  test('admit no more texts than are left, also of requests at one moment', async () => {
    const node = await startNode({ generators: { coupon: coupons } })
    const limits = new CheckLimits(new FakeClock())
    const context = contextOf(node, limits)
    const guesses = (count: number) => Array.from({ length: count }, (_, at) => `guess no ${at}`)
    const answers = await Promise.allSettled(
      Array.from({ length: 50 }, () => check(context, 'coupon', guesses(40))),
    )
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 2)
    await assert.rejects(check(context, 'coupon', guesses(21)), {
      code: 'QUOTA',
      message: /retry in 1 s, or check fewer texts at once$/,
    })
    await check(context, 'coupon', guesses(20))
    assert.equal(limits.left('till', '10.0.0.1'), 0)
    await node.stop()
  })

  test('count nothing of a request that fails', async () => {
    const node = await startNode()
    const limits = new CheckLimits(new FakeClock())
    await assert.rejects(check(contextOf(node, limits), 'coupon', ['1', '2']), { code: 'NOGENERATOR' })
    assert.equal(limits.left('till', '10.0.0.1'), 100)
    await node.stop()
  })

  test('count each text that is looked up for a mistyped one', async () => {
    const options: GeneratorInput = { kind: 'segment', scramble: true, format: '{id:8:crockford}' }
    const node = await startNode({ generators: { coupon: options } })
    await issued(node, 1)
    const limits = new CheckLimits(new FakeClock())
    let looked = 0
    const issuedBelow = async (name: string) => {
      const found = await node.catalogue.issuedBelow(name)
      const never = (id: bigint) => {
        looked++
        return found.never(id)
      }
      return { ...found, never }
    }
    const context = contextOf({ catalogue: { issuedBelow } as never }, limits)
    await check(context, 'coupon', ['7K3X9Q2M'])
    assert.ok(looked > 10 && looked <= 21, `${looked}`)
    assert.equal(limits.left('till', '10.0.0.1'), 100 - looked)
    for (let each = 0; each < 50 && limits.left('till', '10.0.0.1') > 0; each++)
      await check(context, 'coupon', ['7K3X9Q2M'])
    assert.equal(looked, 100)
    await node.stop()
  })

  test('end guesses of one user, and count nothing that may have been issued', async () => {
    const node = await startNode({ generators: { coupon: coupons } })
    const codes = await issued(node, 100)
    const context = contextOf(node, new CheckLimits(new FakeClock()))
    for (let each = 0; each < 5; each++) await check(context, 'coupon', codes)
    await check(
      context,
      'coupon',
      Array.from({ length: 100 }, (_, at) => `guess${at}`),
    )
    await assert.rejects(check(context, 'coupon', codes.slice(0, 1)), { code: 'QUOTA' })
    await node.stop()
  })

  test('are stated in its notes', () => {
    assert.match(
      checkOperation.notes!,
      /`QUOTA` is the answer where fewer than the texts of a request are left of 100 for a user/,
    )
  })
})
