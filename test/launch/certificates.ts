/** Certificates of an authority of one's own, for loopback. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './program.ts'

/** Files in PEM: the authority, and a certificate by it for servers and clients alike, with its key. */
export type CertificateFiles = { readonly ca: string; readonly cert: string; readonly key: string }

/** Makes them in a folder, which is made as well. */
export async function makeCertificates(folder: string): Promise<CertificateFiles> {
  mkdirSync(folder, { recursive: true })
  const file = (name: string) => join(folder, name)
  const files = { ca: file('ca.pem'), cert: file('cert.pem'), key: file('key.pem') }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const authority = ['-x509', ...newKey, '-keyout', file('ca-key.pem'), '-out', files.ca]
  await runProgram(['openssl', 'req', ...authority, '-days', '2', '-subj', '/CN=Test authority'])
  const request = [...newKey, '-keyout', files.key, '-out', file('request.pem')]
  await runProgram(['openssl', 'req', ...request, '-subj', '/CN=fahao'])
  writeFileSync(file('extensions'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
  const signing = ['-CA', files.ca, '-CAkey', file('ca-key.pem'), '-CAcreateserial', '-days', '2']
  const signed = ['-in', file('request.pem'), '-out', files.cert, '-extfile', file('extensions')]
  await runProgram(['openssl', 'x509', '-req', ...signing, ...signed])
  return files
}
