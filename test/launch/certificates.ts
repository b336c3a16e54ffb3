/** Certificates of an authority of one's own, for loopback. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './program.ts'

/** Files in PEM: the authority, and a certificate by it for servers and clients alike, with its key. */
export type CertificateFiles = { readonly ca: string; readonly cert: string; readonly key: string }

/** A key that suites without forward secrecy can use, too. */
export const rsaKey = ['-newkey', 'rsa:2048', '-nodes']
const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/**
 * Makes a certificate for `name`, and replaces an earlier one of that name. Makes the folder and its authority, if they do
 * not exist: all certificates in a folder are by one authority.
 */
export async function makeCertificates(
  folder: string,
  name = 'fahao',
  newKey: readonly string[] = ecKey,
): Promise<CertificateFiles> {
  mkdirSync(folder, { recursive: true })
  const file = (name: string) => join(folder, name)
  const files = { ca: file('ca.pem'), cert: file(`${name}.pem`), key: file(`${name}-key.pem`) }
  if (!existsSync(files.ca)) await makeAuthority(files.ca, file('ca-key.pem'))
  const request = file(`${name}-request.pem`)
  await runProgram([
    'openssl',
    'req',
    ...newKey,
    '-keyout',
    files.key,
    '-out',
    request,
    '-subj',
    `/CN=${name}`,
  ])
  const extensions = file('extensions')
  writeFileSync(extensions, 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
  const signing = ['-CA', files.ca, '-CAkey', file('ca-key.pem'), '-CAcreateserial', '-days', '2']
  const signed = ['-in', request, '-out', files.cert, '-extfile', extensions]
  await runProgram(['openssl', 'x509', '-req', ...signing, ...signed])
  return files
}

async function makeAuthority(ca: string, key: string): Promise<void> {
  const made = ['-x509', ...ecKey, '-keyout', key, '-out', ca, '-days', '2', '-subj', '/CN=Test authority']
  await runProgram(['openssl', 'req', ...made])
}
