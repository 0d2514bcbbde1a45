// The World of Workflow DevKit on a Stepwell server. Each method is one call of the server, which keeps everything; here is only
// what has to be where the workflows' code is: the loop that hands messages of the queue to the app's own flow route.

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as http } from 'node:http';
import { request as https } from 'node:https';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SPEC_VERSION_CURRENT } from '@workflow/world';
import type { World } from '@workflow/world';
import { decode, encode } from './codec.js';

export interface Options {
  /** The server. Default: STEPWELL_URL, or http://127.0.0.1:7373. */
  url?: string;
  /** A key of the scope worker. Default: STEPWELL_API_KEY. */
  apiKey?: string;
  /** Where this process has its flow route. Default: STEPWELL_APP_URL, or http://localhost:PORT. */
  appUrl?: string;
  /** Which app and build this is: runs are worked on by apps of the same. Default: STEPWELL_DEPLOYMENT, or the name in package.json, or default. */
  deployment?: string;
  /** How many messages are worked on at once. Default: STEPWELL_CONCURRENCY, or 50. */
  concurrency?: number;
}

const newestSpec = 6; // slots as event IDs; a sealed log is nothing that Stepwell needs
const patience = 120_000; // ms for which a call is tried again while the server cannot be reached
const pollMs = 20_000;
// A message is out for 10 s, and for 30 s from when its app says that it has it: which it does where that takes longer than a second.
const confirmMs = 1000;
const extendMs = 10_000;

interface Letter {
  queueName: string; message: unknown; headers?: Record<string, string>; messageId: string; attempt: number; receipt: string;
}

class Server {
  constructor(readonly url: string, readonly apiKey: string | undefined) {}

  /** call does what a method of the World does. What gets no answer is sent again: under its name it is done once. */
  async call(name: string, args: object, signal?: AbortSignal): Promise<any> {
    if (!signal) return this.attempt(name, args);
    const own = new AbortController(); // fetch leaves a listener on its signal, and this one lives as long as the call
    const abort = () => own.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    try {
      return await this.attempt(name, args, own.signal);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  private async attempt(name: string, args: object, signal?: AbortSignal): Promise<any> {
    const began = Date.now();
    for (let n = 0; ; n++) {
      let failure: any;
      let wait = Math.min(50 * 2 ** n, 2000);
      try {
        const res = await fetch(`${this.url}/wdk/v1/${name}`, {
          method: 'POST', signal: signal ?? null,
          headers: { 'content-type': 'application/json', ...(this.apiKey ? { authorization: `Bearer ${this.apiKey}` } : {}) },
          body: encode(n > 0 ? { ...args, again: true } : args),
        });
        const text = await res.text();
        if (res.ok) return decode(text);
        failure = errorOf(res.status, text);
        if (res.status === 401) failure.message = `Stepwell at ${this.url} ${this.apiKey ? 'does not know the API key' : 'wants an API key'}: set STEPWELL_API_KEY`;
        if (res.status !== 429 && res.status < 500) throw failure;
        wait = Math.max(wait, Math.min((failure.retryAfter ?? 0) * 1000, 5000));
      } catch (err) {
        if (err === failure || signal?.aborted) throw err;
        failure = Object.assign(new Error(`Stepwell at ${this.url}: ${String((err as any)?.cause ?? err)}`),
          { name: 'WorkflowWorldError', code: 'TRANSPORT', cause: err });
      }
      if (Date.now() - began > patience) throw failure;
      await sleep(wait * (0.75 + Math.random() / 2), undefined, signal ? { signal } : {});
    }
  }
}

/** errorOf is a refusal as the DevKit knows it: by its name. */
function errorOf(status: number, text: string): Error {
  let p: any = {};
  try { p = JSON.parse(text); } catch { /* of a proxy */ }
  const own = typeof p.code === 'string' && p.code.endsWith('Error');
  const name = own ? p.code : status === 429 ? 'ThrottleError' : 'WorkflowWorldError';
  const after = p.retryAfterMs ? Math.ceil(p.retryAfterMs / 1000) : undefined;
  return Object.assign(new Error(p.detail ?? p.title ?? `HTTP ${status}`), { name, status, code: own ? undefined : p.code, retryAfter: after });
}

/** deliver hands a message to the app's flow route. Undefined: it was not there, and has not seen it. */
function deliver(url: URL, letter: Letter, body: string, signal: AbortSignal): Promise<{ status: number; text: string } | undefined> {
  return new Promise((resolve, reject) => {
    let sent = false;
    const own = new AbortController();
    const abort = () => own.abort();
    signal.addEventListener('abort', abort);
    const req = (url.protocol === 'https:' ? https : http)(url, {
      method: 'POST', signal: own.signal,
      headers: {
        ...letter.headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'x-vqs-queue-name': letter.queueName,
        'x-vqs-message-id': letter.messageId, 'x-vqs-message-attempt': String(letter.attempt),
      },
    }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (s) => { text += s; });
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }));
      res.on('error', reject);
    });
    req.on('socket', (s) => { if (s.connecting) s.once('connect', () => { sent = true; }); else sent = true; });
    req.on('close', () => signal.removeEventListener('abort', abort));
    req.on('error', (err) => (sent || signal.aborted ? reject(err) : resolve(undefined)));
    req.end(body);
  });
}

/** Out is a message that is worked on here. One that comes again meanwhile, as the server was away for long, is the same: with a new receipt. */
interface Out { receipt: string; extendAt: number; done: Promise<void> }

/** Loop receives messages of a deployment while there is room, and settles each as the flow route says. */
class Loop {
  private readonly out = new Map<string, Out>();
  private readonly ending = new AbortController();
  private readonly cut = new AbortController();
  private running: Promise<void> | undefined;
  private room: (() => void) | undefined;
  private absent = 0; // how often in a row the flow route was not there

  constructor(private readonly server: Server, private readonly deployment: string, private readonly most: number, private readonly app: () => string) {}

  start(): void {
    setMaxListeners(0, this.cut.signal);
    this.running ??= this.run();
  }

  private extend(): void {
    const due = [...this.out.values()].filter((o) => o.extendAt <= Date.now());
    for (const o of due) o.extendAt = Date.now() + extendMs;
    if (due.length > 0) void this.server.call('queue.settle', { receipts: due.map((o) => o.receipt), kind: 'extend' }, this.cut.signal).catch(() => {});
  }

  private async run(): Promise<void> {
    const beat = setInterval(() => this.extend(), confirmMs);
    let pause = 1000;
    while (!this.ending.signal.aborted) {
      try {
        const letters: Letter[] = await this.server.call(
          'queue.receive', { deploymentId: this.deployment, most: Math.min(this.most - this.out.size, 100), waitMs: pollMs }, this.ending.signal);
        pause = 1000;
        for (const l of letters) this.take(l);
        while (this.out.size >= this.most && !this.ending.signal.aborted) await new Promise<void>((free) => { this.room = free; });
      } catch (err) {
        if (this.ending.signal.aborted) break;
        console.error(`[stepwell] messages could not be received, next try in ${pause / 1000} s: ${String(err)}`);
        await sleep(pause, undefined, { signal: this.ending.signal }).catch(() => {});
        pause = Math.min(pause * 2, 30_000);
      }
    }
    await Promise.allSettled([...this.out.values()].map((o) => o.done));
    clearInterval(beat);
  }

  private take(l: Letter): void {
    const known = this.out.get(l.messageId);
    if (known) {
      known.receipt = l.receipt;
      known.extendAt = 0;
      return;
    }
    const o: Out = { receipt: l.receipt, extendAt: Date.now() + confirmMs, done: Promise.resolve() };
    this.out.set(l.messageId, o);
    o.done = this.work(l, o).finally(() => { this.out.delete(l.messageId); this.room?.(); });
  }

  private async work(l: Letter, o: Out): Promise<void> {
    const end = async (kind: string, seconds = 0, error = '') => {
      for (let receipt = ''; receipt !== o.receipt;) { // it may have come again just now
        receipt = o.receipt;
        const [held] = await this.server.call('queue.settle', { receipts: [receipt], kind, seconds, error }, this.cut.signal);
        if (held) return;
      }
    };
    const url = new URL('/.well-known/workflow/v1/flow', this.app());
    try {
      const got = await deliver(url, l, encode(l.message), this.cut.signal);
      if (!got) return void (await end('unread', Math.min(2 ** this.absent++, 30), `${url} could not be connected to: that is no attempt`));
      this.absent = 0;
      if (got.status >= 300) return void (await end('nack', 5, `HTTP ${got.status}: ${got.text.slice(0, 800)}`));
      let seconds: unknown;
      try { seconds = JSON.parse(got.text).timeoutSeconds; } catch { /* it says nothing */ }
      await (typeof seconds === 'number' && seconds >= 0 ? end('nack', seconds) : end('ack'));
    } catch (err) {
      if (!this.cut.signal.aborted) await end('nack', 5, String(err)).catch(() => {});
    }
  }

  /** close receives nothing more, and waits for what is worked on, for so long. */
  async close(ms = 10_000): Promise<void> {
    this.ending.abort();
    this.room?.();
    const late = setTimeout(() => this.cut.abort(), ms);
    await this.running;
    clearTimeout(late);
    this.cut.abort();
  }
}

/** secretOf is the secret of a key that may have the server's own form: scope:name:secret. */
const secretOf = (key?: string) => key?.split(',')[0]?.match(/^[^:]*:[^:]*:(.*)$/)?.[1] ?? key;

/** packageName tells apps of one server apart that nobody named: else each took the messages of the others, and failed their runs. */
function packageName(): string | undefined {
  try { return JSON.parse(readFileSync('package.json', 'utf8')).name; } catch { return undefined; }
}

/** The releases of Workflow DevKit that drive this World. One before 5 has other events, and its runs would wait for ever. */
const drivenBy = '5.0.0-beta.35 up to 5.0.0-beta.55';

/** checkDevKit refuses an installed Workflow DevKit whose runtime does not drive this World. It looks where Node does, from the app upwards. */
export function checkDevKit(from = process.cwd()): void {
  for (let dir = from; ; dir = dirname(dir)) {
    let version: unknown;
    try { version = JSON.parse(readFileSync(join(dir, 'node_modules', 'workflow', 'package.json'), 'utf8')).version; } catch { /* not here */ }
    if (typeof version === 'string') {
      const [major, beta] = [parseInt(version, 10), /^5\.0\.0-beta\.(\d+)$/.exec(version)?.[1]];
      if (major < 5 || (beta !== undefined && Number(beta) < 35)) {
        throw new Error(`@stepwell/world does not work with workflow ${version}, whose runs would wait for ever; install one of ${drivenBy}: npm install workflow@5.0.0-beta.55`);
      }
      return;
    }
    if (dirname(dir) === dir) return; // the app has it elsewhere
  }
}

/** createWorld makes the World of a Stepwell server. */
export function createWorld(options: Options = {}): World {
  checkDevKit();
  const env = process.env;
  const server = new Server((options.url ?? env.STEPWELL_URL ?? 'http://127.0.0.1:7373').replace(/\/+$/, ''), secretOf(options.apiKey ?? env.STEPWELL_API_KEY));
  const deployment = options.deployment ?? env.STEPWELL_DEPLOYMENT ?? packageName() ?? 'default';
  const app = () => options.appUrl ?? env.STEPWELL_APP_URL ?? env.WORKFLOW_LOCAL_BASE_URL ?? `http://localhost:${env.PORT ?? 3000}`;
  const loop = new Loop(server, deployment, options.concurrency ?? Number(env.STEPWELL_CONCURRENCY ?? 50), app);
  const ended = new AbortController();
  setMaxListeners(0, ended.signal); // a call that goes on has one
  const readers = new Set<AbortController>(); // of streams
  const call = (name: string, args: object) => server.call(name, args, ended.signal);
  const write = (runId: string, name: string, chunks: (string | Uint8Array)[], close = false) =>
    call('streams.write', { runId, name, close, call: randomUUID(), chunks: chunks.map((c) => (typeof c === 'string' ? Buffer.from(c) : c)) }).then(() => undefined);

  const world = {
    specVersion: Math.min(SPEC_VERSION_CURRENT, newestSpec),
    capabilities: { hookResumeDedup: true },
    async start() { loop.start(); },
    async close() {
      await loop.close();
      ended.abort();
      for (const r of readers) r.abort();
    },

    async getDeploymentId() { return deployment; },
    queue: (queueName: string, message: unknown, opts: any = {}) => call('queue.send', {
      queueName, message, headers: opts.headers, deploymentId: opts.deploymentId ?? deployment, idempotencyKey: opts.idempotencyKey,
      delaySeconds: opts.delaySeconds ?? 0, call: randomUUID(),
    }),
    createQueueHandler: (prefix: string, handler: (message: unknown, meta: any) => Promise<void | { timeoutSeconds: number }>) =>
      async (req: Request): Promise<Response> => {
        const queueName = req.headers.get('x-vqs-queue-name');
        const messageId = req.headers.get('x-vqs-message-id');
        const attempt = Number(req.headers.get('x-vqs-message-attempt'));
        if (!queueName?.startsWith(prefix) || !messageId || !(attempt >= 1)) return Response.json({ error: 'no message of this queue' }, { status: 400 });
        try {
          const result = await handler(decode(await req.text()), { attempt, queueName, messageId });
          return Response.json(typeof result?.timeoutSeconds === 'number' ? { timeoutSeconds: result.timeoutSeconds } : { ok: true });
        } catch (err) {
          return Response.json(String(err), { status: 500 });
        }
      },

    events: {
      create: (runId: string | null, event: object, params: object = {}) => call('events.create', { runId, event, params, call: randomUUID() }),
      createBatch: (runId: string, events: object[], params: object = {}) => call('events.batch', { runId, events, params, call: randomUUID() }),
      get: (runId: string, eventId: string, params: object = {}) => call('events.get', { ...params, runId, eventId }),
      list: (params: object) => call('events.list', params),
      listByCorrelationId: (params: object) => call('events.correlation', params),
    },
    runs: {
      get: (runId: string, params: object = {}) => call('runs.get', { ...params, runId }),
      cancelMany: (request: object) => call('runs.cancel', { ...request, call: randomUUID() }),
      list: (params: object = {}) => call('runs.list', params),
      waitForTerminalStatus(runId: string, { signal, timeoutMs = pollMs, ...params }: { signal?: AbortSignal; timeoutMs?: number } = {}) {
        return server.call('runs.wait', { ...params, runId, timeoutMs }, signal ?? ended.signal);
      },
    },
    steps: {
      get: (runId: string, stepId: string, params: object = {}) => call('steps.get', { ...params, runId, stepId }),
      list: (params: object) => call('steps.list', params),
    },
    hooks: {
      get: (hookId: string) => call('hooks.get', { hookId }),
      getByToken: (token: string) => call('hooks.token', { token }),
      list: (params: object) => call('hooks.list', params),
    },
    streams: {
      write: (runId: string, name: string, chunk: string | Uint8Array) => write(runId, name, [chunk]),
      writeMulti: (runId: string, name: string, chunks: (string | Uint8Array)[]) => write(runId, name, chunks),
      close: (runId: string, name: string) => write(runId, name, [], true),
      async get(runId: string, name: string, startIndex = 0): Promise<ReadableStream<Uint8Array>> {
        let from = startIndex;
        const over = new AbortController();
        readers.add(over);
        return new ReadableStream<Uint8Array>({
          async pull(controller) {
            for (;;) {
              const page = await server.call('streams.read', { runId, name, from, waitMs: pollMs }, over.signal);
              from = page.next;
              for (const c of page.chunks) controller.enqueue(c.data);
              if (page.done) {
                readers.delete(over);
                return controller.close();
              }
              if (page.chunks.length > 0) return;
            }
          },
          cancel() {
            readers.delete(over);
            over.abort();
          },
        });
      },
      list: (runId: string) => call('streams.list', { runId }),
      async getChunks(runId: string, name: string, { limit = 100, cursor }: { limit?: number; cursor?: string } = {}) {
        const page = await call('streams.read', { runId, name, from: Number(cursor ?? 0), limit: Math.min(limit, 1000) });
        return { data: page.chunks, cursor: String(page.next), hasMore: page.more, done: page.done };
      },
      getInfo: (runId: string, name: string) => call('streams.info', { runId, name }),
    },
  };
  return world as unknown as World;
}

export default createWorld;
