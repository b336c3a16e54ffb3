import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { vmGeneration } from '../../../src/node/vm-generation.ts'

/** The page of a VMClock device, with fields as the specification places them. */
function page({ magic = 'VCLK', marker = 1n, flags = 1n << 8n, generation = 1n } = {}): Buffer {
  const bytes = Buffer.alloc(4096)
  bytes.write(magic, 0, 'latin1')
  bytes.writeBigUInt64LE(marker, 16)
  bytes.writeBigUInt64LE(flags, 24)
  bytes.writeBigUInt64LE(generation, 104)
  return bytes
}

function device(test: TestContext, first: Buffer) {
  const folder = mkdtempSync(join(tmpdir(), 'fahao-vmclock-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'vmclock0')
  const show = (bytes: Buffer) => writeFileSync(path, bytes, { flag: 'r+' })
  writeFileSync(path, first)
  return { path, show }
}

describe('the generation of a virtual machine', () => {
  test('changes with the counter of restores, and with the marker of disruptions', (test) => {
    const { path, show } = device(test, page())
    const mark = vmGeneration(path)!
    const first = mark.read()
    assert.equal(mark.read(), first)
    show(page({ generation: 2n }))
    const restored = mark.read()
    show(page({ generation: 2n, marker: 2n }))
    assert.equal(new Set([first, restored, mark.read()]).size, 3)
  })

  test('is the marker alone where the machine does not count its restores', (test) => {
    const { path, show } = device(test, page({ flags: 0n }))
    const mark = vmGeneration(path)!
    const first = mark.read()
    show(page({ flags: 0n, generation: 2n }))
    assert.equal(mark.read(), first)
    show(page({ flags: 0n, marker: 2n }))
    assert.notEqual(mark.read(), first)
  })

  test('is not shown without the device, and not by another file', (test) => {
    assert.equal(vmGeneration('/dev/no-such-device'), undefined)
    assert.equal(vmGeneration(device(test, page({ magic: 'ELSE' })).path), undefined)
    assert.equal(vmGeneration(device(test, Buffer.alloc(10)).path), undefined)
  })
})
