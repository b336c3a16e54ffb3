/** Failures in the form of CosId's proxy, `{"code","msg","errors"}`, and the one of a parameter that is missing. Its Java client reads the body of every 400. */
import type { FastifyRequest } from 'fastify'
import { describe, type ErrorCode, FahaoError } from '../../base/errors.ts'
import { problemOf } from '../problem.ts'
import { parameterOf } from './api.ts'
import { SpringFailure } from './spring.ts'

/** CosId's codes for errors that have an exception of their own in its client. The code of any other is its HTTP status. */
const codes: Partial<Record<ErrorCode, string>> = {
  // MachineIdOverflowException
  EXHAUSTED: 'M-01',
  // MachineIdLostException
  NOLEASE: 'M-03',
}

/** The failure of a guard whose instance is unknown: CosId's NotFoundMachineStateException. */
export function unknownInstance(error: FahaoError): SpringFailure {
  return failureOf(400, 'M-02', describe(error), error)
}

/** The failure of an error of a request for a machine id. */
export function machineFailure(error: unknown): SpringFailure | undefined {
  if (error instanceof SpringFailure) return error
  const code = error instanceof FahaoError ? codes[error.code] : undefined
  return code === undefined ? cosidFailure(error) : failureOf(400, code, describe(error), error)
}

/** The failure of any other error; undefined: a fault of this server. */
export function cosidFailure(error: unknown): SpringFailure | undefined {
  if (error instanceof FahaoError) {
    return failureOf(error.status, String(error.status), describe(error), error)
  }
  const { status, detail } = problemOf(error, '')
  return status < 500 ? failureOf(status, String(status), detail, error) : undefined
}

function failureOf(status: number, code: string, msg: string, cause: unknown): SpringFailure {
  return new SpringFailure(status, undefined, msg, cause, JSON.stringify({ code, msg, errors: [] }))
}

/** The value of a parameter; ERR without it. */
export function required(request: FastifyRequest, name: string): string {
  const value = parameterOf(request, name)
  if (value !== undefined && value !== '') return value
  throw new FahaoError('ERR', `the parameter '${name}' is missing`)
}
