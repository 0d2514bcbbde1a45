// An order: two checks at once, somebody's approval, a pause, and a parcel, with a stream that tells the customer of it.

import { createHook, getWritable, sleep } from 'workflow';

async function tell(text: string) {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(text);
  writer.releaseLock();
}

async function stocked(item: string) {
  'use step';
  return item.length > 0;
}

async function charge(customer: string, cents: number) {
  'use step';
  return `${customer} paid ${cents}`;
}

async function ship(item: string, approver: string) {
  'use step';
  return `${item} is on its way, says ${approver}`;
}

async function farewell() {
  'use step';
  await getWritable<string>().close();
}

export async function order(id: string, item: string, cents: number) {
  'use workflow';
  const [there, paid] = await Promise.all([stocked(item), charge('ada', cents)]);
  await tell(`in stock: ${there}; ${paid}`);
  const approval = createHook<{ by: string }>({ token: `approve-${id}` });
  const { by } = await approval;
  await tell(`approved by ${by}`);
  await sleep('1s');
  const parcel = await ship(item, by);
  await tell(parcel);
  await farewell();
  return parcel;
}
