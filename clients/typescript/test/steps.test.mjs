// Step workers against a real server, for steps of workflows in Go. This is run by internal/tools/clienttypescript.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as api from '@stepwell/client';

const { Stepwell, Worker, FatalError, RetryError } = api;
const client = new Stepwell();

/** works has functions run steps until what is beside it is done. */
async function works(steps, beside, options = {}) {
  const own = new Stepwell({ apiKey: process.env.STEPWELL_TEST_STEPS });
  const worker = new Worker(own, { steps, lease: 3000, drain: 1000, ...options });
  const running = worker.run();
  try {
    return await beside(worker);
  } finally {
    worker.stop();
    await running;
  }
}

const call = (input, step = 'remote') => client.start('call', { step, input });

async function failure(run) {
  const err = await run.result({ timeout: 60_000 }).catch((e) => e);
  assert.ok(err instanceof api.RunFailedError, err);
  return err.run.error;
}

async function attempts(run) {
  const said = [];
  for await (const e of run.events({ follow: false })) {
    if (e.attempt) said.push(`${e.type} ${e.attempt} ${e.error?.code ?? ''}`.trim());
  }
  return said;
}

async function until(there) {
  for (const end = Date.now() + 60_000; ;) {
    const got = await there();
    if (got) return got;
    assert.ok(Date.now() < end, `${there}`);
    await sleep(10);
  }
}

async function kill(down) {
  assert.equal((await fetch(`${process.env.STEPWELL_TEST_DOOR}/?down=${down}&how=kill`, { method: 'POST' })).status, 204);
}

test('each is done once', async () => {
  const done = [];
  const remote = async (n, { attempt, id }) => {
    done.push(n);
    await sleep(10);
    return { twice: 2 * n, attempt, id };
  };
  await works({ remote }, async () => {
    const runs = await Promise.all(Array.from({ length: 30 }, (_, n) => call(n)));
    const got = await Promise.all(runs.map((run) => run.result({ timeout: 60_000 })));
    assert.deepEqual(got.map((g) => [g.twice, g.attempt]), Array.from({ length: 30 }, (_, n) => [2 * n, 1]));
    assert.equal(new Set(got.map((g) => g.id)).size, 30);
  }, { concurrency: 8 });
  assert.deepEqual(done.sort((a, b) => a - b), Array.from({ length: 30 }, (_, n) => n));
});

test('large values, and none', async () => {
  await works({ remote: (s) => (s === null ? undefined : [...s].reverse().join('')) }, async () => {
    assert.equal(await (await call(`a${'é'.repeat(1_000_000)}`)).result({ timeout: 60_000 }), `${'é'.repeat(1_000_000)}a`);
    assert.equal(await (await call(null)).result({ timeout: 60_000 }), null);
  });
});

test('errors, retries, and what is final', async () => {
  const errors = {
    twice: new TypeError('not yet'), always: new Error('no'), fatal: new FatalError('never', { code: 'NO_COLOUR' }),
    later: new RetryError('busy', { after: 200 }), text: 'a text',
  };
  const remote = async (which, { attempt }) => {
    if (which === 'twice' && attempt === 3) return 'there';
    if (which === 'later' && attempt === 2) return 'later';
    if (which === 'odd') return 1n;
    throw errors[which];
  };
  const told = [];
  await works({ remote }, async () => {
    let run = await call('twice');
    assert.equal(await run.result({ timeout: 60_000 }), 'there');
    assert.deepEqual(await attempts(run), ['step_started 1', 'step_retrying 1', 'step_started 2', 'step_retrying 2',
      'step_started 3', 'step_completed 3']);
    run = await call('always');
    assert.match((await failure(run)).message, /no/);
    assert.equal((await attempts(run)).filter((a) => a.startsWith('step_started')).length, 3);
    run = await call('fatal');
    assert.equal((await failure(run)).code, 'NO_COLOUR');
    assert.deepEqual(await attempts(run), ['step_started 1', 'step_failed 1 NO_COLOUR']);
    for await (const e of run.events({ type: ['step_failed'] })) {
      assert.match(e.error.where, /^steps\.test\.mjs:\d+$/);
      assert.equal(e.error.name, 'FatalError');
    }
    run = await call('odd');
    assert.equal((await failure(run)).code, 'ENCODE');
    assert.deepEqual(await attempts(run), ['step_started 1', 'step_failed 1 ENCODE']);
    const began = Date.now();
    assert.equal(await (await call('later')).result({ timeout: 60_000 }), 'later');
    assert.ok(Date.now() - began > 200);
    assert.match((await failure(await call('text'))).message, /a text/);
  }, { onError: (err, step) => told.push([err, step.attempt]) });
  assert.ok(told.some(([err, attempt]) => err === errors.twice && attempt === 2));
});

test('the next attempt goes on from the progress', async () => {
  const seen = [];
  const remote = async (_, step) => {
    seen.push(step.progress);
    for (let row = step.progress?.row ?? 0; row < 1000; row++) {
      step.heartbeat({ row });
      if (row === 500 && step.attempt === 1) throw new Error('the line is cut');
    }
    assert.throws(() => step.heartbeat('x'.repeat(4096)), RangeError);
    return step.attempt;
  };
  await works({ remote }, async () => assert.equal(await (await call()).result({ timeout: 60_000 }), 2));
  assert.deepEqual(seen, [undefined, { row: 500 }]);
});

test('progress is what was said, whatever becomes of the value, and whichever answer is lost', async () => {
  const seen = [];
  let told;
  const lost = new Promise((go) => { told = go; });
  const remote = async (_, step) => {
    seen.push(step.progress);
    if (step.attempt > 1) return 'done';
    const state = { row: 1 };
    step.heartbeat(state);
    state.row = 2n; // no JSON
    await lost;
    step.heartbeat({ row: 3 });
    throw new Error('the line is cut');
  };
  await works({ remote }, async (worker) => {
    const ask = worker.ask.bind(worker);
    worker.ask = async (name, body, more) => {
      const got = await ask(name, body, more);
      if (name !== 'heartbeat' || !told || !body.tasks.some((t) => 'progress' in t)) return got;
      told();
      told = undefined;
      throw new TypeError('the answer is lost');
    };
    assert.equal(await (await call()).result({ timeout: 60_000 }), 'done');
  });
  assert.deepEqual(seen, [undefined, { row: 3 }]);
});

test('the lease is lost while a step goes on: the worker takes others', async () => {
  const begun = [];
  let goOn;
  const waits = new Promise((go) => { goOn = go; });
  const remote = async (value, step) => {
    begun.push(value);
    if (begun.length === 1) await waits; // it hears of nothing
    return [value, step.attempt];
  };
  await works({ remote }, async (worker) => {
    const run = await call('first');
    await until(() => begun.length);
    const own = new Stepwell({ apiKey: process.env.STEPWELL_TEST_STEPS });
    await own.call('post', '/v1/steps/leave', { body: { worker: worker.id } });
    const [value, attempt] = await run.result({ timeout: 60_000 });
    assert.equal(value, 'first');
    assert.ok(attempt > 1, `${attempt}`);
    assert.deepEqual(await (await call('next')).result({ timeout: 60_000 }), ['next', 1]);
    goOn();
    assert.deepEqual(await (await call('last')).result({ timeout: 60_000 }), ['last', 1]);
  }, { concurrency: 2 });
});

test('a cancelled run aborts its step', async () => {
  const heard = [];
  const remote = async (_, step) => {
    heard.push('begun');
    await sleep(60_000, undefined, { signal: step.signal }).finally(() => heard.push(step.signal.reason.why));
  };
  await works({ remote }, async () => {
    const run = await call();
    await until(() => heard.length);
    const began = Date.now();
    await run.cancel();
    await until(() => heard.length > 1);
    assert.ok(Date.now() - began < 5000);
    await assert.rejects(run.result({ timeout: 60_000 }), api.RunCancelledError);
  });
  assert.deepEqual(heard, ['begun', 'ended']);
});

test('its time is up, or it says nothing for too long', async () => {
  const brief = async (late, { signal }) => {
    await sleep(60_000, undefined, { signal }).catch((err) => { if (!late) throw err; });
    return 'all the same';
  };
  const quiet = async (_, step) => {
    for (let n = 0; n < 20; n++) {
      step.heartbeat(n);
      await sleep(100, undefined, { signal: step.signal });
    }
    await sleep(60_000, undefined, { signal: step.signal });
  };
  await works({ brief, quiet }, async () => {
    const timeout = await failure(await call(false, 'brief'));
    assert.equal(timeout.code, 'TIMEOUT');
    assert.match(timeout.message, /timed out after 1s: it was stopped/);
    assert.equal(await (await call(true, 'brief')).result({ timeout: 60_000 }), 'all the same');
    assert.equal((await failure(await call(null, 'quiet'))).code, 'HEARTBEAT');
  });
});

test('streams', async () => {
  const speaks = async (_, step) => {
    for (let n = 0; n < 100; n++) await step.write('words', { attempt: step.attempt, n });
    if (step.attempt === 1) {
      await step.flush('words');
      throw new Error('a cough');
    }
    await step.write('words', ...Array(10).fill('x'.repeat(50_000)));
    step.close('words');
    await assert.rejects(step.write('words', 1), /closed/);
    return 'said';
  };
  await works({ remote: speaks }, async () => {
    const run = await call();
    assert.equal(await run.result({ timeout: 60_000 }), 'said');
    let said = [];
    for await (const c of run.stream('words')) c.reset ? said = [] : said.push(c.value);
    assert.deepEqual(said.slice(0, 100), Array.from({ length: 100 }, (_, n) => ({ attempt: 2, n })));
    assert.deepEqual(said.slice(100).map((s) => s.length), Array(10).fill(50_000));
  });
  const breaks = async (_, step) => {
    await step.write('words', 'half');
    step.close('words', 'no breath');
  };
  await works({ remote: breaks }, async () => {
    const run = await call();
    await run.result({ timeout: 60_000 });
    await assert.rejects((async () => { for await (const _ of run.stream('words')); })(), /no breath/);
  });
});

test('the server is killed while a step runs', async () => {
  const calls = [];
  let goOn;
  const waits = new Promise((go) => { goOn = go; });
  const remote = async (_, step) => {
    calls.push(step.attempt);
    await waits;
    await step.write('words', 'still here');
    return 'done';
  };
  await works({ remote }, async () => {
    const run = await call();
    await until(() => calls.length);
    await kill('1s');
    goOn();
    assert.equal(await run.result({ timeout: 60_000 }), 'done');
    assert.deepEqual(await attempts(run), ['step_started 1', 'step_completed 1']);
    const said = [];
    for await (const c of run.stream('words')) said.push(c.value);
    assert.deepEqual(said, ['still here']);
  }, { lease: '10s' });
  assert.deepEqual(calls, [1]);
});

/** program starts a worker of its own; line is what it says next. */
function program(drain) {
  const child = spawn(process.execPath, ['steps_program.mjs', drain], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const over = new Promise((done) => child.on('exit', (code) => done(code)));
  return { child, over, line: async () => (await lines.next()).value };
}

const goesOn = (run) => works({ remote: (_, { attempt, progress }) => [attempt, progress] }, () => run.result({ timeout: 60_000 }));

test('killed in the middle, another one does it', async () => {
  const { child, line, over } = program('60000');
  const run = await call();
  assert.equal(await line(), 'begun 1');
  await until(async () => (await client.call('get', '/v1/runs/{run}/steps', { path: { run: run.id } })).steps[0].progress);
  child.kill('SIGKILL');
  await over;
  assert.deepEqual(await goesOn(run), [2, { row: 7 }]);
  assert.deepEqual(await attempts(run), ['step_started 1', 'step_started 2', 'step_completed 2']);
});

test('told to end, it gives back what it holds', async () => {
  const { child, line, over } = program('100');
  const run = await call();
  assert.equal(await line(), 'begun 1');
  child.kill('SIGTERM');
  assert.equal(await line(), 'over');
  assert.equal(await over, 0);
  assert.deepEqual(await goesOn(run), [2, { row: 7 }]);
  assert.deepEqual(await attempts(run), ['step_started 1', 'step_retrying 1 ABANDONED', 'step_started 2',
    'step_completed 2']);
});

test('a key is for its steps', async () => {
  await assert.rejects(new Worker(client, { steps: { remote: () => 1 } }).run(), api.ForbiddenError);
  const steps = new Stepwell({ apiKey: process.env.STEPWELL_TEST_STEPS });
  await assert.rejects(new Worker(steps, { steps: { other: () => 1 } }).run(), api.ForbiddenError);
  await assert.rejects(steps.start('call', { step: 'remote' }), api.ForbiddenError);
  await assert.rejects(steps.runs.get('any'), api.ForbiddenError);
});
