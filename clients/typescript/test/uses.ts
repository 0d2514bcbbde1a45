// A program that uses all of the package, for the compiler alone: with strict, as a browser's and as Node's.

import {
  BusyError, ConflictError, DeliveryUsedError, FatalError, ForbiddenError, InvalidError, NotFoundError, NotOverError,
  RateLimitedError, RetryError, RunCancelledError, RunEndedError, RunExistsError, RunFailedError, RunHandle, RunOverError,
  StepCancelledError, Stepwell, StepwellError, StreamError, TooLargeError, UnauthenticatedError, UnavailableError, UnfitError,
  Worker,
} from '@stepwell/client';
import type {
  Answer, CallArgs, Chunk, Duration, Event, Hook, Json, ListedRun, Options, PathWith, Problem, Run, SentMessage,
  StepContext, StepEnd, StepFunction, Time, WorkerOptions,
} from '@stepwell/client';

interface Order { customer: string; cents: number }

const json: Json = { parse: JSON.parse, stringify: (v) => JSON.stringify(v) };
const options: Options = {
  url: 'http://127.0.0.1:7373', apiKey: 'secret', fetch, retryFor: 10_000, requestTimeout: 5000, json,
  headers: { 'x-team': 'shop' },
};

export async function use(signal: AbortSignal): Promise<string> {
  const client = new Stepwell(options);
  const delay: Duration = '1h';
  const since: Time = new Date();
  const order: RunHandle<string> = await client.start<string>('order', { customer: 'ada', cents: 1 } satisfies Order, {
    key: 'cart-17', id: 'o-1', delay, priority: 3, attributes: { city: 'Ulm' }, version: 2, timeout: 1000,
    startTTL: 'forever', retentionDays: 1, context: { team: 'shop' }, signal, retryFor: 1,
    signals: [{ event: 'paid', payload: 1, deliveryId: 'p' }],
  });
  const started: Run | undefined = order.started;
  const there: boolean = order.existed;
  await order.signal('paid', { cents: 1 }, { key: 'p', signal });
  await client.run('o-1').cancel({ reason: 'why', force: true, signal });
  const some = { after: 'evnt_1', correlationId: 'x', follow: false, signal };
  for await (const e of order.events({ ...some, type: ['run_created'] })) {
    const event: Event = e;
    if (event.type === 'step_completed') return `${event.seq} ${new Date(event.time).getTime()}`;
  }
  for await (const c of order.stream<string>('words', { from: 3, signal })) {
    const chunk: Chunk<string> = c;
    if (chunk.reset) return `${chunk.from}`;
    return chunk.value.toUpperCase();
  }
  const found = client.runs.list({
    workflow: 'order', status: ['failed', 'blocked'], since, until: '2h', attributes: { a: 1 }, input: { b: 'c' },
    pageSize: 9,
  });
  for await (const r of found) {
    const listed: ListedRun = r;
    return listed.why.kind;
  }
  const hooks: Hook[] = await client.hooks.list({ run: order.id, signal });
  await client.hooks.send(hooks[0]!.token, { ok: true }, { key: 'k' });
  const headers = { a: 'b' };
  await client.topics.publish('order.paid', { order: 7 }, { key: 'k', delay: 5, at: since, source: 's', headers });
  const sent: SentMessage = await client.queues.send('mails', { to: 'ann' }, {
    key: 'k', group: 'g', priority: 4, delay: '1m', headers, dedupeWindow: '1h', signal,
  });
  await client.queues.sendAll('mails', [{ payload: sent.id }]);
  const args: CallArgs<'put', '/v1/queues/{queue}'> = { path: { queue: 'mails' }, body: { visibility: '5m' } };
  const queue: Answer<'put', '/v1/queues/{queue}'> = await client.call('put', '/v1/queues/{queue}', args);
  const path: PathWith<'post'> = '/v1/queues/{queue}/receive';
  const got = await client.call('post', path, { path: { queue: queue.name }, body: { wait: '20s', most: 10 } });
  const receipts = got.messages.map((m) => m.receipt ?? '');
  await client.call('post', '/v1/queues/{queue}/ack', { path: { queue: 'mails' }, body: { receipts }, safe: true });
  const nothing: undefined = await client.call('delete', '/v1/queues/{queue}', { path: { queue: 'mails' } });
  await client.call('get', '/healthz');
  // @ts-expect-error: the path has a name
  await client.call('get', '/v1/runs/{run}');
  // @ts-expect-error: there is no such route
  await client.call('get', '/v1/nowhere');
  // @ts-expect-error: it does not have this method
  await client.call('put', '/v1/runs/{run}', { path: { run: 'x' } });
  // @ts-expect-error: it has another body
  await client.call('post', '/v1/queues/{queue}/ack', { path: { queue: 'mails' }, body: { receipt: 'x' } });
  // @ts-expect-error: no such option
  await client.start('order', {}, { idempotencyKey: 'x' });
  return order.result({ timeout: 1000, newest: false, signal, retryFor: Infinity }) ?? `${started} ${there} ${nothing}`;
}

const count: StepFunction<{ words: string[] }, number> = (input) => input.words.length;
const worker: WorkerOptions = {
  steps: {
    count,
    resize: async (input: { file: string; most: number }, step) => {
      const context: StepContext = step;
      const before = step.progress as { row: number } | undefined;
      step.signal.throwIfAborted();
      step.heartbeat({ row: 1 + (before?.row ?? 0) });
      await step.write('log', `${step.name} ${step.attempt}`, input.most);
      await step.flush('log');
      step.close('log');
      if (input.most < 1) throw new FatalError('no size', { code: 'NO_SIZE', cause: context });
      if (input.most > 9000) throw new RetryError('busy', { after: 5000 });
      return { file: input.file, width: input.most };
    },
  },
  concurrency: 2, name: 'resizer', lease: '10s', drain: 5000, signals: false,
  onError: (err, step) => {
    const why: StepEnd | undefined = err instanceof StepCancelledError ? err.why : undefined;
    if (why) throw new Error(step?.run);
  },
};

export async function serve(): Promise<void> {
  const steps = new Worker(new Stepwell(options), worker);
  setTimeout(() => steps.stop(), 1000);
  await steps.run();
}

export function what(err: unknown): string | number | Problem | Run | undefined {
  if (err instanceof RunFailedError || err instanceof RunCancelledError) return err.run.error?.message;
  if (err instanceof RunEndedError) return err.run;
  if (err instanceof UnfitError) return err.problem?.errors?.[0]?.pointer;
  if (err instanceof RateLimitedError || err instanceof BusyError) return err.retryAfterMs;
  if (err instanceof RunExistsError || err instanceof RunOverError) return err.runId;
  if (err instanceof DeliveryUsedError) return err.runId;
  if (err instanceof ConflictError) return err.status;
  if (err instanceof TooLargeError || err instanceof InvalidError || err instanceof NotFoundError) return err.problem;
  if (err instanceof UnauthenticatedError || err instanceof ForbiddenError) return err.status;
  if (err instanceof UnavailableError) return err.message;
  if (err instanceof StreamError || err instanceof NotOverError || err instanceof StepwellError) return err.code;
  return undefined;
}
