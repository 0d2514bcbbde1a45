// The client of a Stepwell server: a thin face before its REST API, whose types are generated: openapi.ts.

import { NotOverError, RunCancelledError, RunFailedError, StepwellError, StreamError } from './errors.js';
import type { Run } from './errors.js';
import { Http, newKey, sleep } from './http.js';
import type { CallOptions, Options, Req } from './http.js';
import type { components, operations, paths } from './openapi.js';

export * from './errors.js';
export * from './steps.js';
export type { CallOptions, Json, Options } from './http.js';
export type { components, operations, paths } from './openapi.js';

type Schemas = components['schemas'];
type Without<Name extends keyof Schemas, Members extends keyof Schemas[Name]> = Omit<Schemas[Name], Members>;

/** An event of a run's log. Its `eventId` is where another reader goes on: `events(run, { after: eventId })`. */
export type Event = Schemas['Event'];
export type ListedRun = Schemas['ListedRun'];
export type Hook = Schemas['Hook'];
export type SentMessage = Schemas['SentMessage'];

/** A duration as the server reads it, `90s`, `5m`, `36h`, `7d`, or a number of milliseconds. */
export type Duration = string | number;
/** A time as the server reads it, or a Date. Answers have times as text, RFC 3339, as `new Date(…)` reads it. */
export type Time = string | Date;

/** What something is sent under once, however often it is repeated; made by the client where none is given. */
export interface KeyOptions extends CallOptions { key?: string }

/** How a run starts: see StartRun. Its `key` is the idempotency key: used again, the run that has it is returned. */
export interface StartOptions extends KeyOptions,
  Without<'StartRun', 'input' | 'idempotencyKey' | 'delay' | 'timeout' | 'startTTL'> {
  delay?: Duration;
  /** How long the whole run may take, or `forever`. */
  timeout?: Duration;
  /** Within which it has to begin, or `forever`. */
  startTTL?: Duration;
}

export interface ResultOptions extends CallOptions {
  /** How long to wait, in ms: a NotOverError then. Default: until the run is over. */
  timeout?: number;
  /** false: of this run, also where another has taken its place. */
  newest?: boolean;
}

export interface CancelOptions extends CallOptions { reason?: string; force?: boolean }

type ListQuery = NonNullable<operations['listAllRuns']['parameters']['query']>;

/** Which runs: see GET /v1/runs. */
export interface ListOptions extends CallOptions,
  Omit<ListQuery, 'input.' | 'attr.' | 'since' | 'until' | 'cursor' | 'limit'> {
  workflow?: string;
  since?: Time;
  until?: Time;
  /** What the input has at a path: `{ 'customer.id': 42 }`. */
  input?: Record<string, unknown>;
  attributes?: Record<string, unknown>;
  /** How many runs are asked for at once, at most 200. */
  pageSize?: number;
}

export interface EventsOptions extends CallOptions {
  /** Behind this event: its `eventId`, or a cursor. Default: from the beginning. */
  after?: string;
  /** false: what there is now, and not what comes. */
  follow?: boolean;
  type?: Event['type'][];
  correlationId?: string;
}

/** A chunk of a stream; with `reset`, word that what `step` wrote at `from` and behind is void. */
export interface Chunk<T = unknown> {
  /** Read on later from index + 1. */
  index: number;
  step?: string; attempt?: number; time: string; value: T; reset?: boolean; from?: number;
  /** Chunks before it were deleted with segments of the run. */
  trimmed?: boolean;
}

/** From which chunk on. Default: 0. */
export interface ReadOptions extends CallOptions { from?: number }

/** How a message is sent: see NewMessage. */
export interface MessageOptions extends Without<'NewMessage', 'payload' | 'dedupeId' | 'delay' | 'dedupeWindow'> {
  key?: string; delay?: Duration; dedupeWindow?: Duration;
}

/** How something is published: see Publish. */
export interface PublishOptions extends KeyOptions, Without<'Publish', 'payload' | 'deliveryId' | 'delay' | 'at'> {
  delay?: Duration; at?: Time;
}

type Method = 'get' | 'put' | 'post' | 'delete';
type JSONBody<C> = C extends { content: { 'application/json': infer B } } ? B : never;
type Answers<R> = {
  [S in keyof R & (200 | 201 | 202 | 204)]: R[S] extends { content: { 'application/json': infer B } } ? B : undefined;
};
type Operation<M extends Method, P extends keyof paths> = paths[P][M];

/** The paths of the API that have a method. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never;
}[keyof paths];

/** What an operation of the API takes. */
export type CallArgs<M extends Method, P extends keyof paths> = CallOptions & {
  /** Idempotency-Key, where the operation has it. */
  key?: string;
  /** It may be sent again though nobody knows what became of it. Default: unless it is a POST without a key. */
  safe?: boolean;
} & (Operation<M, P> extends { parameters: { path: infer A } } ? { path: A } : { path?: never })
  & (Operation<M, P> extends { parameters: { query?: infer Q } } ? { query?: Q } : { query?: never })
  & (Operation<M, P> extends { requestBody: infer B } ? { body: JSONBody<B> }
    : Operation<M, P> extends { requestBody?: infer B } ? { body?: JSONBody<NonNullable<B>> } : { body?: never });

/** What an operation of the API answers with. */
export type Answer<M extends Method, P extends keyof paths> =
  Operation<M, P> extends { responses: infer R } ? Answers<R>[keyof Answers<R>] : never;

const pollMs = 25_000; // of a wait for a result: proxies cut what takes longer than 30 s
const queueRetryMs = 240_000; // a message's key is known for 5 minutes

export class Stepwell {
  private readonly http: Http;
  readonly runs: Runs;
  readonly streams: Streams;
  readonly hooks: Hooks;
  readonly topics: Topics;
  readonly queues: Queues;

  constructor(options: Options = {}) {
    this.http = new Http(options);
    this.runs = new Runs(this, this.http);
    this.streams = new Streams(this, this.http);
    this.hooks = new Hooks(this);
    this.topics = new Topics(this);
    this.queues = new Queues(this, this.http);
  }

  /** start starts a run. Under the same key it is the same run. */
  async start<Out = unknown>(workflow: string, input?: unknown, options: StartOptions = {}): Promise<RunHandle<Out>> {
    const { key = newKey(), signal, retryFor, delay, timeout, startTTL, ...more } = options;
    const spans = { delay: span(delay), timeout: span(timeout), startTTL: span(startTTL) };
    const { status, value } = await this.http.call({
      method: 'POST', path: '/v1/workflows/{workflow}/runs', params: { workflow, run: options.id },
      body: { ...more, ...spans, input, idempotencyKey: key } satisfies Schemas['StartRun'],
      safe: true, signal, retryFor,
    });
    const run = value as Run;
    return new RunHandle<Out>(this, run.id, run, status === 200);
  }

  /** run is a handle of a run that is there. Nothing is asked of the server. */
  run<Out = unknown>(id: string): RunHandle<Out> {
    return new RunHandle<Out>(this, id);
  }

  /** result waits until a run is over, and returns its output. */
  async result<Out = unknown>(run: string, options: ResultOptions = {}): Promise<Out> {
    const { timeout = Infinity, newest, signal } = options;
    const until = Date.now() + timeout;
    for (;;) {
      const began = Date.now();
      const left = Math.max(0, until - began);
      const waitMs = Math.ceil(Math.min(left, pollMs));
      const now = (await this.http.call({
        method: 'GET', path: '/v1/runs/{run}', params: { run }, query: { wait: `${waitMs}ms`, newest }, signal,
        retryFor: Math.min(options.retryFor ?? this.http.retryFor, left),
        within: waitMs + Math.min(this.http.requestTimeout, timeout === Infinity ? Infinity : 5000),
      })).value as Run;
      if (now.status === 'completed') return this.runs.output<Out>(now, options);
      const said = `run ${now.id} of ${now.workflow} is ${now.status}`;
      const why = now.error ? `: ${now.error.message}` : '';
      if (now.status === 'failed') throw new RunFailedError('RUN_FAILED', said + why, now);
      if (now.status === 'cancelled') throw new RunCancelledError('RUN_CANCELLED', said + why, now);
      if (Date.now() >= until) throw new NotOverError('NOT_OVER', `${said} after ${timeout} ms`, { runId: now.id });
      // A server that ends, or may not wait for long, answers early.
      await sleep(Math.min(until, began + 1000) - Date.now(), signal);
    }
  }

  /** signal sends an event to a run. */
  async signal(run: string, event: string, payload?: unknown, options: KeyOptions = {}): Promise<void> {
    const { key = newKey(), signal, retryFor } = options;
    const call = { path: { run, event }, body: payload ?? null, key, signal, retryFor };
    await this.call('post', '/v1/runs/{run}/signals/{event}', call);
  }

  /** cancel asks a run to end. With force it ends at once, and its code does not clean up. */
  cancel(run: string, options: CancelOptions = {}): Promise<Run> {
    const { reason, force, ...call } = options;
    return this.call('delete', '/v1/runs/{run}', { path: { run }, query: { reason, force }, ...call });
  }

  /** events yields the events of a run's log, until the run is over. Where a connection broke it goes on. */
  async *events(run: string, options: EventsOptions = {}): AsyncGenerator<Event> {
    const { after, follow = true, type, correlationId, ...call } = options;
    const req: Req = { method: 'GET', path: '/v1/runs/{run}/events', params: { run }, ...call };
    const query = { cursor: after, type: type?.join(','), correlationId };
    if (follow) {
      for await (const m of this.http.follow({ ...req, query })) {
        if (m.event !== 'end') yield this.http.parse(m.data) as Event;
      }
      return;
    }
    for (let more = true; more;) {
      const page = (await this.http.call({ ...req, query })).value as Schemas['EventPage'];
      yield* page.events;
      ({ more, cursor: query.cursor } = page);
    }
  }

  /** call makes any request that takes and answers JSON: `call('get', '/v1/limits/{limit}', { path: { limit } })`. */
  async call<M extends Method, P extends PathWith<M> & string>(
    method: M, path: P, ...args: {} extends CallArgs<M, P> ? [CallArgs<M, P>?] : [CallArgs<M, P>]
  ): Promise<Answer<M, P>> {
    const { path: params, ...more } = (args[0] ?? {}) as Partial<Req> & { path?: any };
    return (await this.http.call({ ...more, method: method.toUpperCase(), path, params })).value as Answer<M, P>;
  }
}

/** A run, as what can be done with it. */
export class RunHandle<Out = unknown> {
  constructor(
    private readonly client: Stepwell,
    readonly id: string,
    /** As the start was answered; none: this handle is not of a start. */
    readonly started?: Run,
    /** It was there already: under its key, also of a try whose answer was lost, or as a singleton's live run. */
    readonly existed = false,
  ) {}

  /** get tells how the run stands. */
  get(options?: CallOptions): Promise<Run> { return this.client.runs.get(this.id, options); }

  /** result waits until the run is over, and returns its output, or throws what became of it. */
  result(options?: ResultOptions): Promise<Out> { return this.client.result<Out>(this.id, options); }

  /** signal sends an event to the run. */
  signal(event: string, payload?: unknown, options?: KeyOptions): Promise<void> {
    return this.client.signal(this.id, event, payload, options);
  }

  /** cancel asks the run to end. */
  cancel(options?: CancelOptions): Promise<Run> { return this.client.cancel(this.id, options); }

  /** events yields the events of the run's log. */
  events(options?: EventsOptions): AsyncGenerator<Event> { return this.client.events(this.id, options); }

  /** stream reads a stream of the run. */
  stream<T = unknown>(name: string, options?: ReadOptions): AsyncGenerator<Chunk<T>> {
    return this.client.streams.read<T>(this.id, name, options);
  }
}

class Runs {
  constructor(private readonly client: Stepwell, private readonly http: Http) {}

  /** get tells how a run stands. */
  get(run: string, options: CallOptions = {}): Promise<Run> {
    return this.client.call('get', '/v1/runs/{run}', { path: { run }, ...options });
  }

  /** list yields runs, the newest first, page by page as they are asked for. */
  async *list(options: ListOptions = {}): AsyncGenerator<ListedRun> {
    const { workflow, input, attributes, pageSize, signal, retryFor, ...filter } = options;
    const path = workflow === undefined ? '/v1/runs' : '/v1/workflows/{workflow}/runs';
    let cursor: string | undefined;
    do {
      const values = { 'input.': this.values(input), 'attr.': this.values(attributes) };
      const query = { ...filter, ...values, limit: pageSize, cursor };
      const got = await this.http.call({ method: 'GET', path, params: { workflow }, query, signal, retryFor });
      const page = got.value as Schemas['RunPage'];
      yield* page.runs;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  /** output is that of a run that has completed, also where it is kept apart as it is large. */
  async output<Out = unknown>(run: Run, options: CallOptions = {}): Promise<Out> {
    if (run.sealed) {
      const message = `the output of run ${run.id} is encrypted with ${run.encryption}, which the server does not have`;
      throw new StepwellError('NO_KEY', message, { runId: run.id });
    }
    if (run.outputApart === undefined) return (run.output ?? null) as Out;
    const { signal, retryFor } = options;
    const params = { run: run.id, value: run.outputApart };
    const path = '/v1/runs/{run}/values/{value}';
    return (await this.http.call({ method: 'GET', path, params, accept: '*/*', signal, retryFor })).value as Out;
  }

  /** values are what is filtered by, as JSON: a string that looks like a number is one string. */
  private values(of: Record<string, unknown> = {}): Record<string, string> {
    return Object.fromEntries(Object.entries(of).map(([name, v]) => [name, this.http.json.stringify(v)]));
  }
}

class Streams {
  constructor(private readonly client: Stepwell, private readonly http: Http) {}

  /**
   * read yields the chunks of a stream, until it is closed or its run is over. Where a connection broke it goes on.
   * A StreamError says that what came is not all.
   */
  async *read<T = unknown>(run: string, name: string, options: ReadOptions = {}): AsyncGenerator<Chunk<T>> {
    const { from, ...call } = options;
    const [path, params] = ['/v1/runs/{run}/streams/{stream}', { run, stream: name }] as const;
    const req: Req = { method: 'GET', path, params, query: { from }, ...call };
    for await (const m of this.http.follow(req)) {
      if (m.event === 'error') {
        const { code, message } = this.http.parse(m.data) as { code?: string; message?: string };
        throw new StreamError(code || 'STREAM_BROKEN', `stream ${name} of run ${run}: ${message}`, { runId: run });
      }
      if (m.event !== 'end') yield this.http.parse(m.data) as Chunk<T>;
    }
  }

  /** list lists the streams of a run. */
  async list(run: string, options: CallOptions = {}): Promise<Schemas['StreamList']['streams']> {
    return (await this.client.call('get', '/v1/runs/{run}/streams', { path: { run }, ...options })).streams;
  }
}

class Hooks {
  constructor(private readonly client: Stepwell) {}

  /** send sends a payload to the run that has a hook open under a token. */
  async send(token: string, payload?: unknown, options: KeyOptions = {}): Promise<void> {
    const { key = newKey(), ...call } = options;
    await this.client.call('post', '/v1/hooks/{token}', { path: { token }, body: payload ?? null, key, ...call });
  }

  /** list lists active hooks, of a run or all, at most 1,000. */
  list(options: CallOptions & { run?: string } = {}): Promise<Hook[]> {
    const { run, ...call } = options;
    return this.client.call('get', '/v1/hooks', { query: { run }, ...call });
  }
}

class Topics {
  constructor(private readonly client: Stepwell) {}

  /** publish publishes under a topic: each subscription that stands then gets it. */
  publish(topic: string, payload: unknown, options: PublishOptions = {}): Promise<Schemas['SentMessage']> {
    const { key = newKey(), signal, retryFor, delay, at, ...more } = options;
    const when = { delay: span(delay), at: at instanceof Date ? at.toISOString() : at };
    const body = { ...more, ...when, payload: payload ?? null, deliveryId: key };
    return this.client.call('post', '/v1/topics/{topic}', { path: { topic }, body, safe: true, signal, retryFor });
  }
}

class Queues {
  constructor(private readonly client: Stepwell, private readonly http: Http) {}

  /** send sends a message to a queue. */
  async send(queue: string, payload: unknown, options: MessageOptions & CallOptions = {}): Promise<SentMessage> {
    const { signal, retryFor, ...message } = options;
    return (await this.sendAll(queue, [{ ...message, payload }], { signal, retryFor }))[0]!;
  }

  /** sendAll sends up to 1,000 messages, all or none. */
  async sendAll(
    queue: string, messages: (MessageOptions & { payload: unknown })[], options: CallOptions = {},
  ): Promise<SentMessage[]> {
    const body = {
      messages: messages.map(({ key = newKey(), payload, delay, dedupeWindow, ...m }) => (
        { ...m, payload: payload ?? null, dedupeId: key, delay: span(delay), dedupeWindow: span(dedupeWindow) })),
    };
    const retryFor = Math.min(options.retryFor ?? this.http.retryFor, queueRetryMs);
    const call = { path: { queue }, body, safe: true, signal: options.signal, retryFor };
    return (await this.client.call('post', '/v1/queues/{queue}/messages', call)).messages;
  }
}

function span(d: Duration | undefined): string | undefined {
  return typeof d === 'number' ? `${Math.round(d)}ms` : d;
}
