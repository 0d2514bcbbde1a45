// The smoke test as a worker of workerd, in which Cloudflare's edge runs.

import * as api from './client/index.js';
import { smoke } from './smoke.mjs';

export default {
  async fetch(_, env) {
    try {
      return new Response(await smoke(api, { url: env.url, apiKey: env.apiKey }));
    } catch (err) {
      return new Response(err.stack, { status: 500 });
    }
  },
};
