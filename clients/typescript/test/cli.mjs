// The smoke test as a program of Deno or Bun.

import * as api from '@stepwell/client';
import { smoke } from './smoke.mjs';

console.log(await smoke(api, {}));
