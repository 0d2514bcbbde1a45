// A step worker as a process of its own: it says what begins, and goes on until its step is to end.

import { Stepwell, Worker } from '@stepwell/client';

const client = new Stepwell({ apiKey: process.env.STEPWELL_TEST_STEPS });
const remote = async (_, step) => {
  step.heartbeat({ row: 7 });
  console.log(`begun ${step.attempt}`);
  await new Promise((_, reject) => step.signal.addEventListener('abort', () => reject(step.signal.reason)));
};
await new Worker(client, { steps: { remote }, lease: 2000, drain: Number(process.argv[2]) }).run();
console.log('over');
