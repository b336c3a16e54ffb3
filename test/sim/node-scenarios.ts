/** Installations of whole nodes: all kinds of generators, which operators change while clients draw. */
import type { Scenario } from './scenario.ts'

/** By name. */
export const nodeScenarios: Readonly<Record<string, Scenario>> = {}
