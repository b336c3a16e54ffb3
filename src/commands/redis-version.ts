/**
 * The version of Redis whose commands and replies Fahao follows. HELLO and INFO state it for libraries that choose their
 * features by it. 7.4 is the first with which caches of libraries work.
 */
export const redisVersion = '7.4.0'
