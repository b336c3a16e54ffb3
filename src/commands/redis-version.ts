/**
 * The version of Redis whose commands and replies Fahao follows: what HELLO and INFO tell libraries that choose
 * their features by it. 7.2 is the first with CLIENT SETINFO.
 */
export const redisVersion = '7.2.0'
