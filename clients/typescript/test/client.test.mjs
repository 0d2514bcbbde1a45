// The client against a real server, which is killed on the way, with a worker beside it. This is run by
// internal/tools/clienttypescript, in a project that has the package's tarball.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import * as api from '@stepwell/client';

const { Stepwell } = api;

for (const name of ['log', 'info', 'warn', 'error', 'debug']) {
  console[name] = () => { throw new Error('the client writes to the console'); };
}

const client = new Stepwell();
let last = 0;
const fresh = (name) => `${name}-${process.pid}-${++last}`;

/** refuses wants an error of a class, with its code. */
const refuses = (promise, type, code, also = {}) => assert.rejects(promise, (err) => {
  assert.ok(err instanceof type && err instanceof api.StepwellError, err);
  assert.equal(err.code, code);
  for (const [name, want] of Object.entries(also)) assert.deepEqual(err[name], want);
  return true;
});

/** all reads an iterator to its end. */
async function all(of) {
  const list = [];
  for await (const v of of) list.push(v);
  return list;
}

/** eventually waits until something is so. */
async function eventually(look) {
  for (const end = Date.now() + 30_000; ;) {
    const got = await look();
    if (got) return got;
    assert.ok(Date.now() < end, `it did not come to be: ${look}`);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

/** kill ends the server, with no time to say goodbye or as an operator does, and it is there again a moment later. */
async function kill(down = '200ms', how = 'kill') {
  const res = await fetch(`${process.env.STEPWELL_TEST_DOOR}/?down=${down}&how=${how}`, { method: 'POST' });
  assert.equal(res.status, 204);
}

/** counted is a client that tells when it asked for what. */
function counted() {
  const asked = [];
  return [new Stepwell({ fetch: (url, init) => { asked.push(url); return fetch(url, init); } }), asked];
}

/** deaf is a client that loses the first answer to each request that changes something. */
function deaf() {
  const lost = new Set();
  const sent = [];
  const made = new Stepwell({
    fetch: async (url, init) => {
      const res = await fetch(url, init);
      const what = `${init.method} ${url} ${init.body}`;
      sent.push(what);
      if (init.method === 'GET' || lost.has(what)) return res;
      lost.add(what);
      await res.text();
      throw new TypeError('the connection was reset');
    },
  });
  return { made, sent };
}

test('an order, from its start to its end', async () => {
  const [id, key, customer] = [fresh('order'), fresh(' schlüssel 鍵 😀'), fresh('ada')];
  const input = { customer, cents: 4200 };
  const more = { priority: 3, attributes: { city: 'Ulm' }, retentionDays: 3, context: { tag: 'x' } };
  const order = await client.start('order', input, { id, key, ...more });
  const { started } = order;
  assert.deepEqual([order.id, order.existed, started.priority, started.idempotencyKey], [id, false, 3, key]);
  const again = await client.start('order', input, { key });
  assert.deepEqual([again.id, again.existed], [id, true]);
  const taken = { status: 409, runId: id, name: 'RunExistsError' };
  await refuses(client.start('order', input, { id, key: fresh('other') }), api.RunExistsError, 'RUN_EXISTS', taken);
  await refuses(client.start('order', input, { id }), api.ConflictError, 'RUN_EXISTS');

  await order.signal('paid', { cents: 4200 }, { key: 'payment-1' });
  await order.signal('paid', { cents: 4200 }, { key: 'payment-1' });
  await refuses(order.signal('paid', { cents: 1 }, { key: 'payment-1' }), api.DeliveryUsedError, 'DELIVERY_USED');
  const hook = await eventually(async () => (await client.hooks.list({ run: id }))[0]);
  assert.equal(hook.token, `courier-${customer}`);
  await client.hooks.send(hook.token, 'Bob');
  assert.equal(await order.result({ timeout: 30_000 }), 'shipped by Bob');
  assert.equal((await order.get()).status, 'completed');
  await refuses(order.signal('paid', { cents: 1 }), api.RunOverError, 'RUN_OVER', { runId: id });
  await refuses(client.hooks.send(hook.token, 'Eve'), api.RunOverError, 'RUN_OVER', { status: 410 });
});

test('what is refused is an error of its class, and nothing else happens', async () => {
  const id = fresh('refused');
  await assert.rejects(client.start('order', { customer: 5 }, { id }), (err) => {
    assert.ok(err instanceof api.UnfitError && err instanceof api.InvalidError);
    assert.deepEqual([err.code, err.status, err.runId, err.problem.errors[0].pointer], ['UNFIT', 422, id, '/customer']);
    return true;
  });
  await refuses(client.runs.get(id), api.NotFoundError, 'NOT_FOUND', { runId: id, status: 404 });
  await refuses(client.runs.get('..'), api.InvalidError, 'INVALID', { status: 0 });
  await refuses(client.start('echo', 1, { priority: 9 }), api.InvalidError, 'INVALID', { status: 400 });
  await assert.rejects(client.start('echo', 1n), TypeError);
  await refuses(all(client.events(id)), api.NotFoundError, 'NOT_FOUND', { runId: id });
  await refuses(all(client.streams.read(id, 'words')), api.NotFoundError, 'NOT_FOUND');
  await refuses(client.hooks.send('nobody', 1), api.NotFoundError, 'NOT_FOUND');
  const order = await client.start('order', { customer: id, cents: 1 });
  await refuses(order.signal('other', 'x'.repeat(1 << 20)), api.TooLargeError, 'TOO_LARGE', { status: 413 });
  await refuses(order.cancel({ force: true }), api.ForbiddenError, 'FORBIDDEN');
  await refuses(new Stepwell({ apiKey: 'x'.repeat(32) }).runs.get('x'), api.UnauthenticatedError, 'UNAUTHENTICATED');
  const viewer = new Stepwell({ apiKey: process.env.STEPWELL_TEST_VIEWER });
  assert.equal((await viewer.runs.get(order.id)).id, order.id);
  await refuses(viewer.start('echo', 1), api.ForbiddenError, 'FORBIDDEN');
  const url = new URL(process.env.STEPWELL_URL);
  url.username = process.env.STEPWELL_TEST_VIEWER;
  assert.equal((await new Stepwell({ url: `${url}` }).runs.get(order.id)).id, order.id);
  for (const wrong of ['127.0.0.1:7373', 'localhost:7373', 'https://', 'postgres://me:secret@db/app']) {
    assert.throws(() => new Stepwell({ url: wrong }), (err) => err instanceof api.InvalidError && /like https:/.test(err.message) && !/secret/.test(err.message));
  }
  const elsewhere = new Stepwell({ url: `${process.env.STEPWELL_URL}/elsewhere/` });
  await refuses(elsewhere.runs.get('x'), api.NotFoundError, 'NO_ROUTE');
  await order.cancel();
});

test('a run that fails, is cancelled, or is not over', async () => {
  const failing = await client.start('order', { customer: fresh('f'), cents: 0 });
  await assert.rejects(failing.result(), (err) => {
    assert.ok(err instanceof api.RunFailedError && err instanceof api.RunEndedError);
    assert.deepEqual([err.code, err.runId, err.run.status], ['RUN_FAILED', failing.id, 'failed']);
    assert.match(err.message, /nothing to pay/);
    return true;
  });
  const waiting = await client.start('order', { customer: fresh('w'), cents: 1 }, { delay: 50 });
  const began = Date.now();
  await refuses(waiting.result({ timeout: 300 }), api.NotOverError, 'NOT_OVER', { runId: waiting.id });
  assert.ok(Date.now() - began < 5000);
  await refuses(waiting.result({ timeout: 0 }), api.NotOverError, 'NOT_OVER');
  await waiting.cancel({ reason: 'recalled' });
  await refuses(waiting.result(), api.RunCancelledError, 'RUN_CANCELLED', { runId: waiting.id });
  await waiting.cancel();
});

test('an AbortSignal ends whatever is under way, and keeps no listener', async () => {
  const order = await client.start('order', { customer: fresh('a'), cents: 1 });
  const stop = new AbortController();
  const { signal } = stop;
  await order.get({ signal });
  assert.deepEqual(await all(client.runs.list({ key: fresh('none'), signal })), []);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  const seen = [];
  const ended = [
    order.result({ signal }),
    all(order.stream('words', { signal })),
    (async () => { for await (const e of order.events({ signal })) seen.push(e.type); })(),
    new Stepwell({ url: 'http://127.0.0.1:1' }).runs.get('x', { signal }),
  ].map((p) => assert.rejects(p, (err) => err === signal.reason));
  await eventually(() => seen.includes('wait_created') || seen.includes('hook_created'));
  stop.abort(new Error('enough'));
  await Promise.all(ended);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await assert.rejects(order.cancel({ signal }), /enough/);
  for await (const e of order.events()) if (e.type === 'run_created') break; // and the connection is closed
  await order.cancel();
});

test('a signal is given to any number of calls, and Node knows of no leak', async () => {
  const warned = [];
  const hear = (w) => warned.push(w.message);
  process.on('warning', hear);
  const away = createServer(() => {}); // it never answers
  await new Promise((listens) => { away.listen(0, '127.0.0.1', listens); });
  const { port } = away.address();
  const silent = new Stepwell({ url: `http://127.0.0.1:${port}` });
  const stop = new AbortController();
  const ended = Array.from({ length: 40 }, () => assert.rejects(silent.runs.get('x', { signal: stop.signal }), /enough/));
  await new Promise(setImmediate);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1);
  stop.abort(new Error('enough'));
  await Promise.all(ended);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
  away.closeAllConnections();
  away.close();
  await new Promise(setImmediate);
  process.off('warning', hear);
  assert.deepEqual(warned, []);
});

test('what JSON would lose is refused, and said where', async () => {
  const circle = {};
  circle.of = circle;
  for (const [input, says] of [
    [NaN, /^input is NaN/], [{ lines: [{ price: 1 }, { price: Infinity }] }, /^input\.lines\[1\]\.price is Infinity/],
    [{ of: new Map([['a', 1]]) }, /^input\.of is a Map/], [new Set(), /a Set/], [[/x/], /^input\[0\] is a RegExp/],
    [{ err: new Error('no') }, /^input\.err is an Error/], [Promise.resolve(1), /a Promise/], [new Uint8Array(2), /a Uint8Array/],
    [new ArrayBuffer(2), /an ArrayBuffer/], [{ at: new Date(NaN) }, /^input\.at is an invalid Date/], [() => 1, /a function/],
    [{ s: Symbol('s') }, /^input\.s is a symbol/], [[1, undefined], /^input\[1\] is undefined/],
    [{ toJSON: () => ({ n: NaN }) }, /^input\.n is NaN/],
  ]) {
    await assert.rejects(client.start('echo', input), (err) => {
      assert.ok(err instanceof api.InvalidError, err);
      assert.match(err.message, says);
      return true;
    });
  }
  await assert.rejects(client.start('echo', { n: 1n }), TypeError);
  await assert.rejects(client.start('echo', circle), TypeError);
  await refuses(client.run('x').signal('paid', { cents: NaN }), api.InvalidError, 'INVALID');
  await refuses(client.queues.send('q', [NaN]), api.InvalidError, 'INVALID');
  const input = { at: new Date(0), none: undefined, of: new (class { n = 1; })(), deep: [[null]], twice: [circle.x, 1].slice(1) };
  assert.deepEqual(await (await client.start('echo', input)).result(), {
    at: '1970-01-01T00:00:00.000Z', of: { n: 1 }, deep: [[null]], twice: [1],
  });
});

test('lists go through all pages', async () => {
  const batch = fresh('batch');
  const ids = [];
  for (const n of [1, 2, 3, '3', 5]) ids.unshift((await client.start('echo', { n }, { attributes: { batch } })).id);
  const [counting, asked] = counted();
  const since = new Date(Date.now() - 3600_000);
  const runs = await all(counting.runs.list({ workflow: 'echo', attributes: { batch }, pageSize: 2, since }));
  assert.deepEqual(runs.map((r) => r.id), ids);
  assert.ok(asked.length >= 3, `${asked.length} pages`);
  const threes = await all(client.runs.list({ attributes: { batch }, input: { n: '3' }, payloads: true }));
  assert.deepEqual(threes.map((r) => r.input), [{ n: '3' }]);
  assert.deepEqual(await all(client.runs.list({ attributes: { batch }, status: ['blocked', 'failed'] })), []);
});

test('events go on where a killed server broke the connection', async () => {
  const n = 30;
  const run = await client.start('count', n);
  const seen = [];
  const [follower, asked] = counted();
  for await (const e of follower.events(run.id)) {
    seen.push(e);
    if (seen.length === 8) await kill();
  }
  assert.ok(asked.length > 1, 'the connection did not break');
  assert.deepEqual(seen.map((e) => e.seq), seen.map((_, i) => i + 1)); // each once, in order
  assert.equal(seen.at(-1).type, 'run_completed');
  assert.equal(await run.result(), n);
  assert.deepEqual(await all(run.events({ after: seen[7].eventId })), seen.slice(8));
  assert.deepEqual(await all(run.events({ after: seen.at(-1).eventId })), []);
  assert.deepEqual(await all(run.events({ follow: false })), seen);
  assert.deepEqual(await all(run.events({ type: ['run_created', 'run_completed'] })), [seen.at(0), seen.at(-1)]);
});

test('a server that ends in order hands its followers over', async () => {
  const talk = await client.start('talk', 60);
  const order = await client.start('order', { customer: fresh('o'), cents: 1 });
  const [follower, asked] = counted();
  const [words, types] = [[], []];
  const follows = [
    (async () => { for await (const c of follower.streams.read(talk.id, 'the words')) words.push(c.index); })(),
    (async () => { for await (const e of follower.events(order.id)) types.push(e.type); })(),
    refuses(follower.result(order.id), api.RunCancelledError, 'RUN_CANCELLED'),
  ];
  await eventually(() => words.length > 3 && types.includes('hook_created'));
  await kill('100ms', 'interrupt');
  await order.cancel();
  await Promise.all(follows);
  assert.deepEqual(words, Array.from({ length: 60 }, (_, i) => i));
  assert.equal(new Set(types).size, types.length);
  assert.equal(types.at(-1), 'run_cancelled');
  assert.ok(asked.length >= 6, `${asked.length} requests`);
});

test('an answer may come in pieces of any size', async () => {
  const run = await client.start('echo', { text: 'ä€😀\n\ndata: x'.repeat(300) });
  await run.result();
  const whole = await all(run.events());
  for (const size of [1, 7, 1000]) {
    const torn = new Stepwell({
      fetch: async (url, init) => {
        const res = await fetch(url, init);
        const pieces = new TransformStream({
          transform(bytes, to) {
            for (let i = 0; i < bytes.length; i += size) to.enqueue(bytes.subarray(i, i + size));
          },
        });
        return new Response(res.body.pipeThrough(pieces), res);
      },
    });
    assert.deepEqual(await all(torn.events(run.id)), whole);
  }
});

test('streams go on where a killed server broke the connection', async () => {
  const n = 40;
  const run = await client.start('talk', n);
  const seen = [];
  const [follower, asked] = counted();
  for await (const c of follower.streams.read(run.id, 'the words')) {
    seen.push(c);
    if (c.index === 5) await kill();
  }
  assert.ok(asked.length > 1, 'the connection did not break');
  assert.deepEqual(seen.map((c) => c.value), Array.from({ length: n }, (_, i) => `word ${i}`)); // each once, in order
  assert.deepEqual((await all(run.stream('the words', { from: 37 }))).map((c) => c.index), [37, 38, 39]);
  assert.deepEqual((await client.streams.list(run.id)).map((s) => [s.name, s.closed]), [['the words', 'close']]);
});

test('a stream that begins anew, and breaks', async () => {
  const run = await client.start('stammer', 'no more');
  const seen = [];
  await assert.rejects((async () => { for await (const c of run.stream('words')) seen.push(c); })(), (err) => {
    assert.ok(err instanceof api.StreamError);
    assert.deepEqual([err.code, err.runId], ['STREAM_BROKEN', run.id]);
    assert.match(err.message, /no more/);
    return true;
  });
  const reset = seen.findIndex((c) => c.reset);
  assert.ok(reset >= 0, JSON.stringify(seen));
  assert.deepEqual(seen.slice(reset).map((c) => c.value), [undefined, { attempt: 2 }]);
});

test('what gets no answer is sent again under its key, and done once', async () => {
  const { made, sent } = deaf();
  const customer = fresh('deaf');
  const order = await made.start('order', { customer, cents: 1 });
  assert.equal((await all(client.runs.list({ workflow: 'order', input: { customer } }))).length, 1);
  await order.signal('paid', { cents: 1 });
  await eventually(async () => (await client.hooks.list({ run: order.id })).length > 0);
  await made.hooks.send(`courier-${customer}`, 'Cem');
  assert.equal(await order.result(), 'shipped by Cem');
  const log = (await all(order.events())).map((e) => e.type);
  assert.equal(log.filter((t) => t === 'signal_received').length, 1);

  const [queue, subscription, topic] = [fresh('mails'), fresh('subscription'), `told.${fresh('x')}`];
  await made.call('put', '/v1/queues/{queue}', { path: { queue }, body: { visibility: '1m' } });
  const told = { path: { subscription }, body: { pattern: topic, queue } };
  await made.call('put', '/v1/subscriptions/{subscription}', told);
  const one = await made.queues.send(queue, { to: 'ann' }, { priority: 4, headers: { a: 'b' } });
  assert.equal(one.duplicate, true); // the first was taken too
  await made.queues.sendAll(queue, [{ payload: 1, group: 'bob' }, { payload: 2, delay: '1h', key: 'two' }]);
  await made.topics.publish(topic, { it: 'is' }, { source: 'here' });
  await eventually(async () => {
    const { messages } = await client.call('get', '/v1/queues/{queue}/messages', { path: { queue } });
    return messages.length >= 4;
  });
  const { messages } = await client.call('get', '/v1/queues/{queue}/messages', { path: { queue } });
  assert.deepEqual(messages.map((m) => m.payload.to ?? m.payload.it ?? m.payload).sort(), [1, 2, 'ann', 'is']);
  assert.equal(sent.filter((s) => s.startsWith('POST')).length, 12); // six, each twice

  const before = sent.length;
  const fork = made.call('post', '/v1/runs/{run}/fork', { path: { run: order.id }, body: {} });
  await refuses(fork, api.UnavailableError, 'UNREACHABLE');
  assert.equal(sent.length, before + 1); // nobody knows whether it was done: it is the caller's to say
});

test('a server that is away is waited for, as long as is said', async () => {
  await kill('1s');
  await refuses(new Stepwell({ retryFor: 0 }).runs.get('x'), api.UnavailableError, 'UNREACHABLE', { status: 0 });
  const run = await client.start('echo', 'still there');
  const [result] = await Promise.all([run.result(), kill('500ms')]);
  assert.equal(result, 'still there');
  const mute = createServer(() => {});
  await new Promise((listens) => mute.listen(0, '127.0.0.1', listens));
  const slow = new Stepwell({ url: `http://127.0.0.1:${mute.address().port}`, retryFor: 0, requestTimeout: 50 });
  await assert.rejects(slow.runs.get('x'), /no answer within 50 ms/);
  mute.closeAllConnections();
  mute.close();
  const proxy = new Stepwell({ fetch: async () => new Response('<html>', { status: 200 }) });
  await refuses(proxy.runs.get('x'), api.StepwellError, 'PROTOCOL');
  let n = 0;
  const flaky = new Stepwell({
    fetch: async (url, init) => (n++ === 0 ? new Response('<html>', { status: 502 }) : fetch(url, init)),
  });
  assert.equal((await flaky.runs.get(run.id)).status, 'completed');
});

test('Retry-After is honoured', async () => {
  const first = await client.start('rare', 1);
  await assert.rejects(client.start('rare', 2, { retryFor: 100 }), (err) => {
    assert.ok(err instanceof api.RateLimitedError && err instanceof api.BusyError);
    assert.ok(err.retryAfterMs > 100 && err.retryAfterMs <= 2000, `${err.retryAfterMs}`);
    return true;
  });
  const [patient, tried] = counted();
  const second = await patient.start('rare', 2);
  assert.notEqual(second.id, first.id);
  assert.ok(tried.length >= 2 && tried.length <= 4, `${tried.length} tries`);
  assert.equal(await second.result(), 2);
});

test('values of any size and kind', async () => {
  assert.equal((await (await client.start('big', 3 << 20)).result()).length, 3 << 20); // kept apart from the log
  for (const v of [null, 0, '', false, [], { a: [1, 'ä€😀'] }]) {
    assert.deepEqual(await (await client.start('echo', v)).result(), v);
  }
  assert.equal(await (await client.start('echo')).result(), null);
  const large = '9007199254740993'; // 2^53 + 1
  const big = new Stepwell({
    json: {
      parse: (text) => JSON.parse(text.replace(/"output":(\d{16,})/, '"output":"big $1"')),
      stringify(v) {
        return JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `big ${x}` : x)).replace(/"big (\d+)"/g, '$1');
      },
    },
  });
  const run = await big.start('echo', BigInt(large));
  assert.equal(await run.result(), `big ${large}`);
  assert.equal(await client.run(run.id).result(), 2 ** 53); // JSON as JavaScript has it
});

test('any other route, by call', async () => {
  const schedule = fresh('nightly');
  const put = await client.call('put', '/v1/schedules/{schedule}', {
    path: { schedule }, body: { workflow: 'echo', times: ['30 2 * * *'], zone: 'Europe/Berlin' },
  });
  assert.equal(put.workflow, 'echo');
  const { schedules } = await client.call('get', '/v1/schedules');
  assert.ok(schedules.some((s) => s.name === schedule));
  assert.equal(await client.call('delete', '/v1/schedules/{schedule}', { path: { schedule } }), undefined);
  await assert.rejects(client.call('get', '/v1/schedules/{schedule}', { path: { schedule } }), api.NotFoundError);
  const order = await client.start('order', { customer: fresh('p'), cents: 1 });
  const pause = { path: { run: order.id }, body: { reason: 'stock' }, safe: true };
  const paused = await client.call('post', '/v1/runs/{run}/pause', pause);
  assert.equal(paused.id, order.id);
  await order.cancel();
});
