/** Which form of an answer a client prefers. */

/** Whether an Accept header prefers text/plain to application/json (RFC 9110, 12.5.1). */
export function prefersText(accept: string | undefined): boolean {
  if (accept === undefined || !accept.includes('text/')) return false
  const text = quality(accept, 'text/plain') ?? quality(accept, 'text/*') ?? 0
  const json =
    quality(accept, 'application/json') ?? quality(accept, 'application/*') ?? quality(accept, '*/*') ?? 0
  return text > 0 && text >= json
}

function quality(accept: string, type: string): number | undefined {
  for (const part of accept.toLowerCase().split(',')) {
    const [media, ...parameters] = part.split(';').map((piece) => piece.trim())
    if (media !== type) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  }
  return undefined
}
