// A small app: the route that Stepwell's messages go to, and a walk through one order.

import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { resumeHook, start } from 'workflow/api';
import { getWorld } from 'workflow/runtime';
import { POST } from './.well-known/workflow/v1/flow.mjs';

const manifest = JSON.parse(readFileSync('.well-known/workflow/v1/manifest.json', 'utf8'));
const order = Object.values(manifest.workflows).flatMap((file) => Object.entries(file)).find(([name]) => name === 'order')[1];

const fetch = (req) => (new URL(req.url).pathname === '/.well-known/workflow/v1/flow' ? POST(req) : new Response('nothing here', { status: 404 }));
const server = serve({ fetch, port: Number(process.env.PORT ?? 0) }, async (info) => {
  process.env.PORT = String(info.port);
  const world = await getWorld();
  await world.start();

  const id = Date.now().toString(36);
  const run = await start(order, [id, 'a kettle', 4200]);
  console.log('run', run.runId);
  const told = (async () => {
    for await (const text of run.getReadable()) console.log('told:', text);
  })();
  for (let sent = false; !sent; await new Promise((r) => setTimeout(r, 200))) {
    sent = await resumeHook(`approve-${id}`, { by: 'grace' }).then(() => true, () => false); // the hook may not be there yet
  }
  console.log('result:', await run.returnValue);
  await told;

  await world.close();
  server.close();
});
