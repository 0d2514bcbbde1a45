// How values cross the wire. Bytes are {"$text": "..."} where they are UTF-8, so that people can read them, else {"$bytes": base64}.
// Times are ISO 8601, and known by the names of their members.

const moments = new Set([
  'createdAt', 'updatedAt', 'startedAt', 'completedAt', 'occurredAt', 'expiredAt', 'resumeAt', 'retryAfter', 'tokenRetentionUntil',
]);
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function bytesOut(b: Uint8Array): unknown {
  try {
    return { $text: strict.decode(b) };
  } catch {
    return { $bytes: Buffer.from(b.buffer, b.byteOffset, b.byteLength).toString('base64') };
  }
}

/** encode writes a value as JSON. */
export function encode(value: unknown): string {
  return JSON.stringify(value, function (this: any, key: string, v: unknown) {
    const raw = key === '' ? v : this[key]; // before toJSON: a Buffer has one
    return raw instanceof Uint8Array ? bytesOut(raw) : v;
  });
}

/** decode reads what encode, or the server, has written. */
export function decode(text: string): any {
  return JSON.parse(text, (key, v) => {
    if (typeof v === 'string' && moments.has(key)) return new Date(v);
    if (v === null || typeof v !== 'object') return v;
    if (typeof v.$text === 'string') return new Uint8Array(Buffer.from(v.$text, 'utf8'));
    if (typeof v.$bytes === 'string') return new Uint8Array(Buffer.from(v.$bytes, 'base64'));
    return v;
  });
}
