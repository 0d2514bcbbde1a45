// The shapes that workflows have: what `make workflow-devkit` runs on the newest runtime, and measures beside other Worlds.

import { createHook, getWritable, sleep } from 'workflow';

async function next(n: number) {
  'use step';
  return n + 1;
}

async function after(ms: number, what: string) {
  'use step';
  await new Promise((r) => setTimeout(r, ms));
  return what;
}

async function tell(n: number) {
  'use step';
  const writer = getWritable<number>().getWriter();
  await writer.write(n);
  writer.releaseLock();
}

async function end() {
  'use step';
  await getWritable<number>().close();
}

export async function serial(steps: number) {
  'use workflow';
  let n = 0;
  for (let i = 0; i < steps; i++) n = await next(n);
  return n;
}

export async function fan(steps: number) {
  'use workflow';
  const all = await Promise.all(Array.from({ length: steps }, (_, i) => next(i)));
  return all.reduce((sum, n) => sum + n, 0);
}

export async function raceSteps() {
  'use workflow';
  return await Promise.race([after(2000, 'slow'), after(50, 'fast')]);
}

export async function raceStepSleep() {
  'use workflow';
  return await Promise.race([after(50, 'step'), sleep('20s').then(() => 'sleep')]);
}

export async function raceSleepStep() {
  'use workflow';
  return await Promise.race([after(8000, 'step'), sleep('1s').then(() => 'sleep')]);
}

export async function hookLoop(token: string) {
  'use workflow';
  const hook = createHook<{ n: number }>({ token });
  let sum = 0;
  for (let i = 0; i < 3; i++) sum = await next(sum + (await hook).n);
  return sum;
}

export async function streamSleeps() {
  'use workflow';
  for (let n = 1; n <= 3; n++) {
    await tell(n);
    await sleep('1s');
  }
  await end();
  return 3;
}
