import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';

it.each([
  [{ HOTCELL_TIMEOUT_MS: 'soon' }, 'HOTCELL_TIMEOUT_MS: soon is not a number'],
  [{ HOTCELL_ISOLATION: 'vm' }, 'HOTCELL_ISOLATION: vm is not one of auto, process, docker, gvisor'],
  [{ HOTCELL_PROFILE: 'hotcell,other' }, 'HOTCELL_PROFILE.1: other is not one of hotcell, code-sandbox'],
  [{ HOTCELL_PROFILE: 'code-sandbox', SANDBOX_LOG_LEVEL: 'loud' }, /^SANDBOX_LOG_LEVEL: LOUD is not one of /],
])('names what %j set wrong as it was set', (env, message) => {
  expect(() => loadConfig({}, { env, dataDir: '/nowhere' })).toThrow(message);
});

it('names an option of a program by its own name, though the environment has it too', () => {
  const options = { isolation: 'vm' as 'auto' };
  expect(() => loadConfig(options, { env: { HOTCELL_ISOLATION: 'docker' }, dataDir: '/nowhere' })).toThrow(
    'isolation: vm is not one of auto, process, docker, gvisor',
  );
});
