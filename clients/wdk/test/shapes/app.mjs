// An app that has the shapes, and runs one for whoever asks: POST /do {"name", "args", "token", "stream"}.

import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { resumeHook, start } from 'workflow/api';
import { getWorld, setWorld } from 'workflow/runtime';
import { POST } from './.well-known/workflow/v1/flow.mjs';

const manifest = JSON.parse(readFileSync('.well-known/workflow/v1/manifest.json', 'utf8'));
const shapes = Object.assign({}, ...Object.values(manifest.workflows));
let world;

async function run({ name, args, token, stream }) {
  const run = await start(shapes[name], args);
  const told = [];
  const reads = stream && (async () => { for await (const n of run.getReadable()) told.push(n); })();
  for (let sent = 0; token && sent < 3; ) {
    const taken = await resumeHook(token, { n: sent + 1 }).then(() => true, () => false); // the hook may not be there yet
    if (taken) sent++;
    else await new Promise((r) => setTimeout(r, 50));
  }
  const result = await run.returnValue;
  await reads;
  const row = await world.runs.get(run.runId, { resolveData: 'none' });
  const ids = [];
  for (let cursor, more = true; more; ) {
    const page = await world.events.list({ runId: run.runId, pagination: { limit: 1000, cursor }, resolveData: 'none' });
    ids.push(...page.data.map((e) => e.eventId));
    more = page.hasMore;
    cursor = page.cursor;
  }
  const dense = ids.every((id, i) => id === `evnt_${String(i + 1).padStart(26, '0')}`);
  return { runId: run.runId, result, told, ms: row.completedAt - row.createdAt, events: ids.length, dense };
}

async function fetch(req) {
  switch (new URL(req.url).pathname) {
    case '/.well-known/workflow/v1/flow':
      return POST(req);
    case '/do':
      return Response.json(await run(await req.json()));
  }
  return new Response('nothing here', { status: 404 });
}

serve({ fetch, port: Number(process.env.PORT) }, async () => {
  world = await getWorld().catch(async () => { // an older runtime wants to be told
    setWorld(await (await import(process.env.WORKFLOW_TARGET_WORLD)).createWorld());
    return getWorld();
  });
  await world.start?.();
  console.log('listening');
});
