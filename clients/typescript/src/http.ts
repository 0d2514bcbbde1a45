// Requests to the server: sent again where that is safe, followed where they go on, and ended by an AbortSignal.

import { errorOf, InvalidError, StepwellError, UnavailableError } from './errors.js';

/**
 * How values become JSON and back. With the default numbers over 2^53 lose digits. What JSON does not have, a BigInt,
 * NaN, a Map and the like, is refused.
 */
export interface Json {
  parse(text: string): unknown;
  stringify(value: unknown): string;
}

export interface Options {
  /** The server. Default: STEPWELL_URL, or http://127.0.0.1:7373. A path in it stands before all others. */
  url?: string;
  /** The secret of an API key. Default: the user of the URL, or STEPWELL_API_KEY. */
  apiKey?: string;
  /** What makes requests. Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** For how long, in ms, something is tried again while the server is away or busy. 0: not at all. Default: 60,000. */
  retryFor?: number;
  /** How long an answer may take, in ms, beside what was asked to be waited for. Default: 30,000. */
  requestTimeout?: number;
  /** Further headers of each request, as a proxy may want them. */
  headers?: Record<string, string>;
  /** Other JSON, as one that keeps large integers. */
  json?: Json;
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** In the place of the client's. */
  retryFor?: number;
}

export interface Req extends CallOptions {
  method: string;
  path: string; // with {names}
  params?: Record<string, unknown>; // of the path
  query?: Record<string, unknown> | undefined;
  body?: unknown; // undefined: none
  key?: string; // Idempotency-Key
  safe?: boolean; // it may be sent again though nobody knows what became of it
  within?: number; // ms that the answer may take
  accept?: string;
  last?: string; // Last-Event-ID
}

/** A message of an event stream. */
export interface Message { id?: string; event: string; data: string }

const idleMs = 60_000; // a stream on which nothing comes, not even the server's comment every 15 s, is cut

export class Http {
  readonly url: string;
  readonly retryFor: number;
  readonly requestTimeout: number;
  readonly json: Json;
  private readonly fetch: typeof globalThis.fetch;
  private readonly headers: Record<string, string>;

  constructor(o: Options) {
    const url = addressOf(o.url ?? env('STEPWELL_URL') ?? 'http://127.0.0.1:7373');
    const apiKey = o.apiKey ?? (decodeURIComponent(url.username || url.password) || secretOf(env('STEPWELL_API_KEY')));
    this.url = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
    this.headers = { ...o.headers, ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) };
    const given = o.fetch;
    this.fetch = (input, init) => (given ?? globalThis.fetch)(input, init); // as a plain function: browsers want that
    this.retryFor = o.retryFor ?? 60_000;
    this.requestTimeout = o.requestTimeout ?? 30_000;
    this.json = o.json ?? { parse: JSON.parse, stringify };
  }

  /** call makes a request until it is answered, and returns the answer with its status. */
  async call(req: Req): Promise<{ status: number; value: unknown }> {
    const tries = new Tries(req, this.retryFor);
    for (;;) {
      try {
        const c = await this.open(req, req.within ?? this.requestTimeout);
        const text = await c.within(c.res.text());
        return { status: c.res.status, value: text === '' ? undefined : this.parse(text, c.res) };
      } catch (err) {
        await tries.next(err);
      }
    }
  }

  /** follow reads an event stream until its last message, and goes on where a connection broke. */
  async *follow(req: Req): AsyncGenerator<Message, void, undefined> {
    const tries = new Tries({ ...req, safe: true }, this.retryFor);
    for (let last = req.last; ;) {
      try {
        const c = await this.open({ ...req, last, accept: 'text/event-stream' }, this.requestTimeout);
        try {
          for await (const m of messages(c, () => tries.succeed())) {
            last = m.id ?? last;
            yield m;
            if (m.event === 'end' || m.event === 'error') return;
          }
        } finally {
          c.cancel();
        }
        if (c.res.status === 204) return; // there is nothing behind what was read
        throw new UnavailableError('UNREACHABLE', `Stepwell at ${this.url}: the stream was cut`);
      } catch (err) {
        await tries.next(err);
      }
    }
  }

  /** open sends a request once. An answer that is none of success is an error. */
  private async open(req: Req, ms: number): Promise<Connection> {
    const headers: Record<string, string> = { ...this.headers, accept: req.accept ?? 'application/json' };
    if (req.key !== undefined) headers['idempotency-key'] = bytes(req.key);
    if (req.last !== undefined) headers['last-event-id'] = req.last;
    if (req.body !== undefined) headers['content-type'] = 'application/json';
    const body = req.body === undefined ? null : this.json.stringify(req.body);
    const url = this.url + pathOf(req) + queryOf(req.query);
    const c = new Connection(this.url, ms, req.signal);
    c.res = await c.within(this.fetch(url, { method: req.method, headers, body, signal: c.signal }));
    if (!c.res.ok) throw errorOf(c.res, await c.within(c.res.text()), req.params?.run as string | undefined);
    return c;
  }

  parse(text: string, res?: Response): unknown {
    try {
      return this.json.parse(text);
    } catch (cause) {
      const message = `Stepwell at ${this.url}: the answer is no JSON`;
      throw new StepwellError('PROTOCOL', message, { status: res?.status, cause });
    }
  }
}

/** Tries says whether and when something is tried again. */
class Tries {
  private failures = 0;
  private until: number | undefined; // from the first failure behind the last success on

  constructor(private readonly req: Req, private readonly retryFor: number) {}

  succeed(): void {
    this.failures = 0;
    this.until = undefined;
  }

  /** next waits until the next try, or throws the error where there is none. */
  async next(err: unknown): Promise<void> {
    const { signal, method, key, safe } = this.req;
    if (!(err instanceof StepwellError) || signal?.aborted) throw err;
    const refused = err.status === 429 || err.code === 'BUSY'; // nothing was done
    const away = [408, 502, 503, 504].includes(err.status) || err.code === 'UNREACHABLE';
    if (!refused && !(away && (safe ?? (method !== 'POST' || key !== undefined)))) throw err;
    this.until ??= Date.now() + (this.req.retryFor ?? this.retryFor);
    const backoff = Math.min(5000, 100 * 2 ** this.failures++) * (0.5 + Math.random() / 2);
    const wait = Math.max(backoff, err.retryAfterMs ?? 0);
    if (Date.now() + wait > this.until) throw err;
    await sleep(wait, signal);
  }
}

/** Connection is a request under way. It leaves no listener on the caller's signal, which may live for long. */
class Connection {
  res!: Response;
  private readonly own = new AbortController();

  constructor(private readonly url: string, private readonly ms: number, private readonly callers?: AbortSignal) {
    callers?.throwIfAborted();
  }

  get signal(): AbortSignal { return this.own.signal; }

  cancel(): void { this.own.abort(); }

  /** within waits for a part of the exchange, for so long, and says what it is where it fails. */
  async within<T>(part: Promise<T>, ms = this.ms): Promise<T> {
    let late = false;
    const abort = () => this.own.abort(this.callers?.reason);
    const timer = setTimeout(() => { late = true; this.own.abort(); }, Math.min(ms, maxTimer));
    const deaf = onAbort(this.callers, abort);
    if (this.callers?.aborted) abort(); // while nothing was waited for
    try {
      return await part;
    } catch (cause) {
      this.cancel();
      this.callers?.throwIfAborted();
      const why = late ? `no answer within ${ms} ms` : String((cause as Error | undefined)?.cause ?? cause);
      throw new UnavailableError('UNREACHABLE', `Stepwell at ${this.url}: ${why}`, { cause });
    } finally {
      clearTimeout(timer);
      deaf();
    }
  }
}

/** messages reads an event stream as the server writes it: lines end with \n. Half a message is none. */
async function* messages(c: Connection, heard: () => void): AsyncGenerator<Message, void, undefined> {
  const reader = c.res.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader) {
    const { done, value } = await c.within(reader.read(), idleMs);
    if (done) return;
    heard();
    let looked = Math.max(0, text.length - 1);
    text += decoder.decode(value, { stream: true });
    for (let end; (end = text.indexOf('\n\n', looked)) >= 0; looked = 0) {
      const m = messageOf(text.slice(0, end));
      text = text.slice(end + 2);
      if (m) yield m;
    }
  }
}

function messageOf(text: string): Message | undefined {
  const m: Message = { event: 'message', data: '' };
  let said = false;
  for (const line of text.split('\n')) {
    const [, name, value] = /^(id|event|data): ?(.*)$/s.exec(line) ?? [];
    if (name === 'id') m.id = value!;
    if (name === 'event') m.event = value!;
    if (name === 'data') m.data += (said ? '\n' : '') + value!;
    said ||= name === 'data';
  }
  return said ? m : undefined;
}

function pathOf(req: Req): string {
  return req.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(req.params?.[name] ?? '');
    if (/^\.{0,2}$/.test(value)) throw new InvalidError('INVALID', `${name} is '${value}': no path can have that`);
    return encodeURIComponent(value);
  });
}

/** queryOf writes a query: lists with commas, and objects as a member each. */
function queryOf(query: Record<string, unknown> = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (value instanceof Date) q.append(name, value.toISOString());
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [member, v] of Object.entries(value)) q.append(name + member, String(v));
    } else q.append(name, String(value));
  }
  const text = q.toString();
  return text && `?${text}`;
}

const maxTimer = 2 ** 31 - 1; // what a timer takes

/** sleep waits, unless the signal ends it. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => { deaf(); resolve(); }, Math.min(ms, maxTimer));
    const deaf = onAbort(signal, () => { deaf(); clearTimeout(timer); reject(signal!.reason); });
  });
}

const listening = new WeakMap<AbortSignal, { all: Set<() => void>; tell: () => void }>();

/**
 * onAbort calls a function when a signal aborts, until the function that it returns is called. A signal has one
 * listener, however many calls it is given to: from eleven on Node warns of a leak.
 */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (!signal) return () => {};
  let h = listening.get(signal);
  if (!h) {
    const all = new Set<() => void>();
    listening.set(signal, h = { all, tell: () => { for (const each of [...all]) each(); } });
  }
  const { all, tell } = h;
  if (all.size === 0) signal.addEventListener('abort', tell);
  all.add(call);
  return () => {
    if (all.delete(call) && all.size === 0) signal.removeEventListener('abort', tell);
  };
}

/** stringify is JSON.stringify, but for what that would lose without a word: it is refused, with where it is. */
export function stringify(value: unknown): string {
  lossless(value, '', []);
  return JSON.stringify(value);
}

const notJson = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'RegExp', 'Error', 'Promise', 'ArrayBuffer', 'SharedArrayBuffer']);

function lossless(value: unknown, at: string, outer: object[]): void {
  const refuse = (what: string) => {
    throw new InvalidError('INVALID', `${at || 'the value'} is ${what}: JSON has no such value. Send what stands for it`);
  };
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(String(value));
  if (typeof value === 'function' || typeof value === 'symbol') refuse(`a ${typeof value}`);
  if (typeof value !== 'object' || value === null || outer.includes(value)) return; // of a circle JSON.stringify speaks
  const inner = [...outer, value];
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) refuse('an invalid Date');
    lossless(toJSON.call(value, ''), at, inner);
    return;
  }
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (notJson.has(kind) || ArrayBuffer.isView(value)) refuse(`${/^[AE]/.test(kind) ? 'an' : 'a'} ${kind}`);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) { // holes too
      if (value[i] === undefined) throw new InvalidError('INVALID', `${at}[${i}] is undefined: JSON has no such value. Send null`);
      lossless(value[i], `${at}[${i}]`, inner);
    }
    return;
  }
  for (const [name, v] of Object.entries(value)) lossless(v, at ? `${at}.${name}` : name, inner);
}

/** newKey makes a key under which something is done once, however often it is sent. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `auto_${Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')}`;
}

/** bytes is a text as a header takes it, so that it is sent as UTF-8: a letter for each byte; in workerd as it is. */
function bytes(text: string): string {
  try {
    if (new Headers({ any: '\u0100' })) return text;
  } catch { /* as the standard has it */ }
  return Array.from(new TextEncoder().encode(text), (b) => String.fromCharCode(b)).join('');
}

/** env reads an environment variable, where there are any and the runtime lets us. */
function env(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}

/** addressOf reads the URL of a server. Its error shows nothing of it: a key may be in it. */
function addressOf(given: string): URL {
  try {
    const url = new URL(given);
    if (/^https?:$/.test(url.protocol)) return url;
  } catch { /* it is none */ }
  throw new InvalidError('INVALID', 'the URL of a server is like https://host or http://host:port');
}

/** secretOf is the secret of a key, also where it is written as the server has it: scope:name:secret. */
function secretOf(key: string | undefined): string | undefined {
  return /^[^:,]*:[^:,]*:([^,]*)/.exec(key ?? '')?.[1] ?? key;
}
