// What every runtime is to do alike: it uses what the web has, and nothing of Node.

export async function smoke({ Stepwell, RunFailedError, StepwellError }, options) {
  const client = new Stepwell(options);
  const want = (ok, what) => { if (!ok) throw new Error(`${what} is not so`); };
  const run = await client.start('talk', 5);
  const words = [];
  for await (const c of run.stream('the words')) words.push(c.value);
  want(words.join() === 'word 0,word 1,word 2,word 3,word 4', words);
  want(await run.result({ timeout: 30_000 }) === 5, 'the result');
  const types = [];
  for await (const e of run.events()) types.push(e.type);
  want(types.at(0) === 'run_created' && types.at(-1) === 'run_completed', types);
  for await (const e of run.events()) if (e.type === 'run_created') break;
  want((await (await client.start('big', 2 << 20)).result()).length === 2 << 20, 'a large result');

  const name = `smoke-${Date.now()}-${Math.random()}`;
  const failed = await (await client.start('order', { customer: name, cents: 0 })).result().catch((err) => err);
  want(failed instanceof RunFailedError && failed.code === 'RUN_FAILED', failed);
  const refused = await client.runs.get('nobody').catch((err) => err);
  want(refused instanceof StepwellError && refused.status === 404 && refused.name === 'NotFoundError', refused);

  const order = await client.start('order', { customer: `${name}-2`, cents: 1 });
  const stop = new AbortController();
  const waits = order.result({ signal: stop.signal }).catch((err) => err);
  const follows = (async () => { for await (const _ of order.events({ signal: stop.signal })); })().catch((err) => err);
  const key = 'schlüssel 鍵 😀';
  await order.signal('other', 1, { key });
  for await (const e of order.events({ type: ['signal_received'] })) {
    want(e.delivery === key, e.delivery);
    break;
  }
  const reason = new Error('enough');
  stop.abort(reason);
  want(await waits === reason && await follows === reason, 'what an AbortSignal says');
  await order.cancel();

  let lost = false; // the answer to the first request
  const deaf = new Stepwell({
    ...options,
    fetch: async (url, init) => {
      const res = await fetch(url, init);
      if (lost) return res;
      lost = true;
      await res.text();
      throw new TypeError('the connection was reset');
    },
  });
  const twice = await deaf.start('echo', 'once');
  want(twice.existed && await twice.result() === 'once', 'what is sent again');
  return 'well';
}
