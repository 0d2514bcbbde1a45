// What can go wrong, as classes. A program branches on the class or on `code`, which never changes its meaning.

import type { components } from './openapi.js';

export type Problem = components['schemas']['Problem'];
export type Run = components['schemas']['Run'];

/** What an error says beside its code and message. */
export interface ErrorDetails {
  status?: number; runId?: string; retryAfterMs?: number; problem?: Problem; cause?: unknown;
}

/** All that this package throws is one, but for what an AbortSignal says and what cannot be written as JSON. */
export class StepwellError extends Error {
  /** The API's code, as RUN_OVER; or one of the client's, as UNREACHABLE: each class says its own. */
  readonly code: string;
  /** Of the HTTP answer; 0: there was none. */
  readonly status: number;
  /** The run that it is about, where it is about one. */
  readonly runId: string | undefined;
  /** How long to wait before the same may work, where the server says so. */
  readonly retryAfterMs: number | undefined;
  /** What the server said, as it said it. */
  readonly problem: Problem | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.status = details.status ?? 0;
    this.runId = details.runId;
    this.retryAfterMs = details.retryAfterMs;
    this.problem = details.problem;
  }
}

/** INVALID and the like: the request makes no sense to the server. Nothing was written. */
export class InvalidError extends StepwellError {}
/** UNFIT: a value does not fit the type of the code that takes it: see `problem.errors`. Nothing was written. */
export class UnfitError extends InvalidError {}
/** TOO_LARGE: the body, or a value in it. Nothing was written. */
export class TooLargeError extends InvalidError {}
/** UNAUTHENTICATED: no valid key. */
export class UnauthenticatedError extends StepwellError {}
/** FORBIDDEN and the like: the key does not allow this, or a page of another origin sent it. */
export class ForbiddenError extends StepwellError {}
/** NOT_FOUND, NO_ROUTE: no such run, queue or active hook. */
export class NotFoundError extends StepwellError {}
/** CONFLICT and others with status 409: what is there already stands against it. */
export class ConflictError extends StepwellError {}
/** RUN_EXISTS: the ID is taken by another run. */
export class RunExistsError extends ConflictError {}
/** RUN_OVER: nothing about the run changes any more. */
export class RunOverError extends ConflictError {}
/** DELIVERY_USED: the key was used for another payload. Nothing was written. */
export class DeliveryUsedError extends ConflictError {}
/** BUSY, INBOX_FULL: too much at once; again later. */
export class BusyError extends StepwellError {}
/** RATE_LIMITED: the rate of a workflow lets in no more starts now. Nothing was started. */
export class RateLimitedError extends BusyError {}
/** UNREACHABLE, STORAGE, HTTP_502: the server is away. It may have been done: repeat it under the same key. */
export class UnavailableError extends StepwellError {}
/** NOT_OVER: the run did not end within the timeout of `result`. It goes on. */
export class NotOverError extends StepwellError {}
/** STREAM_BROKEN, or the code of its writer's error: what was read of a stream is not all, and there is no more. */
export class StreamError extends StepwellError {}

/** A run is over and has no result. Its `run.error` says why: message, code, name and causes. */
export class RunEndedError extends StepwellError {
  constructor(code: string, message: string, readonly run: Run) {
    super(code, message, { runId: run.id });
  }
}
/** RUN_FAILED: the run failed. */
export class RunFailedError extends RunEndedError {}
/** RUN_CANCELLED: the run was cancelled. */
export class RunCancelledError extends RunEndedError {}

type ErrorClass = new (code: string, message: string, details?: ErrorDetails) => StepwellError;

const byCode: Record<string, ErrorClass> = {
  UNFIT: UnfitError, RUN_EXISTS: RunExistsError, RUN_OVER: RunOverError, DELIVERY_USED: DeliveryUsedError,
  RATE_LIMITED: RateLimitedError, BUSY: BusyError,
};

const byStatus: Record<number, ErrorClass> = {
  400: InvalidError, 405: InvalidError, 406: InvalidError, 415: InvalidError, 422: InvalidError, 413: TooLargeError,
  401: UnauthenticatedError, 403: ForbiddenError, 421: ForbiddenError, 404: NotFoundError, 409: ConflictError,
  429: BusyError, 408: UnavailableError, 502: UnavailableError, 503: UnavailableError, 504: UnavailableError,
};

/** errorOf makes the error of an answer that is none of success. What is no problem document is of a proxy. */
export function errorOf(res: Response, text: string, runId?: string): StepwellError {
  let p: Partial<Problem> = {};
  try {
    p = (JSON.parse(text) as Partial<Problem> | null) ?? {};
  } catch { /* see above */ }
  const known = typeof p.code === 'string';
  const code = known ? p.code! : `HTTP_${res.status}`;
  const make = byCode[code] ?? byStatus[res.status] ?? StepwellError;
  const said = p.detail ?? p.title ?? `the answer is ${res.status} ${res.statusText}, and not of a Stepwell server`;
  const after = res.headers.get('retry-after');
  const seconds = after === null ? NaN : /^\d+$/.test(after) ? Number(after) : (Date.parse(after) - Date.now()) / 1000;
  return new make(code, `${code}: ${said}${p.request ? `; request ${p.request}` : ''}`, {
    status: res.status, runId: p.run ?? runId, problem: known ? (p as Problem) : undefined,
    retryAfterMs: p.retryAfterMs ?? (Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : undefined),
  });
}
