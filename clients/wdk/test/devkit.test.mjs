// A Workflow DevKit whose runtime does not drive the World is refused before anything waits for it.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkDevKit } from '@stepwell/world';
import { expect, test } from 'vitest';

test.each([['4.8.9', false], ['5.0.0-beta.34', false], ['5.0.0-beta.35', true], ['5.0.0-beta.55', true], ['5.0.0', true]])('workflow %s', (version, works) => {
  const app = mkdtempSync(join(tmpdir(), 'app-'));
  mkdirSync(join(app, 'node_modules', 'workflow'), { recursive: true });
  mkdirSync(join(app, 'src'));
  writeFileSync(join(app, 'node_modules', 'workflow', 'package.json'), JSON.stringify({ version }));
  const check = () => checkDevKit(join(app, 'src'));
  if (works) expect(check).not.toThrow();
  else expect(check).toThrow(/5\.0\.0-beta\.35 up to 5\.0\.0-beta\.55/);
});
