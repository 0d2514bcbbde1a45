// A step worker: functions of this program run steps of workflows in Go. docs/workers.md says what a step is.

import { BusyError, StepwellError, UnavailableError } from './errors.js';
import { sleep, stringify } from './http.js';
import type { Duration, Stepwell } from './index.js';
import type { components } from './openapi.js';

type Schemas = components['schemas'];

/** Why an attempt is to end: nobody waits for it, its time is up, it was silent, or its worker lost it or ends. */
export type StepEnd = 'ended' | 'timeout' | 'silence' | 'lost' | 'shutdown';

/** RetryError fails the attempt: `after` says in how many ms the next one begins, `code` is for the workflow. */
export class RetryError extends Error {
  readonly code: string | undefined;
  readonly after: number | undefined;

  constructor(message: string, options: ErrorOptions & { code?: string; after?: number } = {}) {
    super(message, options);
    this.name = new.target.name;
    this.code = options.code;
    this.after = options.after;
  }
}
/** FatalError ends the step: it is not tried again. */
export class FatalError extends RetryError {}

/** StepCancelledError is the reason of a step's signal. */
export class StepCancelledError extends Error {
  constructor(readonly why: StepEnd) {
    super(`the attempt is to end: ${why}`);
    this.name = new.target.name;
  }
}

/** The attempt that a function runs. */
export interface StepContext {
  readonly name: string;
  /** The same on every attempt, and for no other step. A retry of the run has another: for a payment use a key of the order. */
  readonly id: string;
  readonly run: string;
  readonly workflow: string;
  /** From 1. */
  readonly attempt: number;
  /** What an attempt before said last with heartbeat. */
  readonly progress: unknown;
  /** Aborted where the attempt is to end; its reason is a StepCancelledError. */
  readonly signal: AbortSignal;
  /** Says how far the step is, as JSON of 4 KiB. It returns at once; the next attempt finds it in progress. */
  heartbeat(progress?: unknown): void;
  /** Adds to a stream of the run. It is durable when flush resolves, and when the step has completed. */
  write(stream: string, ...chunks: unknown[]): Promise<void>;
  flush(stream: string): Promise<void>;
  /** Says that nothing follows, or with an error that it is not complete. It holds once the step has completed. */
  close(stream: string, error?: string): void;
}

/** What runs a step. */
export type StepFunction<In = any, Out = unknown> = (input: In, step: StepContext) => Out | Promise<Out>;

export interface WorkerOptions {
  /** The functions, by the names of their steps. */
  steps: Record<string, StepFunction>;
  /** How many run at once. Default: 4. */
  concurrency?: number;
  /** What people call it. */
  name?: string;
  /** Behind so long without a heartbeat others do what it had. Default: 10s. */
  lease?: Duration;
  /** How long, in ms, run waits at its end for what runs; the rest is given back. Default: 10,000. */
  drain?: number;
  /** false: run does not listen to SIGTERM and SIGINT, where there are any. */
  signals?: boolean;
  /** Is told what went wrong with a step, or on the way to the server. Whatever is to be tried again is. */
  onError?: (err: unknown, step?: StepContext) => void;
}

const waitMs = 25_000; // of a request for steps: proxies cut what takes longer than 30 s
const fullBytes = 256 << 10; // of a stream, that may wait to be sent
const gone = ['LEASE_LOST', 'RUN_OVER', 'NOT_FOUND']; // nobody waits for the attempt any more

const codeOf = (err: unknown) => (err instanceof StepwellError ? err.code : '');
const temporary = (err: unknown) => err instanceof UnavailableError || err instanceof BusyError
  || codeOf(err) === 'PROTOCOL';

/** Attempt is a step that runs. */
class Attempt implements StepContext {
  readonly name: string;
  readonly id: string;
  readonly run: string;
  readonly workflow: string;
  readonly attempt: number;
  readonly progress: unknown;
  readonly streams = new Map<string, Stream>();
  readonly receipt: string;
  said: unknown;
  fresh = false;
  unheard: { progress?: unknown; position?: number } | undefined; // sent, until the server says that it has it
  position = 0;
  heard = Date.now();
  private readonly end = new AbortController();

  constructor(private readonly worker: Worker, task: Schemas['StepTask']) {
    ({ step: this.name, id: this.id, run: this.run, workflow: this.workflow, attempt: this.attempt } = task);
    ({ receipt: this.receipt, progress: this.progress } = task);
  }

  get signal(): AbortSignal { return this.end.signal; }
  get why(): StepEnd | undefined { return (this.signal.reason as StepCancelledError | undefined)?.why; }

  stop(why: StepEnd): void { if (!this.signal.aborted) this.end.abort(new StepCancelledError(why)); }

  heartbeat(progress: unknown = null): void {
    this.signal.throwIfAborted();
    const text = stringify(progress);
    if (new TextEncoder().encode(text).length > 4096) throw new RangeError('the progress has more than 4 KiB');
    this.said = JSON.parse(text); // as it is now, whatever becomes of it until it is sent
    this.fresh = true;
    this.heard = Date.now();
  }

  write(stream: string, ...chunks: unknown[]): Promise<void> { return this.stream(stream).write(chunks); }
  flush(stream: string): Promise<void> { return this.stream(stream).flush(); }
  close(stream: string, error?: string): void {
    this.stream(stream).end = error === undefined ? { close: true } : { error: { message: error } };
  }

  private stream(name: string): Stream {
    this.signal.throwIfAborted();
    let s = this.streams.get(name);
    if (!s) this.streams.set(name, s = new Stream(this, name, this.worker));
    return s;
  }
}

/** Stream sends what an attempt writes: one request at a time, with all that has come meanwhile. */
class Stream {
  end: { close?: boolean; error?: Schemas['StepError'] } | undefined;
  private chunks: unknown[] = [];
  private bytes = 0;
  private position = 0;
  private sending: Promise<void> | undefined;
  private failure: unknown;

  constructor(private readonly of: Attempt, private readonly name: string, private readonly worker: Worker) {}

  async write(chunks: unknown[]): Promise<void> {
    if (this.end) throw new Error(`the stream ${this.name} is closed`);
    const text = stringify(chunks);
    this.bytes += text.length;
    this.chunks.push(...JSON.parse(text) as unknown[]); // as they are now
    const sent = this.send();
    if (this.failure || this.bytes > fullBytes) await sent;
    if (this.failure) throw this.failure;
  }

  async flush(): Promise<void> {
    while (this.sending || (this.chunks.length && !this.failure)) await this.send();
    if (this.failure) throw this.failure;
  }

  async finish(completed: boolean): Promise<void> {
    await this.flush();
    if (completed && this.end) await this.add(this.end);
  }

  private send(): Promise<void> {
    this.sending ??= (async () => {
      while (this.chunks.length && !this.failure) await this.add({});
    })().catch((err: unknown) => { this.failure = err; }).finally(() => { this.sending = undefined; });
    return this.sending;
  }

  private async add(end: NonNullable<Stream['end']>): Promise<void> {
    const { chunks, position } = this;
    this.chunks = [];
    this.bytes = 0;
    this.position += chunks.length;
    const { receipt } = this.of;
    await this.worker.insist(this.of, 'write', { receipt, stream: this.name, position, chunks, ...end });
  }
}

/** Worker takes steps from a server and runs them, until it is told to stop. */
export class Worker {
  private readonly steps = new Map<string, Attempt>(); // that this worker holds
  private readonly running = new Set<Promise<void>>(); // all, also those that were lost and have not ended
  private readonly stopping = new AbortController();
  private id = '';
  private number = 0;
  private pauseMs = 1000;
  private leaseMs = 10_000;
  private beating: Promise<void> = Promise.resolve();
  private free = () => {};

  constructor(private readonly client: Stepwell, private readonly options: WorkerOptions) {}

  /** stop ends run, as SIGTERM does: what runs has its time to end, and the rest is given back. */
  stop(): void {
    this.stopping.abort();
    this.free();
  }

  /** run works until stop is called, or a signal comes. It throws what no trying can mend, as a key for other steps. */
  async run(): Promise<void> {
    const process = (globalThis as { process?: any }).process;
    const stop = () => this.stop();
    const names = this.options.signals === false || typeof process?.on !== 'function' ? [] : ['SIGTERM', 'SIGINT'];
    for (const name of names) process.on(name, stop);
    const over = new AbortController();
    const beats = this.beats(over.signal);
    try {
      await this.takes();
      await settled(this.running, this.options.drain ?? 10_000);
    } finally {
      for (const step of this.steps.values()) step.stop('shutdown');
      await settled(this.running, 1000); // a function may go on
      over.abort();
      await beats;
      if (this.id) {
        await this.lastWords([...this.steps.values()]);
        await this.ask('leave', { worker: this.id }, { retryFor: 5000, safe: true }).catch(this.tell);
      }
      this.id = '';
      for (const name of names) process.off(name, stop);
    }
  }

  private readonly tell = (err: unknown, step?: StepContext) => this.options.onError?.(err, step);

  private async ask(call: string, body: unknown, more: object = {}): Promise<any> {
    const path = `/v1/steps/${call}`;
    return (await this.client['http'].call({ method: 'POST', path, body, retryFor: 0, within: 10_000, ...more })).value;
  }

  /** insist says something of a step until the server has heard it. StepCancelledError: nobody wants to. */
  async insist(step: Attempt, call: string, body: unknown): Promise<void> {
    for (let pause = 100; step.why !== 'ended' && step.why !== 'lost' && this.id; pause = Math.min(pause * 2, 2000)) {
      try {
        return await this.ask(call, body);
      } catch (err) {
        if (gone.includes(codeOf(err))) step.stop('ended');
        else if (!temporary(err)) throw err;
        else await sleep(pause);
      }
    }
    throw step.signal.reason ?? new StepCancelledError('shutdown');
  }

  private async takes(): Promise<void> {
    const { steps, concurrency = 4, name, lease } = this.options;
    const joining = { name, lease: typeof lease === 'number' ? `${Math.round(lease)}ms` : lease };
    const { signal } = this.stopping;
    for (let pause = 100; !signal.aborted;) {
      const worker = this.id;
      const most = Math.max(1, concurrency) - this.running.size;
      if (most < 1) {
        await new Promise<void>((free) => { this.free = free; });
        continue;
      }
      const has = worker ? { worker, most, holds: [...this.steps.keys()], number: ++this.number } : joining;
      const body: Schemas['StepTake'] = { steps: Object.keys(steps), wait: `${waitMs}ms`, ...has };
      try {
        const got: Schemas['StepsTaken'] = await this.ask('take', body, { signal, within: waitMs + 10_000 });
        pause = 100;
        this.pauseMs = got.heartbeatMs;
        if (got.leaseMs !== undefined) [this.id, this.number, this.leaseMs] = [got.worker, 0, got.leaseMs];
        else if (worker === this.id) got.tasks.forEach((task) => this.start(task));
      } catch (err) {
        if (signal.aborted) return;
        if (codeOf(err) === 'LEASE_LOST') this.lose(worker);
        else if (!temporary(err) && codeOf(err) !== 'CONFLICT') throw err;
        this.tell(err);
        await sleep(pause, signal).catch(() => {});
        pause = Math.min(pause * 2, 5000);
      }
    }
  }

  private async beats(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const idle = Math.min(1000, this.leaseMs / 3);
      await sleep(this.steps.size ? this.pauseMs : idle, over).catch(() => {});
      if (!over.aborted && this.id) await this.beat([...this.steps.values()]).catch(this.tell);
    }
  }

  /** beat says one after the other what is so, as a number tells what was said before. */
  private beat(steps: Attempt[]): Promise<void> {
    return this.beating = this.beating.catch(() => {}).then(() => this.beatNow(steps));
  }

  /** lastWords says the last progress of steps: what is on its way, and what came since. */
  private async lastWords(steps: Attempt[]): Promise<void> {
    try {
      while (this.id && steps.some((s) => s.fresh || s.unheard)) await this.beat(steps);
    } catch (err) {
      this.tell(err);
    }
  }

  private async beatNow(steps: Attempt[]): Promise<void> {
    const worker = this.id;
    for (const s of steps) {
      if (!s.fresh || s.unheard) continue; // the same again until it is heard: a position has one value
      s.fresh = false;
      s.unheard = { progress: s.said, position: s.position };
    }
    const told = steps.filter((s) => s.unheard);
    const tasks = steps.map(({ receipt, unheard }): Schemas['StepStands'] => ({ receipt, ...unheard }));
    try {
      const got: Schemas['StepsBeaten'] = await this.ask('heartbeat', { worker, tasks });
      for (const s of told) [s.position, s.unheard] = [s.position + 1, undefined];
      for (const { receipt, why } of got.ended) this.steps.get(receipt)?.stop(why);
    } catch (err) {
      if (codeOf(err) === 'LEASE_LOST') this.lose(worker);
      throw err;
    }
  }

  /** lose notes that the lease is over: others do what this worker had. */
  private lose(worker: string): void {
    if (worker === '' || worker !== this.id) return;
    this.id = '';
    for (const step of this.steps.values()) step.stop('lost');
    this.steps.clear(); // the next worker does not hold them, though a function may go on
  }

  private start(task: Schemas['StepTask']): void {
    const step = new Attempt(this, task);
    this.steps.set(step.receipt, step);
    const done = this.attempt(step, task).catch((err: unknown) => {
      if (!(err instanceof StepCancelledError)) this.tell(err, step);
    }).finally(() => {
      this.steps.delete(step.receipt);
      this.running.delete(done);
      this.free();
    });
    this.running.add(done);
  }

  private async attempt(step: Attempt, task: Schemas['StepTask']): Promise<void> {
    const unwatch = watch(step, task);
    try {
      const output = await this.options.steps[step.name]!(task.input, step);
      await this.complete(step, output);
    } catch (err) {
      if (step.why !== 'ended' && step.why !== 'lost') await this.lastWords([step]);
      if (step.why === undefined || step.why === 'timeout' || step.why === 'silence') await this.fail(step, err);
    } finally {
      unwatch();
    }
  }

  private async complete(step: Attempt, output: unknown): Promise<void> {
    for (const stream of step.streams.values()) await stream.finish(true);
    try {
      await this.insist(step, 'complete', { receipt: step.receipt, output });
    } catch (cause) {
      if (cause instanceof StepCancelledError) throw cause;
      const code = cause instanceof StepwellError && cause.status ? cause.code : 'ENCODE'; // the server's, or ours
      throw new FatalError(`the output was refused: ${(cause as Error).message}`, { code, cause });
    }
  }

  private async fail(step: Attempt, thrown: unknown): Promise<void> {
    this.tell(thrown, step);
    const err = (thrown instanceof Error ? thrown : new Error(String(thrown))) as Error & { code?: unknown };
    for (const stream of step.streams.values()) await stream.finish(false).catch(() => {});
    const stopped = step.signal.aborted && (err === step.signal.reason || err.name === 'AbortError');
    const body: Schemas['StepFailure'] = {
      receipt: step.receipt, final: err instanceof FatalError, silent: step.why === 'silence',
      error: {
        message: stopped ? 'it was stopped' : err.message || err.name, name: err.name, stack: err.stack,
        code: typeof err.code === 'string' ? err.code : undefined,
        where: /([^/\\(\s]+:\d+):\d+\)?$/m.exec(err.stack ?? '')?.[1],
      },
    };
    if (err instanceof RetryError && err.after !== undefined) body.delay = `${Math.round(err.after)}ms`;
    await this.insist(step, 'fail', body);
  }
}

/** watch ends an attempt whose time is up, or that says nothing for too long. */
function watch(step: Attempt, task: Schemas['StepTask']): () => void {
  const end = step.heard + (task.timeoutMs ?? Infinity);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    const left = Math.min(end, step.heard + (task.silenceMs ?? Infinity)) - Date.now();
    if (left <= 0) step.stop(Date.now() >= end ? 'timeout' : 'silence');
    else if (left < Infinity) timer = setTimeout(look, Math.min(left, 3_600_000));
  };
  look();
  return () => clearTimeout(timer);
}

/** settled waits for all, for so long. */
async function settled(all: Set<Promise<void>>, ms: number): Promise<void> {
  const enough = new AbortController();
  await Promise.race([Promise.all(all), sleep(ms, enough.signal).catch(() => {})]);
  enough.abort();
}
