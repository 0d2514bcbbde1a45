// Starts an order and follows it. The workflow is Go, in worker/main.go.

import { RunFailedError, Stepwell } from '@stepwell/client';

interface Order { customer: string; cents: number }

const client = new Stepwell(); // STEPWELL_URL and STEPWELL_API_KEY say where

/** place starts an order. The key makes it one, however often this is run. */
function place(input: Order, key: string) {
  return client.start<string>('order', input, { key, attributes: { customer: input.customer } });
}

const order = await place({ customer: 'Ada', cents: 4200 }, 'cart-17');
const again = await place({ customer: 'Ada', cents: 4200 }, 'cart-17');
console.log('one order:', order.id === again.id);

for await (const news of order.stream<string>('news')) {
  console.log('news:', news.value);
  if (news.value === 'waiting for the money') await order.signal('paid', { cents: 4200 }, { key: 'payment-9' });
}
console.log('result:', await order.result({ timeout: 60_000 }));

for await (const event of order.events({ type: ['signal_received', 'run_completed'] })) {
  console.log('log:', [event.type, event.name].join(' ').trim());
}

const free = await place({ customer: 'Bob', cents: 0 }, 'cart-18');
try {
  await free.result({ timeout: 60_000 });
} catch (err) {
  if (!(err instanceof RunFailedError)) throw err;
  console.log('failed:', err.run.error?.message);
}
