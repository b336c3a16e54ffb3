/** Moments as Leaf writes them: in the time zone of this process. */

/** `2019-09-06 09:35:00`. */
export function localTime(date: Date): string {
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${day} ${time}`
}

/** A database's timestamp as Java's `Timestamp` writes it: `2019-09-06 09:35:00.0`, with as many digits as it takes. */
export function timestampText(unixUs: number): string {
  const fraction = String(unixUs % 1_000_000).padStart(6, '0')
  return `${localTime(new Date(Math.floor(unixUs / 1000)))}.${fraction.replace(/0{1,5}$/, '')}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
